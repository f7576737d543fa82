/** Finds out if a policy is meant for a cluster that neither has its copy nor is in its roll-up, as far as that can be known now. Pure. */
import { findCondition, isJsonObject, perObject, refKey } from '@flotilla/api';
import {
  CLUSTER_AVAILABLE,
  type ManagedCluster,
  PLACEMENT_SATISFIED,
  type Placement,
  PlacementBinding,
  type PlacementDecision,
  type Policy,
} from '@flotilla/api/ocm';
import { isAvailable } from '../clusters/managed-cluster.ts';
import type { PolicyRef } from '../upgrade/model.ts';
import { notFound, type Wait } from '../waits/wait.ts';

/** The objects that place policies on clusters; those of upgrades are left out, because they place none. */
export interface PolicyWays {
  readonly bindings: (namespace: string) => readonly PlacementBinding[];
  readonly placement: (ref: PolicyRef) => Placement | undefined;
  readonly decisions: (placement: PolicyRef) => readonly PlacementDecision[];
  readonly cluster: (name: string) => ManagedCluster | undefined;
  /** The first kind of these objects that the API server does not serve: that there are none means nothing then. */
  readonly unserved?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Sentence, fix and evidence. */
export type Why = Pick<Wait, 'says' | 'fix' | 'of'>;

/**
 * `placed`: a decision lists the cluster, and the copy is on its way. Nothing follows from `unknown`, nor for a cluster that had a copy from `unbound`:
 * the policy is placed nowhere by now.
 */
interface Reach {
  readonly kind: 'placed' | 'notMeant' | 'unbound' | 'unknown';
  readonly why: Why;
  /** When more is known even if nothing changes, milliseconds since the epoch. */
  readonly knownAt?: number | undefined;
}

/** A Placement that a policy is bound to. */
interface Way {
  readonly object: string;
  readonly tolerations: Tolerations;
  readonly chosen: readonly ReadonlySet<string>[];
  readonly problem?: Why | undefined;
  readonly knownAt?: number | undefined;
}

type Tolerations = NonNullable<Placement['spec']>['tolerations'];

/** Time that a placement controller has to decide anew after an edit. */
const SETTLES_MS = 10_000;

/** The reach of one policy, by cluster; its objects are looked at once, when the first cluster is asked for. */
export function reachOf(ref: PolicyRef, policy: Policy | undefined, ways: PolicyWays): (cluster: string) => Reach {
  let found: Why | readonly Way[] | undefined;
  return (cluster) => {
    found ??= findWays(ref, policy, ways);
    if (Array.isArray(found)) return judge(cluster, found, ways);
    return { kind: ways.unserved === PlacementBinding.kind ? 'unknown' : 'unbound', why: found as Why };
  };
}

function findWays(ref: PolicyRef, policy: Policy | undefined, ways: PolicyWays): Why | readonly Way[] {
  const object = `Policy ${refKey(ref)}`;
  const absent = notFound(object);
  if (!policy) return { says: 'it was deleted', fix: `create ${object} again`, of: absent };
  const { metadata, spec } = policy;
  if (metadata.deletionTimestamp !== undefined)
    return {
      says: 'it is being deleted',
      fix: `create ${object} again`,
      of: { ...absent, value: `deleted ${metadata.deletionTimestamp}` },
    };
  if (spec?.disabled)
    return {
      says: 'it is disabled',
      fix: `set spec.disabled of ${object} to false`,
      of: { object, field: 'spec.disabled', value: 'true' },
    };
  if (ways.unserved === PlacementBinding.kind) return unservedOf(ways.unserved);
  const sets = setsOf(policy);
  const bindings = ways.bindings(ref.namespace).filter((binding) => places(binding, ref, sets));
  if (bindings.length > 0) return bindings.map((binding) => wayOf(ref, binding, ways));
  return {
    says: 'no PlacementBinding binds it',
    fix: `bind ${object} to a Placement by a PlacementBinding in namespace ${ref.namespace}`,
    of: { object: `PlacementBindings of namespace ${ref.namespace}`, field: 'subjects', value: `none names ${ref.name}` },
  };
}

const unservedOf = (kind: string): Why => ({
  says: `the API server serves no ${kind}, so nobody can see where it is placed`,
  fix: `have the API server of the hub serve ${kind} again`,
  of: { object: `CustomResourceDefinition of ${kind}`, field: 'status', value: '(not served)' },
});

/** PolicySets that have the policy, as its roll-up tells. */
function setsOf({ status }: Policy): ReadonlySet<unknown> {
  const entries: unknown = isJsonObject(status) ? status.placement : undefined;
  return new Set(Array.isArray(entries) ? entries.flatMap((entry) => (isJsonObject(entry) ? [entry.policySet] : [])) : []);
}

/** A restricted binding never places a policy. */
const places = ({ metadata, subFilter, subjects }: PlacementBinding, ref: PolicyRef, sets: ReadonlySet<unknown>): boolean =>
  subFilter !== 'restricted' &&
  metadata.deletionTimestamp === undefined &&
  (subjects ?? []).some(({ kind, name }) => (kind === 'Policy' && name === ref.name) || (kind === 'PolicySet' && sets.has(name)));

function wayOf({ namespace }: PolicyRef, { placementRef }: PlacementBinding, ways: PolicyWays): Way {
  const ref = { namespace, name: placementRef?.name ?? '' };
  const object = `${placementRef?.kind ?? 'Placement'} ${refKey(ref)}`;
  // Nothing else of a PlacementRule is read: its policies reach what their roll-up lists.
  if (placementRef?.kind === 'PlacementRule') return { object, tolerations: [{ operator: 'Exists' }], chosen: [] };
  if (ways.unserved !== undefined) return { object, tolerations: [], chosen: [], problem: unservedOf(ways.unserved) };
  const placement = ways.placement(ref);
  const chosen = ways.decisions(ref).map(namesOf);
  const tolerations = placement?.spec?.tolerations;
  const knownAt =
    placement?.editedAt !== undefined && (placement.metadata.generation ?? 1) > 1 ? placement.editedAt + SETTLES_MS : undefined;
  const isEarly = knownAt !== undefined && ways.now < knownAt;
  return { object, tolerations, chosen, problem: findProblem(object, placement, chosen, isEarly), ...(isEarly && { knownAt }) };
}

const namesOf = perObject(
  ({ status }: PlacementDecision): ReadonlySet<string> => new Set((status?.decisions ?? []).map(({ clusterName }) => clusterName)),
);

/** The reasons for which a Placement selects nobody, however it is written. */
const SETLESS: ReadonlySet<string> = new Set(['NoManagedClusterSetBindings', 'NoIntersection', 'AllManagedClusterSetsEmpty']);

/** Why nothing follows from a cluster that a Placement does not list. */
function findProblem(
  object: string,
  placement: Placement | undefined,
  chosen: readonly ReadonlySet<string>[],
  isEarly: boolean,
): Why | undefined {
  if (!placement || placement.metadata.deletionTimestamp !== undefined)
    return { says: `its ${object} is not there`, fix: `create ${object} again`, of: notFound(object) };
  const satisfied = findCondition(placement.status?.conditions, PLACEMENT_SATISFIED);
  const shown = {
    object,
    field: `status.conditions[${PLACEMENT_SATISFIED}]`,
    value: `${satisfied?.status ?? '(none)'} ${satisfied?.reason ?? ''}`.trim(),
  };
  const undecided = { says: `its ${object} is not decided yet`, fix: 'see whether the placement controller of the hub runs', of: shown };
  const { generation = 0 } = placement.metadata;
  if (!satisfied || (satisfied.observedGeneration ?? generation) < generation || isEarly) return undecided;
  if (satisfied.status !== 'True' && SETLESS.has(satisfied.reason))
    return {
      says: `its ${object} selects from no cluster set: ${satisfied.message}`,
      fix: `bind the cluster set to namespace ${placement.metadata.namespace} by a ManagedClusterSetBinding`,
      of: shown,
    };
  const decided = chosen.reduce((sum, { size }) => sum + size, 0);
  return decided === (placement.status?.numberOfSelectedClusters ?? decided) ? undefined : undecided;
}

function judge(cluster: string, found: readonly Way[], ways: PolicyWays): Reach {
  const way = found.find(({ chosen }) => chosen.some((names) => names.has(cluster)));
  if (way)
    return {
      kind: 'placed',
      why: {
        says: 'its copy is not there yet',
        fix: 'see whether the policy propagator of the hub runs',
        of: { object: way.object, field: 'PlacementDecision', value: cluster },
      },
    };
  const unsure = found.map((each) => findDoubt(cluster, each, ways)).find((doubt) => doubt !== undefined);
  if (unsure) return unsure;
  const [first] = found;
  const object = first?.object ?? '';
  const why = {
    says: `its ${object} does not select it`,
    fix: `have ${object} select ${cluster} again, by its labels and its cluster set`,
    of: { object, field: 'PlacementDecision', value: `without ${cluster}` },
  };
  return { kind: 'notMeant', why };
}

/** Why a cluster may be absent from the decisions for another cause than that it is not meant. */
function findDoubt(cluster: string, { object, tolerations, problem, knownAt }: Way, ways: PolicyWays): Reach | undefined {
  if (problem) return { kind: 'unknown', why: problem, knownAt };
  const managed = ways.cluster(cluster);
  const taint = taintsOf(managed).find((each) => !isTolerated(each, tolerations));
  if (taint)
    return {
      kind: 'unknown',
      why: {
        says: `its ${object} does not tolerate the taint ${taint.key}`,
        fix: `bring ${cluster} back, or give ${object} a toleration of ${taint.key}`,
        of: { object: `ManagedCluster ${cluster}`, field: 'spec.taints', value: `${taint.key}:${taint.effect ?? ''}` },
      },
    };
  return isAvailable(managed) ? findReturn(cluster, object, managed, ways.now) : { kind: 'unknown', why: awayOf(cluster, managed) };
}

/** A cluster that is back has lost its taints, and decisions may be those of before for a moment. A time to come is that of a wrong clock. */
function findReturn(cluster: string, object: string, managed: ManagedCluster | undefined, now: number): Reach | undefined {
  const condition = findCondition(managed?.status?.conditions, CLUSTER_AVAILABLE);
  const backAt = Date.parse(condition?.lastTransitionTime ?? '');
  const knownAt = backAt + SETTLES_MS;
  if (Number.isNaN(backAt) || backAt > now || now >= knownAt) return undefined;
  const of = {
    object: `ManagedCluster ${cluster}`,
    field: `status.conditions[${CLUSTER_AVAILABLE}]`,
    value: `True since ${condition?.lastTransitionTime}`,
  };
  const why = {
    says: `its ${object} is not decided yet since ${cluster} is back`,
    fix: 'see whether the placement controller of the hub runs',
    of,
  };
  return { kind: 'unknown', why, knownAt };
}

/** A cluster that is not available, as a wait says it. */
export function awayOf(cluster: string, managed: ManagedCluster | undefined): Why {
  const condition = findCondition(managed?.status?.conditions, CLUSTER_AVAILABLE);
  return {
    says: managed ? `${cluster} is not available` : `${cluster} is no ManagedCluster`,
    fix: `see kubectl describe managedcluster ${cluster}, and whether the cluster and its agent run`,
    of: {
      object: `ManagedCluster ${cluster}`,
      field: `status.conditions[${CLUSTER_AVAILABLE}]`,
      value: condition ? `${condition.status} ${condition.reason}` : '(none)',
    },
  };
}

/** The wait for a cluster that is not available; undefined for any other. */
export const findAway = (cluster: string, managed: ManagedCluster | undefined): Wait | undefined =>
  managed && !isAvailable(managed)
    ? {
        cause: 'cluster-unavailable',
        ...awayOf(cluster, managed),
        says: `${cluster} is not available, and nothing newer is known of it`,
        since: sinceOf(findCondition(managed.status?.conditions, CLUSTER_AVAILABLE)?.lastTransitionTime),
      }
    : undefined;

function sinceOf(time = ''): number | undefined {
  const since = Date.parse(time);
  return Number.isNaN(since) ? undefined : since;
}

interface Taint {
  readonly key: string;
  readonly value?: string | undefined;
  readonly effect?: string | undefined;
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Taints that keep a Placement from selecting. */
function taintsOf(managed: ManagedCluster | undefined): readonly Taint[] {
  const taints: unknown = managed?.spec?.taints;
  if (!Array.isArray(taints)) return [];
  return taints.flatMap((taint: unknown) => {
    if (!isJsonObject(taint) || typeof taint.key !== 'string' || taint.effect === 'PreferNoSelect') return [];
    return [{ key: taint.key, value: textOf(taint.value), effect: textOf(taint.effect) }];
  });
}

const isTolerated = ({ key, value = '', effect }: Taint, tolerations: Tolerations): boolean =>
  (tolerations ?? []).some((toleration) => {
    const isAny = toleration.operator === 'Exists';
    if (toleration.key ? toleration.key !== key : !isAny) return false;
    if (toleration.effect && toleration.effect !== effect) return false;
    return isAny || (textOf(toleration.value) ?? '') === value;
  });
