import { ManagedCluster, Placement, PlacementBinding, PlacementDecision, Policy } from '@flotilla/api/ocm';
import { describe, expect, test } from 'vitest';
import { buildPolicy } from '../../testing/policy-builders.ts';
import type { Meant } from '../upgrade/model.ts';
import { lookAt } from './standing.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const REF = { namespace: 'policies', name: 'p' };
const UNREACHABLE = 'cluster.open-cluster-management.io/unreachable';

/** The world around policy p and cluster a, in which a decision lists nobody unless said otherwise. */
interface World {
  readonly rollUp?: Record<string, string> | 'none';
  readonly copy?: boolean;
  readonly before?: Meant;
  readonly policy?: 'gone' | Record<string, unknown>;
  readonly binding?: 'none' | Record<string, unknown>;
  readonly placement?: 'none' | { spec?: object; generation?: number; editedAgo?: number; status?: object };
  readonly chosen?: readonly string[];
  readonly cluster?: 'gone' | { available?: string; taints?: object[]; backAgo?: number };
}

const satisfied = (status: string, reason: string) => ({
  type: 'PlacementSatisfied',
  status,
  reason,
  message: `says ${reason}`,
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const DECIDED = { conditions: [satisfied('True', 'AllDecisionsScheduled')] };

function look(world: World) {
  const { rollUp = {}, copy = false, before, chosen = [], placement = {}, cluster = {}, binding = {} } = world;
  const built = buildPolicy('p', {
    ...(rollUp !== 'none' && { compliant: rollUp }),
    spec: world.policy === 'gone' ? {} : (world.policy ?? {}),
  });
  const policy =
    rollUp === 'none' ? built : Policy.schema.parse({ ...built, status: { ...built.status, status: built.status?.status ?? [] } });
  const placed = placement === 'none' ? undefined : placement;
  const condition = {
    type: 'ManagedClusterConditionAvailable',
    status: cluster === 'gone' ? 'False' : (cluster.available ?? 'True'),
    reason: 'Any',
    message: '',
    lastTransitionTime:
      cluster === 'gone' || cluster.backAgo === undefined ? '2026-01-01T11:00:00Z' : new Date(NOW - cluster.backAgo).toISOString(),
  };
  return lookAt({
    ref: REF,
    policy: world.policy === 'gone' ? undefined : policy,
    hasCopy: () => copy,
    before: () => before,
    ways: {
      bindings: () =>
        binding === 'none'
          ? []
          : [
              PlacementBinding.schema.parse({
                metadata: { name: 'b', namespace: 'policies' },
                placementRef: { apiGroup: '', kind: 'Placement', name: 'where' },
                subjects: [{ apiGroup: '', kind: 'Policy', name: 'p' }],
                ...binding,
              }),
            ],
      placement: () =>
        placed &&
        Placement.schema.parse({
          metadata: { name: 'where', namespace: 'policies', generation: placed.generation ?? 1 },
          spec: placed.spec ?? {},
          status: placed.status ?? { ...DECIDED, numberOfSelectedClusters: chosen.length },
          ...(placed.editedAgo !== undefined && { editedAt: NOW - placed.editedAgo }),
        }),
      decisions: () => [
        PlacementDecision.schema.parse({ metadata: { name: 'd' }, status: { decisions: chosen.map((clusterName) => ({ clusterName })) } }),
      ],
      cluster: (name) =>
        cluster === 'gone'
          ? undefined
          : ManagedCluster.schema.parse({
              metadata: { name },
              spec: { taints: cluster.taints ?? [] },
              status: { conditions: [condition] },
            }),
      now: NOW,
    },
  })('a');
}

describe('a cluster that reports', () => {
  test.each<{ name: string; world: World; standing: string; says?: RegExp }>([
    { name: 'is done when it complies', world: { rollUp: { a: 'Compliant' }, copy: true }, standing: 'done' },
    { name: 'is pending when it does not', world: { rollUp: { a: 'NonCompliant' }, copy: true }, standing: 'pending' },
    { name: 'is pending while its copy is not rolled up', world: { copy: true }, standing: 'pending' },
    {
      name: 'is not done by a roll-up that outlived its copy',
      world: { rollUp: { a: 'Compliant' } },
      standing: 'unseen',
      says: /^policy policies\/p no longer reaches a: its Placement policies\/where does not select it$/,
    },
    {
      name: 'is not done while it is away',
      world: { rollUp: { a: 'Compliant' }, copy: true, cluster: { available: 'Unknown' } },
      standing: 'unseen',
      says: /^policy policies\/p was Compliant when a reported last: a is not available$/,
    },
    {
      name: 'is not done by a policy that is disabled',
      world: { rollUp: { a: 'Compliant' }, copy: true, policy: { disabled: true } },
      standing: 'unseen',
      says: /it is disabled$/,
    },
  ])('$name', ({ world, standing, says }) => {
    const found = look(world);
    expect(found.standing).toBe(standing);
    expect(found.wait?.says ?? '').toMatch(says ?? /^$/);
  });
});

describe('a cluster that no policy reaches', () => {
  test.each<{ name: string; world: World; standing: string; says?: RegExp }>([
    { name: 'has nothing to do when that could be known', world: {}, standing: 'notMatched' },
    {
      name: 'has nothing to do when it selects nobody',
      world: { placement: { status: { conditions: [satisfied('False', 'NoManagedClusterMatched')], numberOfSelectedClusters: 0 } } },
      standing: 'notMatched',
    },
    {
      name: 'is waited for while a decision lists it and no copy is there',
      world: { chosen: ['a'] },
      standing: 'pending',
      says: /^policy policies\/p is placed on a: its copy is not there yet$/,
    },
    { name: 'is held while nothing is rolled up', world: { rollUp: 'none' }, standing: 'unseen', says: /roll-up is not there yet$/ },
    { name: 'is held by a policy that is gone', world: { policy: 'gone' }, standing: 'unseen', says: /it was deleted$/ },
    { name: 'is held by a policy that is disabled', world: { policy: { disabled: true } }, standing: 'unseen', says: /it is disabled$/ },
    {
      name: 'is held where nothing binds the policy',
      world: { binding: 'none' },
      standing: 'unseen',
      says: /no PlacementBinding binds it$/,
    },
    {
      name: 'is held where only a restricted binding is left',
      world: { binding: { subFilter: 'restricted' } },
      standing: 'unseen',
      says: /no PlacementBinding binds it$/,
    },
    {
      name: 'is held while the Placement is gone',
      world: { placement: 'none' },
      standing: 'unseen',
      says: /Placement policies\/where is not there$/,
    },
    {
      name: 'is held while no cluster set is bound',
      world: { placement: { status: { conditions: [satisfied('False', 'NoManagedClusterSetBindings')] } } },
      standing: 'unseen',
      says: /selects from no cluster set: says NoManagedClusterSetBindings$/,
    },
    {
      name: 'is held before the Placement has an answer',
      world: { placement: { status: {} } },
      standing: 'unseen',
      says: /is not decided yet$/,
    },
    {
      name: 'is held within 10 s of an edit of the Placement',
      world: { placement: { generation: 2, editedAgo: 5_000 } },
      standing: 'unseen',
      says: /is not decided yet$/,
    },
    {
      name: 'has nothing to do 10 s after such an edit',
      world: { placement: { generation: 2, editedAgo: 10_000 } },
      standing: 'notMatched',
    },
    {
      name: 'is held while the decisions are fewer than the Placement says',
      world: { placement: { status: { ...DECIDED, numberOfSelectedClusters: 2 } }, chosen: ['b'] },
      standing: 'unseen',
      says: /is not decided yet$/,
    },
    {
      name: 'is held by a taint that the Placement does not tolerate',
      world: { cluster: { taints: [{ key: UNREACHABLE, effect: 'NoSelect' }] } },
      standing: 'unseen',
      says: /Placement policies\/where does not tolerate the taint cluster\.open-cluster-management\.io\/unreachable$/,
    },
    {
      name: 'has nothing to do in spite of a taint that is tolerated',
      world: {
        cluster: { taints: [{ key: UNREACHABLE, effect: 'NoSelect' }] },
        placement: { spec: { tolerations: [{ key: UNREACHABLE, operator: 'Exists' }] } },
      },
      standing: 'notMatched',
    },
    {
      name: 'is held within 10 s of the return of its cluster',
      world: { cluster: { backAgo: 2_000 } },
      standing: 'unseen',
      says: /Placement policies\/where is not decided yet since a is back$/,
    },
    { name: 'has nothing to do 10 s after that', world: { cluster: { backAgo: 10_000 } }, standing: 'notMatched' },
    {
      name: 'is not held by a return that is yet to come, by a clock that is ahead',
      world: { cluster: { backAgo: -60_000 } },
      standing: 'notMatched',
    },
    { name: 'is held while it is away', world: { cluster: { available: 'Unknown' } }, standing: 'unseen', says: /a is not available$/ },
    {
      name: 'has nothing to do there when that was known before',
      world: { before: 'notMeant', cluster: { available: 'Unknown' } },
      standing: 'notMatched',
    },
    {
      name: 'is held when the policy was meant for it before',
      world: { before: 'meant' },
      standing: 'unseen',
      says: /^policy policies\/p no longer reaches a: its Placement policies\/where does not select it$/,
    },
  ])('$name', ({ world, standing, says }) => {
    const found = look(world);
    expect(found.standing).toBe(standing);
    expect(found.wait?.says ?? '').toMatch(says ?? /^$/);
  });

  test('says when the Placement has had its time', () => {
    expect(look({ placement: { generation: 2, editedAgo: 4_000 } }).knownAt).toBe(NOW + 6_000);
    expect(look({ cluster: { backAgo: 4_000 } }).knownAt).toBe(NOW + 6_000);
  });
});
