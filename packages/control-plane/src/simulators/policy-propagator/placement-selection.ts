import { type ManagedCluster, PLACEMENT_SATISFIED, type PlacementSpec } from '@flotilla/api/ocm';

type Labels = Readonly<Record<string, string>>;
type Selector = NonNullable<NonNullable<NonNullable<PlacementSpec['predicates']>[number]['requiredClusterSelector']>['labelSelector']>;
type Test = (labels: Labels) => boolean;

/** A condition of a Placement, without its time. */
interface PlacementCondition {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

/** Clusters that a Placement selects, and the conditions of its status. */
export interface PlacementOutcome {
  /** Sorted. */
  readonly clusters: readonly string[];
  readonly conditions: readonly PlacementCondition[];
}

/** Condition type of a Placement whose selectors cannot be read. */
const MISCONFIGURED = 'PlacementMisconfigured';

/** Most clusters in one PlacementDecision (spec/ocm 2.4). */
const CLUSTERS_PER_DECISION = 100;

/** Binding of a namespace: to the set of all clusters, to nothing, or to a set without clusters. */
export type SetBinding = boolean | 'empty';

/**
 * The clusters of a Placement (spec/ocm 2.4): those of the set its namespace is bound to that match any predicate by their labels and
 * whose taints are tolerated. Whatever stands in the way first is the reason, as the placement controller gives it.
 */
export function selectForPlacement(
  spec: PlacementSpec | undefined,
  managed: Iterable<ManagedCluster>,
  bound: SetBinding,
): PlacementOutcome {
  const refusal = findSetProblem(bound);
  if (refusal) return refusal;
  const predicates = spec?.predicates ?? [];
  const tests: Test[] = [];
  for (const { requiredClusterSelector } of predicates) {
    const test = compile(requiredClusterSelector?.labelSelector ?? {});
    if (typeof test === 'string')
      return unsatisfied('NoManagedClusterMatched', 'No ManagedCluster matched any of the cluster predicate', test);
    tests.push(test);
  }
  const clusters: string[] = [];
  for (const { metadata, spec: { taints } = {} } of managed)
    if ((tests.length === 0 || tests.some((test) => test(metadata.labels ?? {}))) && isTolerated(taints, spec))
      clusters.push(metadata.name);
  if (clusters.length === 0) return unsatisfied('NoManagedClusterMatched', 'No ManagedCluster matched any of the cluster predicate', false);
  return { clusters: clusters.sort(), conditions: conditionsOf(true, 'AllDecisionsScheduled', 'All cluster decisions scheduled', false) };
}

function findSetProblem(bound: SetBinding): PlacementOutcome | undefined {
  if (bound === false)
    return unsatisfied('NoManagedClusterSetBindings', 'No valid ManagedClusterSetBindings found in placement namespace', false);
  if (bound === 'empty')
    return unsatisfied('AllManagedClusterSetsEmpty', 'All ManagedClusterSets [global] have no member ManagedCluster', false);
  return undefined;
}

/** Clusters in decisions of at most 100: those that are in one already stay there, so that no change of others moves them. */
export function divideIntoDecisions(clusters: readonly string[], current: readonly (readonly string[])[]): string[][] {
  const left = new Set(clusters);
  const kept = current.map((decision) => decision.filter((cluster) => left.delete(cluster)).slice(0, CLUSTERS_PER_DECISION));
  for (const cluster of left) {
    const free = kept.find((decision) => decision.length < CLUSTERS_PER_DECISION);
    if (free) free.push(cluster);
    else kept.push([cluster]);
  }
  while (kept.length > 1 && kept.at(-1)?.length === 0) kept.pop();
  return kept.length === 0 ? [[]] : kept;
}

function compile({ matchLabels, matchExpressions }: Selector): Test | string {
  const tests: Test[] = Object.entries(matchLabels ?? {}).map(
    ([key, value]) =>
      (labels) =>
        labels[key] === value,
  );
  for (const { key, operator, values } of matchExpressions ?? []) {
    const wanted = new Set(values);
    if ((operator === 'In' || operator === 'NotIn') && wanted.size === 0)
      return "values: Invalid value: []string(nil): for 'in', 'notin' operators, values set can't be empty";
    if (operator === 'In') tests.push((labels) => wanted.has(labels[key] ?? '') && key in labels);
    else if (operator === 'NotIn') tests.push((labels) => !(key in labels && wanted.has(labels[key] ?? '')));
    else if (operator === 'Exists') tests.push((labels) => key in labels);
    else if (operator === 'DoesNotExist') tests.push((labels) => !(key in labels));
    else return `"${operator}" is not a valid label selector operator`;
  }
  return (labels) => tests.every((test) => test(labels));
}

/** Taints with effect PreferNoSelect never exclude. An `Exists` toleration without a key tolerates all. */
function isTolerated(taints: unknown, spec: PlacementSpec | undefined): boolean {
  if (!Array.isArray(taints)) return true;
  const tolerated = (key: unknown) =>
    spec?.tolerations?.some((toleration) => toleration.key === key || (!toleration.key && toleration.operator === 'Exists'));
  return taints.every(
    (taint: { readonly key?: unknown; readonly effect?: unknown }) => taint.effect === 'PreferNoSelect' || tolerated(taint.key),
  );
}

/** Conditions as the placement controller writes them. @param problem of the selectors; false: none */
const conditionsOf = (isSatisfied: boolean, reason: string, message: string, problem: string | false): PlacementCondition[] => [
  { type: PLACEMENT_SATISFIED, status: isSatisfied ? 'True' : 'False', reason, message },
  problem === false
    ? { type: MISCONFIGURED, status: 'False', reason: 'Succeedconfigured', message: 'Placement configurations check pass' }
    : { type: MISCONFIGURED, status: 'True', reason: 'Misconfigured', message: problem },
];

const unsatisfied = (reason: string, message: string, problem: string | false): PlacementOutcome => ({
  clusters: [],
  conditions: conditionsOf(false, reason, message, problem),
});
