import { ManifestWork } from '@flotilla/api/ocm';
import { expect, test } from 'vitest';
import { managedUpgradeOf, operatorsNamed } from './evidence.ts';

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

test('values that the hub has read for itself are no words about the upgrade', () => {
  const value = (name: string, fieldValue: object) => ({ name, fieldValue });
  const values = [
    value('Phase', { type: 'String', string: 'Upgrading' }),
    value('flotilla.io/generation', { type: 'Integer', integer: 3 }),
    value('flotilla.io/observedGeneration/Phase', { type: 'Integer', integer: 3 }),
  ];
  const manifest = { resourceMeta: { ordinal: 0, kind: 'UpgradeConfig' }, statusFeedback: { values } };
  const work = ManifestWork.schema.parse({
    metadata: { name: 'w', namespace: 'spoke-1' },
    spec: {},
    status: { resourceStatus: { manifests: [manifest] } },
  });
  expect(managedUpgradeOf(work).map(({ says }) => says)).toEqual(['UpgradeConfig Phase: Upgrading']);
});

test('a Plan of a system upgrade controller says which node it is at and why a Job failed, by its name', () => {
  const value = (name: string, string: string) => ({ name, fieldValue: { type: 'String', string } });
  const plan = (ordinal: number, name: string, ...values: object[]) => ({
    resourceMeta: { ordinal, kind: 'Plan', name },
    statusFeedback: { values },
  });
  const manifests = [
    plan(0, 'server', value('Complete', 'False'), value('Node', 'node-1'), value('Message', 'Job apply failed on Node node-1')),
    plan(1, 'agent', value('Complete', 'False'), value('Message', '')),
  ];
  const work = ManifestWork.schema.parse({
    metadata: { name: 'w', namespace: 'spoke-1' },
    spec: {},
    status: { resourceStatus: { manifests } },
  });
  expect(managedUpgradeOf(work).map(({ says }) => says)).toEqual([
    'Plan server Complete: False',
    'Plan server Node: node-1',
    'Plan server Message: Job apply failed on Node node-1',
    'Plan agent Complete: False',
  ]);
});
