import { Label } from '@flotilla/api';
import { type ManagedCluster, ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { type Client, WatchCache, type WatchSurroundings } from '@flotilla/runtime';
import { trimAction, trimView } from './observe.ts';

/** The watches a step reads from; there are no other reads. */
export interface SpokeJobCaches {
  readonly clusters: WatchCache<ManagedCluster>;
  readonly upgrades: WatchCache<ClusterGroupUpgrade, typeof BY_UID>;
  readonly views: WatchCache<ManagedClusterView, TransportIndex>;
  readonly actions: WatchCache<ManagedClusterAction, TransportIndex>;
}

/** Index of upgrades by uid. */
export const BY_UID = 'uid';
/** Index of actions and views by `spokeKey`. */
export const BY_SPOKE = 'spoke';
/** Index of actions and views by `work/cluster`. */
export const BY_WORK_AND_CLUSTER = 'work-and-cluster';
/** Index of actions and views by `work/upgradeUid`. */
export const BY_WORK_AND_UPGRADE = 'work-and-upgrade';
type TransportIndex = typeof BY_SPOKE | typeof BY_WORK_AND_CLUSTER | typeof BY_WORK_AND_UPGRADE;

/** Values of `flotilla.io/work` on actions and views of jobs, which are watched here. */
export const SPOKE_JOBS = ['precache', 'backup'];

/** Key of one spoke's part of one upgrade. */
export const spokeKey = (work: string, upgradeUid: string, cluster: string): string => `${work}/${upgradeUid}/${cluster}`;

/** Indexes that the cache of upgrades needs. */
export const upgradeIndexes = { [BY_UID]: ({ metadata }: ClusterGroupUpgrade) => [metadata.uid ?? ''] };

/** Caches of the actions and views that carry our label, without what no step reads. */
export function transportCaches(client: Client, shared: WatchSurroundings): Pick<SpokeJobCaches, 'views' | 'actions'> {
  const labelSelector = `${Label.work} in (${SPOKE_JOBS.join(',')})`;
  const workOf = ({ metadata }: ManagedClusterView) => metadata.labels?.[Label.work] ?? '';
  const uidOf = ({ metadata }: ManagedClusterView) => metadata.labels?.[Label.upgradeUid] ?? '';
  const indexes = {
    [BY_SPOKE]: (object: ManagedClusterView) => [spokeKey(workOf(object), uidOf(object), object.metadata.namespace ?? '')],
    [BY_WORK_AND_CLUSTER]: (object: ManagedClusterView) => [`${workOf(object)}/${object.metadata.namespace ?? ''}`],
    [BY_WORK_AND_UPGRADE]: (object: ManagedClusterView) => [`${workOf(object)}/${uidOf(object)}`],
  };
  return {
    views: new WatchCache(client, ManagedClusterView, { ...shared, labelSelector, transform: trimView, indexes }),
    actions: new WatchCache(client, ManagedClusterAction, { ...shared, labelSelector, transform: trimAction, indexes }),
  };
}

/** Actions and views of one spoke's part of one upgrade. */
export function hubObjectsOf({ views, actions }: Pick<SpokeJobCaches, 'views' | 'actions'>, key: string) {
  return { views: views.byIndex(BY_SPOKE, key), actions: actions.byIndex(BY_SPOKE, key) };
}
