import type { KubeObject } from '@flotilla/api';
import { Placement, PlacementBinding } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import type { HubWrite } from '../upgrade/model.ts';
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
const NOTHING: PlacementObjects = { placements: [], bindings: [], decided: () => new Set(), hasNamesake: () => false };

/** The objects as a server has them after the writes. */
function applied(writes: readonly HubWrite[]): PlacementObjects {
  const created = writes.flatMap((write) => (write.verb === 'create' ? [{ kind: write.kind, object: write.object }] : []));
  const stored = ({ metadata, ...rest }: KubeObject) => ({
    ...rest,
    metadata: { ...metadata, uid: `uid of ${metadata.name}`, resourceVersion: '1' },
  });
  return {
    ...NOTHING,
    placements: created.filter(({ kind }) => kind.kind === 'Placement').map(({ object }) => Placement.schema.parse(stored(object))),
    bindings: created
      .filter(({ kind }) => kind.kind === 'PlacementBinding')
      .map(({ object }) => PlacementBinding.schema.parse(stored(object))),
  };
}
/** All objects that an upgrade can have, as the reference makes them: without a look at decisions. */
const made = (upgrade: ClusterGroupUpgrade) => {
  const talmStrict = { ...NOTHING, talmStrict: true };
  const { placements } = applied(planPlacements(upgrade, POLICIES, NOTHING));
  return { ...NOTHING, placements, bindings: applied(planPlacements(upgrade, POLICIES, talmStrict)).bindings };
};
/** The same after the decisions: nobody else is chosen. */
const deciding = (objects: PlacementObjects, decided: PlacementObjects['decided'] = ({ spec }) => new Set(valuesIn(spec))) => ({
  ...objects,
  decided,
});
const valuesIn = (spec: Placement['spec']) =>
  spec?.predicates?.[0]?.requiredClusterSelector?.labelSelector?.matchExpressions?.[0]?.values ?? [];
const said = (writes: readonly HubWrite[]) =>
  writes.map((write) => `${write.verb} ${write.kind.kind} ${write.verb === 'create' ? write.object.metadata.name : write.ref.name}`);
const valuesOf = ({ placements }: Pick<PlacementObjects, 'placements'>) => placements.map(({ spec }) => valuesIn(spec));
const P0 = 'upgrade-p0-placement-kuttl';
const P1 = 'upgrade-p1-placement-kuttl';

describe('what is written', () => {
  test('strictly one Placement and one PlacementBinding per policy, both of the same name, and then nothing', () => {
    const upgrade = build();
    const strict = { ...NOTHING, talmStrict: true };
    const objects = applied(planPlacements(upgrade, POLICIES, strict));
    expect(objects.placements.map(({ metadata }) => metadata.name)).toEqual([P0, P1]);
    expect(objects.bindings.map(({ metadata }) => metadata.name)).toEqual([P0, P1]);
    expect(planPlacements(upgrade, POLICIES, { ...objects, talmStrict: true })).toEqual([]);
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
    const objects = { ...made(build()), bindings: [] };
    const writes = planPlacements(build({ a: at(0), b: at(0) }), POLICIES, objects);
    expect(writes).toHaveLength(1);
    expect(writes[0]).toMatchObject({
      verb: 'patch',
      ref: { namespace: 'policies', name: P0 },
      patch: {
        metadata: { resourceVersion: '1' },
        spec: { predicates: [{ requiredClusterSelector: { labelSelector: { matchExpressions: [{ values: ['a', 'b'] }] } } }] },
      },
    });
  });

  test('what somebody changed is mended, what the server added stays', () => {
    const upgrade = build({ a: at(0), b: at(1) });
    const { placements, bindings } = made(upgrade);
    const [first, second] = placements;
    const spec = { ...first?.spec, numberOfClusters: 1, decisionStrategy: { groupStrategy: {} } };
    const changed = { ...NOTHING, placements: [Placement.schema.parse({ ...first, spec }), ...(second ? [second] : [])], bindings };
    expect(planPlacements(upgrade, POLICIES, changed)).toEqual([
      {
        verb: 'patch',
        kind: Placement,
        ref: { namespace: 'policies', name: 'upgrade-p0-placement-kuttl' },
        patch: { metadata: { resourceVersion: '1' }, spec: { numberOfClusters: null } },
      },
    ]);
    const [binding, other] = bindings;
    const bound = {
      ...NOTHING,
      placements,
      bindings: [PlacementBinding.schema.parse({ ...binding, subFilter: undefined }), ...(other ? [other] : [])],
    };
    expect(planPlacements(upgrade, POLICIES, bound)).toMatchObject([{ verb: 'patch', patch: { subFilter: 'restricted' } }]);
  });

  test('a second object for the same policy, and those of policies that left, go', () => {
    const upgrade = build({ a: at(0), b: at(1) });
    const objects = made(upgrade);
    const stale = Placement.schema.parse({
      ...objects.placements[0],
      metadata: { ...objects.placements[0]?.metadata, name: 'upgrade-p0-placement-old01', uid: 'stale' },
    });
    const writes = planPlacements(upgrade, POLICIES.slice(0, 1), { ...objects, placements: [...objects.placements, stale] });
    expect(writes.map((write) => (write.verb === 'delete' ? `${write.kind.kind} ${write.ref.name}` : write.verb))).toEqual([
      'Placement upgrade-p0-placement-old01',
      'PlacementBinding upgrade-p1-placement-kuttl',
    ]);
  });

  test('a Placement goes after its binding, whose clusters it names to the propagator', () => {
    const { placements, bindings } = made(build());
    const kinds = (existing: PlacementObjects) => planPlacements(build(), [], existing).map(({ verb, kind }) => `${verb} ${kind.kind}`);
    expect(kinds({ ...NOTHING, placements, bindings })).toEqual(['delete PlacementBinding', 'delete PlacementBinding']);
    expect(kinds({ ...NOTHING, placements, bindings: bindings.slice(1) })).toEqual(['delete Placement', 'delete PlacementBinding']);
    expect(kinds({ ...NOTHING, placements, bindings: [] })).toEqual(['delete Placement', 'delete Placement']);
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
    const existing = { ...(before ? made(before) : made(build())), bindings: [] };
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
    expect(valuesOf({ placements: after })).toEqual(want);
  });
});

describe('a binding', () => {
  const both = build({ a: at(0), b: at(0) });
  const unbound = { ...made(both), bindings: [] };
  const bound = { ...made(both), bindings: made(both).bindings.slice(0, 1) };
  const settled = (objects: PlacementObjects, selected: number): PlacementObjects => ({
    ...objects,
    placements: objects.placements.map((placement) =>
      Placement.schema.parse({
        ...placement,
        status: {
          numberOfSelectedClusters: selected,
          conditions: [
            { type: 'PlacementSatisfied', status: 'True', reason: 'r', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
          ],
        },
      }),
    ),
  });
  const of =
    (...clusters: string[]) =>
    () =>
      new Set(clusters);

  test.each<{ name: string; objects: PlacementObjects; decided: PlacementObjects['decided']; want: string[] }>([
    {
      name: 'is made when the decisions are exactly the members',
      objects: unbound,
      decided: of('a', 'b'),
      want: [`create PlacementBinding ${P0}`],
    },
    { name: 'is not made before there are decisions', objects: unbound, decided: of(), want: [] },
    { name: 'nor where none are served', objects: settled(unbound, 2), decided: () => undefined, want: [] },
    { name: 'nor when they are fewer and the controller is not through', objects: unbound, decided: of('a'), want: [] },
    {
      name: 'but is when it is through: one that it refuses holds nobody else up',
      objects: settled(unbound, 1),
      decided: of('a'),
      want: [`create PlacementBinding ${P0}`],
    },
    { name: 'nor when they are more', objects: settled(unbound, 3), decided: of('a', 'b', 'x'), want: [] },
    { name: 'nor when they are others', objects: settled(unbound, 2), decided: of('a', 'x'), want: [] },
    { name: 'stays while they are the members', objects: bound, decided: of('a', 'b'), want: [] },
    { name: 'also when a member has left them', objects: bound, decided: of('a'), want: [] },
    { name: 'goes at once when there is one more', objects: bound, decided: of('a', 'b', 'x'), want: [`delete PlacementBinding ${P0}`] },
    { name: 'goes at once when one answers for another', objects: bound, decided: of('a', 'x'), want: [`delete PlacementBinding ${P0}`] },
    {
      name: 'goes when its Placement is gone',
      objects: { ...bound, placements: [] },
      decided: of(),
      want: [`delete PlacementBinding ${P0}`, `create Placement ${P1}`],
    },
  ])('$name', ({ objects, decided, want }) => expect(said(planPlacements(both, POLICIES, deciding(objects, decided)))).toEqual(want));

  test('is not made where another cluster answers to the name of a member that is missing', () => {
    const objects = { ...settled(unbound, 1), hasNamesake: (cluster: string) => cluster === 'b' };
    expect(planPlacements(both, POLICIES, deciding(objects, of('a')))).toEqual([]);
  });

  test('of the batch before goes first, then its Placement changes', () => {
    const next = build({ c: at(0) });
    expect(said(planPlacements(next, POLICIES, deciding(bound, of('a', 'b'))))).toEqual([`delete PlacementBinding ${P0}`]);
    expect(said(planPlacements(next, POLICIES, deciding(unbound, of('a', 'b'))))).toEqual([`patch Placement ${P0}`]);
    expect(planPlacements(next, POLICIES, deciding({ ...made(next), bindings: [] }, of('a', 'b')))).toEqual([]);
  });

  test('stays when a cluster of its batch comes to the policy, unless another one answers to the name', () => {
    const more = build({ a: at(0), b: at(0), c: at(0) });
    const objects = deciding(bound, of('a', 'b'));
    expect(said(planPlacements(more, POLICIES, objects))).toEqual([`patch Placement ${P0}`]);
    expect(said(planPlacements(more, POLICIES, { ...objects, hasNamesake: (cluster) => cluster === 'c' }))).toEqual([
      `delete PlacementBinding ${P0}`,
    ]);
  });

  test('has nobody join while decisions are not served, and goes all the same when its batch has ended', () => {
    const objects = deciding(bound, () => undefined);
    expect(planPlacements(build({ a: at(0), b: at(0), c: at(0) }), POLICIES, objects)).toEqual([]);
    expect(said(planPlacements(build({ c: at(0) }), POLICIES, objects))).toEqual([`delete PlacementBinding ${P0}`]);
  });

  test('stays when a cluster leaves its batch, while the decisions still have it', () => {
    const fewer = build({ a: at(0), b: at(0) }, { clusters: [{ name: 'b', state: 'timedout' }] });
    expect(said(planPlacements(fewer, POLICIES, deciding(bound, of('a', 'b'))))).toEqual([`patch Placement ${P0}`]);
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
