import type { KubeObject } from '@flotilla/api';
import { Placement, PlacementBinding } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import type { HubWrite } from '../upgrade/hub-write.ts';
import { type PlacementObjects, placementNames, planPlacements } from './placements.ts';

const POLICIES = [
  { name: 'p0', namespace: 'policies' },
  { name: 'p1', namespace: 'policies' },
];

function build(
  progress: Record<string, object> = {},
  parts: { clusters?: object[]; running?: boolean; deleted?: boolean } = {},
): ClusterGroupUpgrade {
  const condition = {
    type: 'Progressing',
    status: parts.running === false ? 'False' : 'True',
    reason: 'r',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  return ClusterGroupUpgrade.schema.parse({
    metadata: {
      name: 'upgrade',
      namespace: 'ns',
      uid: 'uid-1',
      annotations: { 'cluster-group-upgrades-operator/name-suffix': 'kuttl' },
      ...(parts.deleted && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    status: {
      conditions: [condition],
      managedPoliciesForUpgrade: POLICIES,
      clusters: parts.clusters,
      status: { currentBatch: 1, currentBatchRemediationProgress: progress },
    },
  });
}
const at = (policyIndex: number) => ({ state: 'InProgress', policyIndex });
const NOTHING: PlacementObjects = { placements: [], bindings: [] };

/** The objects as a server has them after the writes. */
function applied(writes: readonly HubWrite[]): PlacementObjects {
  const created = writes.flatMap((write) => (write.verb === 'create' ? [{ kind: write.kind, object: write.object }] : []));
  const stored = ({ metadata, ...rest }: KubeObject) => ({
    ...rest,
    metadata: { ...metadata, uid: `uid of ${metadata.name}`, resourceVersion: '1' },
  });
  return {
    placements: created.filter(({ kind }) => kind.kind === 'Placement').map(({ object }) => Placement.schema.parse(stored(object))),
    bindings: created
      .filter(({ kind }) => kind.kind === 'PlacementBinding')
      .map(({ object }) => PlacementBinding.schema.parse(stored(object))),
  };
}
const made = (upgrade: ClusterGroupUpgrade) => applied(planPlacements(upgrade, POLICIES, NOTHING));
const valuesOf = ({ placements }: PlacementObjects) =>
  placements.map(({ spec }) => spec?.predicates?.[0]?.requiredClusterSelector?.labelSelector?.matchExpressions?.[0]?.values ?? []);

describe('what is written', () => {
  test('one Placement and one PlacementBinding per policy, both of the same name, and then nothing', () => {
    const upgrade = build();
    const objects = made(upgrade);
    expect(objects.placements.map(({ metadata }) => metadata.name)).toEqual(['upgrade-p0-placement-kuttl', 'upgrade-p1-placement-kuttl']);
    expect(objects.bindings.map(({ metadata }) => metadata.name)).toEqual(['upgrade-p0-placement-kuttl', 'upgrade-p1-placement-kuttl']);
    expect(planPlacements(upgrade, POLICIES, objects)).toEqual([]);
  });

  test('an empty membership is a selector that is valid and matches nobody; strictly `In` without values, as the reference writes it', () => {
    const expressionsOf = (talmStrict: boolean) => {
      const upgrade = build();
      const { placements } = applied(planPlacements(upgrade, POLICIES, { ...NOTHING, talmStrict }));
      return placements[0]?.spec?.predicates?.map((each) => each.requiredClusterSelector?.labelSelector?.matchExpressions);
    };
    expect(expressionsOf(false)).toEqual([
      [
        { key: 'name', operator: 'Exists' },
        { key: 'name', operator: 'DoesNotExist' },
      ],
    ]);
    expect(expressionsOf(true)).toEqual([[{ key: 'name', operator: 'In' }]]);
  });

  test('a change of membership is one patch of one Placement, guarded by its version', () => {
    const objects = made(build());
    const writes = planPlacements(build({ a: at(0), b: at(0) }), POLICIES, objects);
    expect(writes).toHaveLength(1);
    expect(writes[0]).toMatchObject({
      verb: 'patch',
      ref: { namespace: 'policies', name: 'upgrade-p0-placement-kuttl' },
      patch: {
        metadata: { resourceVersion: '1' },
        spec: { predicates: [{ requiredClusterSelector: { labelSelector: { matchExpressions: [{ values: ['a', 'b'] }] } } }] },
      },
    });
  });

  test('what somebody changed is mended, what the server added stays', () => {
    const { placements, bindings } = made(build());
    const [first, second] = placements;
    const spec = { ...first?.spec, numberOfClusters: 1, decisionStrategy: { groupStrategy: {} } };
    const changed = { placements: [Placement.schema.parse({ ...first, spec }), ...(second ? [second] : [])], bindings };
    expect(planPlacements(build(), POLICIES, changed)).toEqual([
      {
        verb: 'patch',
        kind: Placement,
        ref: { namespace: 'policies', name: 'upgrade-p0-placement-kuttl' },
        patch: { metadata: { resourceVersion: '1' }, spec: { numberOfClusters: null } },
      },
    ]);
    const [binding, other] = bindings;
    const bound = {
      placements,
      bindings: [PlacementBinding.schema.parse({ ...binding, subFilter: undefined }), ...(other ? [other] : [])],
    };
    expect(planPlacements(build(), POLICIES, bound)).toMatchObject([{ verb: 'patch', patch: { subFilter: 'restricted' } }]);
  });

  test('a second object for the same policy, and those of policies that left, go', () => {
    const objects = made(build());
    const stale = Placement.schema.parse({
      ...objects.placements[0],
      metadata: { ...objects.placements[0]?.metadata, name: 'upgrade-p0-placement-old01', uid: 'stale' },
    });
    const writes = planPlacements(build(), POLICIES.slice(0, 1), { ...objects, placements: [...objects.placements, stale] });
    expect(writes.map((write) => (write.verb === 'delete' ? `${write.kind.kind} ${write.ref.name}` : write.verb))).toEqual([
      'Placement upgrade-p0-placement-old01',
      'PlacementBinding upgrade-p1-placement-kuttl',
    ]);
  });

  test('a Placement goes after its binding, whose clusters it names to the propagator', () => {
    const { placements, bindings } = made(build());
    const kinds = (existing: PlacementObjects) => planPlacements(build(), [], existing).map(({ verb, kind }) => `${verb} ${kind.kind}`);
    expect(kinds({ placements, bindings })).toEqual(['delete PlacementBinding', 'delete PlacementBinding']);
    expect(kinds({ placements, bindings: bindings.slice(1) })).toEqual(['delete Placement', 'delete PlacementBinding']);
    expect(kinds({ placements, bindings: [] })).toEqual(['delete Placement', 'delete Placement']);
  });
});

describe('membership', () => {
  test.each<{ name: string; upgrade: ClusterGroupUpgrade; before?: ClusterGroupUpgrade; want: string[][] }>([
    { name: 'a cluster is enforced for the policy it is at', upgrade: build({ b: at(1), a: at(0) }), want: [['a'], ['b']] },
    { name: 'it stays where it was until the batch ends', before: build({ a: at(0) }), upgrade: build({ a: at(1) }), want: [['a'], ['a']] },
    { name: 'also when it is done', before: build({ a: at(1) }), upgrade: build({ a: { state: 'Completed' } }), want: [[], ['a']] },
    { name: 'a cluster of a former batch leaves', before: build({ a: at(0) }), upgrade: build({ b: at(0) }), want: [['b'], []] },
    {
      name: 'so does one that has failed',
      before: build({ a: at(0) }),
      upgrade: build({ a: at(0) }, { clusters: [{ name: 'a', state: 'failed' }] }),
      want: [[], []],
    },
    { name: 'there is none before the start', upgrade: build({ a: at(0) }, { running: false }), want: [[], []] },
    {
      name: 'nor while the upgrade is deleted',
      before: build({ a: at(0) }),
      upgrade: build({ a: at(0) }, { deleted: true }),
      want: [[], []],
    },
  ])('$name', ({ before, upgrade, want }) => {
    const existing = before ? made(before) : made(build());
    const patches = new Map(
      planPlacements(upgrade, POLICIES, existing).map((write) => [write.verb === 'patch' ? write.ref.name : '', write]),
    );
    const after = existing.placements.map((placement) => {
      const write = patches.get(placement.metadata.name);
      const patch = write?.verb === 'patch' && typeof write.patch === 'object' ? write.patch : {};
      return Placement.schema.parse({
        ...placement,
        spec: { ...placement.spec, ...Placement.schema.parse({ metadata: {}, ...patch }).spec },
      });
    });
    expect(valuesOf({ placements: after, bindings: [] })).toEqual(want);
  });
});

test('the names for the status', () => {
  expect(placementNames(build(), POLICIES.toReversed())).toEqual({
    safeResourceNames: {
      'policies/upgrade-p0-placement': 'upgrade-p0-placement-kuttl',
      'policies/upgrade-p1-placement': 'upgrade-p1-placement-kuttl',
    },
    placements: ['upgrade-p0-placement-kuttl', 'upgrade-p1-placement-kuttl'],
    placementBindings: ['upgrade-p0-placement-kuttl', 'upgrade-p1-placement-kuttl'],
  });
});

test('strictly Placement, PlacementBinding and status have one literal name, however long', () => {
  const policy = { name: `common-${'x'.repeat(60)}`, namespace: 'policies' };
  const name = `upgrade-${policy.name}-placement-kuttl`;
  const { placements, bindings } = applied(planPlacements(build(), [policy], { ...NOTHING, talmStrict: true }));
  expect([...placements, ...bindings].map(({ metadata }) => metadata.name)).toEqual([name, name]);
  expect(bindings[0]?.placementRef?.name).toBe(name);
  expect(placementNames(build(), [policy], true).placements).toEqual([name]);
});
