import { Label } from '@flotilla/api';
import {
  type ManagedCluster,
  ManagedClusterAction,
  ManagedClusterView,
  ManifestWork,
  ManifestWorkReplicaSet,
  type Policy,
} from '@flotilla/api/ocm';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { ROLLOUT_WORK, trimRolloutView, trimWork, upgradeIndexOf } from '@flotilla/rollout';
import { type Client, WatchCache, type WatchSurroundings } from '@flotilla/runtime';
import { BY_CLUSTER, type BY_NAME_LABEL } from '../indexes.ts';
import type { PlacementCaches } from '../placements/caches.ts';
import { trimAction } from '../spokes/actions/observe.ts';
import { type BY_UID, SPOKE_JOBS } from '../spokes/port/caches.ts';
import type { TenancyCaches } from '../tenancy-caches.ts';

/** Watches that a spoke's step reads; it reads nothing else. */
export interface SpokeCaches extends TenancyCaches {
  readonly upgrades: WatchCache<ClusterGroupUpgrade, typeof BY_UID>;
  readonly clusters: WatchCache<ManagedCluster, typeof BY_NAME_LABEL>;
  readonly works: WatchCache<ManifestWork, TransportIndex>;
  /** Templates of ManifestWorks. */
  readonly templates: WatchCache<ManifestWorkReplicaSet>;
  /** Views of rollouts, of Subscriptions and InstallPlans. */
  readonly rolloutViews: WatchCache<ManagedClusterView, TransportIndex>;
  /** Actions of rollouts, approvals of InstallPlans. */
  readonly rolloutActions: WatchCache<ManagedClusterAction, TransportIndex>;
}

/** Watches that a rollout reads. */
export interface RolloutCaches extends SpokeCaches, PlacementCaches {
  readonly parents: WatchCache<Policy>;
  /** Copies in the clusters' namespaces. */
  readonly children: WatchCache<Policy>;
}

/** Index of works, views and actions by their upgrade's uid. Objects of the reference carry none and are found by `upgradeIndexValue`. */
export const BY_UPGRADE = 'upgrade';
type TransportIndex = typeof BY_CLUSTER | typeof BY_UPGRADE;

const OF_ROLLOUTS = `${Label.upgradeName},${Label.work} notin (${SPOKE_JOBS.join(',')})`;

/** Caches of a rollout's objects on the hub, without the parts that nothing reads. A hub may lack works, actions and views. */
export function rolloutCaches(client: Client, shared: WatchSurroundings): Omit<SpokeCaches, 'upgrades' | 'clusters' | keyof TenancyCaches> {
  const indexes = {
    [BY_CLUSTER]: ({ metadata }: ManifestWork | ManagedClusterView) => [metadata.namespace ?? ''],
    [BY_UPGRADE]: ({ metadata }: ManifestWork | ManagedClusterView) => [
      metadata.labels?.[Label.upgradeUid] ?? upgradeIndexOf({ metadata }),
    ],
  };
  const ours = { ...shared, labelSelector: `${Label.work}=${ROLLOUT_WORK}`, optional: true, indexes };
  return {
    // The reference's label selects works that the reference began, too.
    works: new WatchCache(client, ManifestWork, { ...ours, labelSelector: OF_ROLLOUTS, transform: trimWork }),
    templates: new WatchCache(client, ManifestWorkReplicaSet, { ...shared, optional: true, transform: trimTemplate }),
    // All views and actions with the reference's label belong to rollouts.
    rolloutViews: new WatchCache(client, ManagedClusterView, {
      ...ours,
      labelSelector: OF_ROLLOUTS,
      transform: trimRolloutView,
    }),
    rolloutActions: new WatchCache(client, ManagedClusterAction, {
      ...ours,
      labelSelector: OF_ROLLOUTS,
      transform: trimAction,
    }),
  };
}

/** Drops the status of a template, which no step reads. */
const trimTemplate = ({ apiVersion, kind, metadata, spec }: ManifestWorkReplicaSet): ManifestWorkReplicaSet => ({
  apiVersion,
  kind,
  metadata,
  spec,
});
