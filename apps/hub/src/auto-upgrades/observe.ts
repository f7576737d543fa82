import { findCondition, Label } from '@flotilla/api';
import { CLUSTER_AVAILABLE, type ManagedCluster, Policy } from '@flotilla/api/ocm';
import type { Client } from '@flotilla/runtime';
import { BY_CLUSTER } from '../indexes.ts';
import { CHILD_POLICIES, servesPolicies, trimChild, type UpgradeCaches } from '../upgrades/observe.ts';

/** Namespace of automatically created upgrades (spec/talm 5.2). */
export const AUTO_NAMESPACE = 'ztp-install';

/** The watches a ManagedCluster is judged from. */
export type ManagedClusterCaches = Pick<UpgradeCaches, 'clusters' | 'upgrades' | 'parents' | 'children' | 'placements'>;

/** Everything one pass looks at, read from caches alone. */
export interface ObservedCluster {
  readonly cluster: ManagedCluster;
  readonly isAvailable: boolean;
  /** Its first upgrade is done, or was never wanted. */
  readonly isDone: boolean;
  /** There is an upgrade of its name, whoever made it. */
  readonly hasUpgrade: boolean;
  /** The API server serves policies. */
  readonly servesPolicies: boolean;
  /** Replicated policies of the cluster. */
  readonly policies: readonly Policy[];
}

/** Gathers what concerns one cluster; undefined: there is no such cluster, or it is going. */
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
 * The same with the policies as they are on the server now. Watches run apart: that of clusters may tell of an import before that of
 * policies has told of all its policies, and the list of an upgrade is made once.
 */
export async function observeAfresh(observed: ObservedCluster, client: Client): Promise<ObservedCluster> {
  const { name } = observed.cluster.metadata;
  const { items } = await client.list(Policy, { namespace: name, labelSelector: CHILD_POLICIES, transform: trimChild });
  return { ...observed, policies: items };
}
