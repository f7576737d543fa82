import { Annotation, findCondition, Label } from '@flotilla/api';
import { CLUSTER_AVAILABLE, type ManagedCluster, Policy } from '@flotilla/api/ocm';
import { CHILD_POLICIES, isEnforced, RETURN_MS, reachOf, trimChild } from '@flotilla/rollout';
import type { Client } from '@flotilla/runtime';
import { BY_CLUSTER } from '../caches.ts';
import { waysFrom } from '../lookups.ts';
import { servesPolicies, type UpgradeCaches } from '../upgrades/observe.ts';

/** Namespace of automatically created upgrades (spec/talm 5.2). */
export const AUTO_NAMESPACE = 'ztp-install';

/** Caches that decide about a ManagedCluster. */
export type ManagedClusterCaches = Pick<
  UpgradeCaches,
  'clusters' | 'upgrades' | 'parents' | 'children' | 'placements' | 'bindings' | 'decisions'
>;

/** A policy whose copy may be yet to come to a cluster. */
interface Awaited {
  /** `namespace/name` */
  readonly policy: string;
  readonly says: string;
  readonly fix?: string | undefined;
}

/** Facts of one reconcile, from caches alone. */
export interface ObservedCluster {
  readonly cluster: ManagedCluster;
  readonly isAvailable: boolean;
  /** Its first upgrade is done, or was never wanted. */
  readonly isDone: boolean;
  /** An upgrade of its name exists, from any creator. */
  readonly hasUpgrade: boolean;
  /** The API server serves policies. */
  readonly servesPolicies: boolean;
  /** Replicated policies of the cluster. */
  readonly policies: readonly Policy[];
  /** The first policy with a wave whose copy may be yet to come: an upgrade over no policy is done at once. Absent: none. */
  readonly awaited?: Awaited | undefined;
}

/**
 * Gathers the facts about one cluster; undefined for one that is missing or under deletion.
 * @param talmStrict nothing is waited for, as by the reference
 * @param now milliseconds since the epoch
 */
export function observeCluster(
  name: string,
  caches: ManagedClusterCaches,
  { talmStrict, now }: { readonly talmStrict: boolean; readonly now: number },
): ObservedCluster | undefined {
  const cluster = caches.clusters.get({ name });
  if (!cluster || cluster.metadata.deletionTimestamp) return undefined;
  const observed = {
    cluster,
    isAvailable: findCondition(cluster.status?.conditions, CLUSTER_AVAILABLE)?.status === 'True',
    isDone: cluster.metadata.labels?.[Label.ztpDone] !== undefined,
    hasUpgrade: caches.upgrades.get({ namespace: AUTO_NAMESPACE, name }) !== undefined,
    servesPolicies: servesPolicies(caches),
    policies: caches.children.byIndex(BY_CLUSTER, name),
  };
  const isNew = observed.isAvailable && !observed.isDone && !observed.hasUpgrade;
  return isNew && !talmStrict ? { ...observed, awaited: findAwaited(observed, caches, now) } : observed;
}

/**
 * Observes again with the policies from the server. The watch of clusters may report an import before the watch of policies has all its policies, and
 * an upgrade's list is final.
 */
export async function observeAfresh(observed: ObservedCluster, client: Client): Promise<ObservedCluster> {
  const { name } = observed.cluster.metadata;
  const { items } = await client.list(Policy, { namespace: name, labelSelector: CHILD_POLICIES, transform: trimChild });
  return { ...observed, policies: items };
}

/** A policy that is placed on the cluster is waited for; one of which nobody can tell is no longer than half an hour after the cluster came. */
function findAwaited({ cluster, policies }: ObservedCluster, caches: ManagedClusterCaches, now: number): Awaited | undefined {
  const copies = new Set(policies.map(({ metadata }) => metadata.name));
  const ways = waysFrom(caches, (name) => caches.clusters.get({ name }), now);
  const since = findCondition(cluster.status?.conditions, CLUSTER_AVAILABLE)?.lastTransitionTime ?? '';
  const isPatient = !(now >= Date.parse(since) + RETURN_MS);
  for (const policy of caches.parents.list()) {
    const { namespace = '', name, annotations } = policy.metadata;
    if (annotations?.[Annotation.deployWave] === undefined || isEnforced(policy) || copies.has(`${namespace}.${name}`)) continue;
    const { kind, why } = reachOf({ namespace, name }, policy, ways)(cluster.metadata.name);
    if (kind === 'placed' || (kind === 'unknown' && isPatient)) return { policy: `${namespace}/${name}`, says: why.says, fix: why.fix };
  }
  return undefined;
}
