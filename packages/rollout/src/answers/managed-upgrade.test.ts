import { expect, test } from 'vitest';
import { operatorsNamed } from './managed-upgrade.ts';

test.each([
  ['Working towards 4.14.12: 700 of 859 done (81% complete), waiting on etcd, network', ['etcd', 'network']],
  ['Working towards 4.14.12: 700 of 859 done (81% complete), waiting up to 40 minutes on machine-config', ['machine-config']],
  [
    'Working towards 4.14.12: 9 of 859 done (1% complete), waiting on etcd over 30 minutes and machine-config over 90 minutes which is longer than expected',
    ['etcd'],
  ],
  ['Unable to apply 4.14.12: the cluster operator ingress is degraded', ['ingress']],
  ['Working towards 4.14.12: waiting on the cluster', []],
])('the operators in a sentence of a version operator: %s', (sentence, want) => {
  expect(operatorsNamed(sentence, true)).toEqual(want);
});
