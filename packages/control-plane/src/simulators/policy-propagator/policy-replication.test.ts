import { PlacementBinding, Policy } from '@flotilla/api/ocm';
import { describe, expect, test } from 'vitest';
import { childTemplate, leanChild, placePolicy } from './policy-replication.ts';
import { rollUpClusters } from './status-controller.ts';

const binding = (name: string, fields: object = {}) => PlacementBinding.schema.parse({ metadata: { name }, ...fields });
const enforce = { bindingOverrides: { remediationAction: 'Enforce' } };
const restricted = { subFilter: 'restricted' };

describe('a policy is placed', () => {
  test.each([
    { name: 'by a binding, with its own action', bindings: { plain: {} }, want: { a: 'own' } },
    { name: 'and enforced by its override, in any case', bindings: { plain: enforce }, want: { a: 'enforce' } },
    { name: 'and enforced when any binding does, whatever the order', bindings: { first: enforce, second: {} }, want: { a: 'enforce' } },
    { name: 'and raised by a restricted binding', bindings: { plain: {}, raising: { ...restricted, ...enforce } }, want: { a: 'enforce' } },
    { name: 'and not raised by one without override', bindings: { plain: {}, other: restricted }, want: { a: 'own' } },
    { name: 'nowhere by restricted bindings alone', bindings: { raising: { ...restricted, ...enforce } }, want: {} },
  ])('$name', ({ bindings, want }) => {
    const all = Object.entries(bindings).map(([name, fields]) => binding(name, fields));
    expect(Object.fromEntries(placePolicy(all, () => ['a']))).toEqual(want);
  });
});

describe('a copy', () => {
  const root = (spec: object) =>
    Policy.schema.parse({
      metadata: { name: 'p', namespace: 'ns', labels: { team: 'x' } },
      spec: { remediationAction: 'inform', ...spec },
    });

  test('equals what was written, and no other', () => {
    const [own, enforced] = [childTemplate(root({}), 'own'), childTemplate(root({}), 'enforce')];
    const read = leanChild(Policy.schema.parse(own.build('cluster')));
    expect(read.spec?.fingerprint).toBe(own.fingerprint);
    expect(read.spec?.fingerprint).not.toBe(enforced.fingerprint);
  });
});

describe('the roll-up', () => {
  test.each([
    { name: 'NonCompliant when any is', states: ['Compliant', 'Pending', 'NonCompliant', undefined], want: 'NonCompliant' },
    { name: 'Pending when any is and none is NonCompliant', states: ['Compliant', 'Pending', undefined], want: 'Pending' },
    { name: 'absent when any has not reported', states: ['Compliant', undefined], want: undefined },
    { name: 'Compliant when all are', states: ['Compliant', 'Compliant'], want: 'Compliant' },
    { name: 'absent without clusters', states: [], want: undefined },
  ] as const)('is $name', ({ states, want }) => {
    expect(rollUpClusters(new Map(states.map((state, index) => [`c${index}`, state]))).compliant).toBe(want);
  });

  test('lists the clusters by name, one that has not reported without state', () => {
    expect(
      rollUpClusters(
        new Map([
          ['b', undefined],
          ['a', 'Compliant'],
        ] as const),
      ).status,
    ).toEqual([
      { clustername: 'a', clusternamespace: 'a', compliant: 'Compliant' },
      { clustername: 'b', clusternamespace: 'b' },
    ]);
  });
});
