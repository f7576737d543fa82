import { ManagedCluster, Placement } from '@flotilla/api/ocm';
import { describe, expect, test } from 'vitest';
import { FirstSeen } from '../upgrade/first-seen.ts';
import { judgePlacements, type PlacementFacts } from './placement-problems.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const condition = (type: string, status: string, reason: string) => ({
  type,
  status,
  reason,
  message: `message of ${reason}`,
  lastTransitionTime: '2026-01-01T00:00:00Z',
});

function placement(members: readonly string[], parts: { satisfied?: string; misconfigured?: boolean; selected?: number } = {}): Placement {
  const { satisfied, misconfigured, selected } = parts;
  const matchExpressions = [{ key: 'name', operator: 'In', values: members }];
  const conditions = [
    ...(satisfied === undefined
      ? []
      : [condition('PlacementSatisfied', satisfied === 'AllDecisionsScheduled' ? 'True' : 'False', satisfied)]),
    ...(misconfigured ? [condition('PlacementMisconfigured', 'True', 'Misconfigured')] : []),
  ];
  return Placement.schema.parse({
    metadata: { name: 'p', namespace: 'policies', uid: 'uid-p' },
    spec: { predicates: [{ requiredClusterSelector: { labelSelector: { matchExpressions } } }] },
    status: { conditions, ...(selected !== undefined && { numberOfSelectedClusters: selected }) },
  });
}

type Parts = Partial<Omit<PlacementFacts, 'sightings' | 'now'>>;

/** Judges Placements at each look with the sightings of the looks before. */
function looks(): (placements: Placement[], now: number, parts?: Parts) => ReturnType<typeof judgePlacements> {
  const seen = new FirstSeen();
  return (placements, now, parts = {}) => judgePlacements(placements, { ...facts(parts), sightings: seen.pass('uid', now), now });
}

const facts = (parts: Parts): Omit<PlacementFacts, 'sightings' | 'now'> => ({
  cluster: (name) => ManagedCluster.schema.parse({ metadata: { name, labels: { name } } }),
  decided: () => new Set(),
  isPlanned: () => true,
  talmStrict: false,
  ...parts,
});

/** Problem that is told ten seconds after the first look, and no earlier. */
function toldOf(given: Placement, parts: Parts = {}): string | undefined {
  const look = looks();
  const first = look([given], NOW, parts);
  expect(first).toEqual({ problem: undefined, unplaced: new Map(), surplus: undefined, lookAt: NOW + 10_000 });
  expect(look([given], NOW + 9999, parts)).toEqual(first);
  const { problem, lookAt } = look([given], NOW + 10_000, parts);
  expect(lookAt).toBeUndefined();
  return problem;
}

describe('a Placement with members that are not selected is told after ten seconds, by cluster', () => {
  test.each([
    { name: 'without a status', given: placement(['a', 'b']), want: /does not select clusters \[a b\]: no status: .*has not answered/ },
    ...['NoManagedClusterMatched', 'AllManagedClusterSetsEmpty', 'NoIntersection'].map((reason) => ({
      name: reason,
      given: placement(['a', 'b'], { satisfied: reason }),
      want: new RegExp(`clusters \\[a b\\]: ${reason}: message of ${reason}\\. To correct it: .*ManagedClusterSetBinding`),
    })),
    {
      name: 'misconfigured',
      given: placement(['a'], { satisfied: 'NoManagedClusterMatched', misconfigured: true }),
      want: /clusters \[a\]: Misconfigured: message of Misconfigured/,
    },
  ])('$name', ({ given, want }) => expect(toldOf(given)).toMatch(want));

  test('and as the wait of each', () => {
    const look = looks();
    const given = placement(['a', 'b'], { satisfied: 'NoManagedClusterMatched' });
    const unlabelled = (name: string) => ManagedCluster.schema.parse({ metadata: { name, labels: name === 'a' ? { name } : {} } });
    look([given], NOW, { cluster: unlabelled });
    const { unplaced } = look([given], NOW + 10_000, { cluster: unlabelled });
    expect([...unplaced.keys()]).toEqual(['a', 'b']);
    expect(unplaced.get('a')).toMatchObject({
      cause: 'placement',
      says: expect.stringMatching(/^Placement ".*" in namespace ".*" does not select a: NoManagedClusterMatched: message of/),
      fix: expect.stringMatching(/^make the clusters members of a ManagedClusterSet/),
    });
    expect(unplaced.get('b')?.fix).toMatch(/label/);
  });

  test('of those that it selects in part, those without a decision', () => {
    const given = placement(['a', 'b', 'c'], { satisfied: 'AllDecisionsScheduled', selected: 2 });
    const told = toldOf(given, { decided: () => new Set(['a', 'c']) });
    expect(told).toMatch(/clusters \[b\]: not selected: it selects 2 of 3\. To correct it: .*label "name"/);
  });

  test('the label of a cluster that names another one', () => {
    const cluster = (name: string) => ManagedCluster.schema.parse({ metadata: { name, labels: { name: name === 'b' ? 'x' : name } } });
    const told = toldOf(placement(['a', 'b'], { satisfied: 'NoManagedClusterMatched' }), { cluster });
    expect(told).toContain('ManagedCluster b has the label name="x", by which no Placement selects it; set it to "b"');
  });

  test('of many the first ten', () => {
    const many = Array.from({ length: 5000 }, (_, index) => `c${index}`);
    expect(toldOf(placement(many))).toMatch(/\[c0 c1 c2 c3 c4 c5 c6 c7 c8 c9\] and 4990 more:/);
  });
});

test.each([
  { name: 'without members', given: placement([], { satisfied: 'NoManagedClusterMatched', misconfigured: true }) },
  { name: 'that selects all its members', given: placement(['a'], { satisfied: 'AllDecisionsScheduled', selected: 1 }) },
])('nothing is said of a Placement $name', ({ given }) => {
  const decided = () => new Set(given.status?.numberOfSelectedClusters ? ['a'] : []);
  expect(looks()([given], NOW, { decided })).toEqual({ problem: undefined, unplaced: new Map(), surplus: undefined, lookAt: undefined });
});

describe('a cluster that is decided beyond the members', () => {
  const labelled = (name: string) => ManagedCluster.schema.parse({ metadata: { name, labels: { name: name === 'x' ? 'a' : name } } });
  const given = placement(['a'], { satisfied: 'AllDecisionsScheduled', selected: 2 });

  test('is told at once with the name that it has taken, and how to mend it', () => {
    const decided = () => new Set(['a', 'x']);
    const { surplus } = looks()([given], NOW, { decided, cluster: labelled, isPlanned: (cluster) => cluster !== 'x' });
    expect(surplus).toMatchObject({
      cause: 'placement',
      says: 'Placement "p" in namespace "policies" selects ManagedCluster x, whose label name is "a", the name of another cluster; its policy is enforced on nobody',
      fix: 'set the label name of ManagedCluster x to "x"',
    });
  });

  test('and has its own label was put into the decision by somebody', () => {
    const { surplus } = looks()([given], NOW, { decided: () => new Set(['a', 'y']), isPlanned: () => false });
    expect(surplus?.fix).toBe('find who writes PlacementDecisions of this Placement, and remove y from them');
  });

  test('and is in the plan may be of the batch before: it is told once that has lasted', () => {
    const look = looks();
    const parts = { decided: () => new Set(['x']), cluster: labelled };
    expect(look([given], NOW, parts)).toMatchObject({ surplus: undefined, lookAt: NOW + 10_000 });
    expect(look([given], NOW + 10_000, parts).surplus?.says).toContain('selects ManagedCluster x, whose label name is "a"');
  });
});

test('a server without decisions is told at once, of Placements that have members', () => {
  const decided = () => undefined;
  expect(looks()([placement([])], NOW, { decided }).problem).toBeUndefined();
  expect(looks()([placement(['a'])], NOW, { decided }).problem).toMatch(
    /^The API server does not serve PlacementDecision .* nothing is enforced/,
  );
});

test('each cluster has its own ten seconds, and none before it became a member', () => {
  const look = looks();
  const unmatched = { satisfied: 'NoManagedClusterMatched' };
  look([placement(['a'], unmatched)], NOW);
  look([placement(['a', 'b'], unmatched)], NOW + 5000);
  const later = look([placement(['a', 'b'], unmatched)], NOW + 10_000);
  expect(later.problem).toContain('clusters [a]:');
  expect(later.lookAt).toBe(NOW + 15_000);
});

test('a namespace without a cluster set is told at once in the words of the reference, and strictly nothing else ever is', () => {
  const unbound = placement(['a'], { satisfied: 'NoManagedClusterSetBindings' });
  const told =
    'Placement "p" in namespace "policies" cannot select clusters: message of NoManagedClusterSetBindings. Create a ManagedClusterSetBinding for the "default" ManagedClusterSet in the policy namespace.';
  for (const talmStrict of [true, false]) expect(looks()([unbound], NOW, { talmStrict }).problem).toBe(told);
  const look = looks();
  for (const now of [NOW, NOW + 60_000])
    expect(look([placement(['a'])], now, { talmStrict: true, decided: () => undefined })).toEqual({
      problem: undefined,
      unplaced: new Map(),
      surplus: undefined,
      lookAt: undefined,
    });
});
