import { findCondition, Label } from '@flotilla/api';
import { CLUSTER_AVAILABLE, type ManagedCluster, Policy } from '@flotilla/api/ocm';
import { CHILD_POLICIES, trimChild } from '@flotilla/rollout';
import type { Client } from '@flotilla/runtime';
import { BY_CLUSTER } from '../caches.ts';
import { servesPolicies, type UpgradeCaches } from '../upgrades/observe.ts';

/** Namespace of automatically created upgrades (spec/talm 5.2). */
export const AUTO_NAMESPACE = 'ztp-install';

/** Caches that decide about a ManagedCluster. */
export type ManagedClusterCaches = Pick<UpgradeCaches, 'clusters' | 'upgrades' | 'parents' | 'children' | 'placements'>;

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
}

/** Gathers the facts about one cluster; undefined for one that is missing or under deletion. */
export function observeCluster(name: string, caches: ManagedClusterCaches): ObservedCluster | undefined {
  const cluster = caches.clusters.get({ name });
  if (!cluster || cluster.metadata.deletionTimestamp) return undefined;
  return {
    cluster,
    isAvailable: findCondition(cluster.status?.conditions, CLUSTER_AVAILABLE)?.status === 'True',
    isDone: cluster.metadata.labels?.[Label.ztpDone] !== undefined,
    hasUpgrade: caches.upgrades.get({ namespace: AUTO_NAMESPACE, name }) !== undefined,
    servesPolicies: servesPolicies(caches),
    policies: caches.children.byIndex(BY_CLUSTER, name),
  };
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
