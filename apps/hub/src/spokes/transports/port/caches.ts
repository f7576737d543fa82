import { type KubeObject, Label } from '@flotilla/api';
import type { ManagedCluster, ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import type { WatchCache } from '@flotilla/runtime';
import type { BY_CLUSTER } from '../../../indexes.ts';

/** Watches that a step reads; it reads nothing else. */
export interface SpokeJobCaches {
  readonly clusters: WatchCache<ManagedCluster>;
  readonly upgrades: WatchCache<ClusterGroupUpgrade, typeof BY_UID>;
  readonly views: WatchCache<ManagedClusterView, TransportIndex>;
  readonly actions: WatchCache<ManagedClusterAction, TransportIndex>;
  readonly works: WatchCache<ManifestWork, TransportIndex>;
}

/** Index of upgrades by uid. */
export const BY_UID = 'uid';
/** Index of actions, views and works of jobs by `spokeKey`. */
export const BY_SPOKE = 'spoke';
/** Index of actions, views and works of jobs by `work/cluster`. */
export const BY_WORK_AND_CLUSTER = 'work-and-cluster';
/** Index of actions, views and works of jobs by `work/upgradeUid`. */
export const BY_WORK_AND_UPGRADE = 'work-and-upgrade';
/** Index of actions, views and works of rollouts by their upgrade's uid. Objects of the reference carry none and are found by `upgradeIndexValue`. */
export const BY_UPGRADE = 'upgrade';
/** Indexes of actions, views and works; those of rollouts are also found by their cluster. */
export type TransportIndex =
  | typeof BY_SPOKE
  | typeof BY_WORK_AND_CLUSTER
  | typeof BY_WORK_AND_UPGRADE
  | typeof BY_CLUSTER
  | typeof BY_UPGRADE;

/** Values of `flotilla.io/work` on the actions, views and works of jobs. */
const SPOKE_JOBS = ['precache', 'backup', 'pins'];
/** True for an object of a job; others with the label of an upgrade belong to its rollout. */
export const isOfJob = ({ metadata }: KubeObject): boolean => SPOKE_JOBS.includes(metadata.labels?.[Label.work] ?? '');
/** The job that removes pins: it has the place of a pre-cache on the spoke. */
export const PINS_WORK = 'pins';

/** Key of one spoke's part of one upgrade. */
export const spokeKey = (work: string, upgradeUid: string, cluster: string): string => `${work}/${upgradeUid}/${cluster}`;

/** Indexes that the cache of upgrades needs. */
export const upgradeIndexes = { [BY_UID]: ({ metadata }: ClusterGroupUpgrade) => [metadata.uid ?? ''] };

/** Finds the hub objects of one spoke's part of one upgrade. */
export function hubObjectsOf({ views, actions, works }: Pick<SpokeJobCaches, 'views' | 'actions' | 'works'>, key: string) {
  return { views: views.byIndex(BY_SPOKE, key), actions: actions.byIndex(BY_SPOKE, key), works: works.byIndex(BY_SPOKE, key) };
}

/** Finds the hub objects of one kind of job for one upgrade, on all clusters. */
export function objectsOf({ views, actions, works }: SpokeJobCaches, work: string, upgradeUid: string): KubeObject[] {
  const key = `${work}/${upgradeUid}`;
  return [views, actions, works].flatMap((cache): KubeObject[] => cache.byIndex(BY_WORK_AND_UPGRADE, key));
}

/** Finds the hub objects of one kind of job for one cluster, of all upgrades. */
export function objectsIn({ views, actions, works }: SpokeJobCaches, work: string, cluster: string): KubeObject[] {
  const key = `${work}/${cluster}`;
  return [views, actions, works].flatMap((cache): KubeObject[] => cache.byIndex(BY_WORK_AND_CLUSTER, key));
}
