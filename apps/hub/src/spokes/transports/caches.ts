import { type KubeObject, Label } from '@flotilla/api';
import { ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import { trimRolloutView, trimWork, upgradeIndexOf } from '@flotilla/rollout';
import { type Client, WatchCache, type WatchSurroundings } from '@flotilla/runtime';
import { BY_CLUSTER } from '../../indexes.ts';
import { trimAction, trimView } from './actions/observe.ts';
import {
  BY_SPOKE,
  BY_UPGRADE,
  BY_WORK_AND_CLUSTER,
  BY_WORK_AND_UPGRADE,
  isOfJob,
  type SpokeJobCaches,
  spokeKey,
  type TransportIndex,
} from './port/caches.ts';
import { trimJobWork } from './work/observe.ts';

/**
 * Caches of the actions, views and works of upgrades, without the parts that nothing reads; the reference's label selects what the reference began,
 * too. A hub may lack each kind.
 */
export function transportCaches(client: Client, shared: WatchSurroundings): Pick<SpokeJobCaches, 'views' | 'actions' | 'works'> {
  const ours = { ...shared, labelSelector: Label.upgradeName, optional: true, indexes };
  return {
    views: new WatchCache(client, ManagedClusterView, {
      ...ours,
      transform: (view) => (isOfJob(view) ? trimView(view) : trimRolloutView(view)),
    }),
    actions: new WatchCache(client, ManagedClusterAction, { ...ours, transform: trimAction }),
    works: new WatchCache(client, ManifestWork, { ...ours, transform: (work) => (isOfJob(work) ? trimJobWork(work) : trimWork(work)) }),
  };
}

const workOf = ({ metadata }: KubeObject): string => metadata.labels?.[Label.work] ?? '';
const uidOf = ({ metadata }: KubeObject): string => metadata.labels?.[Label.upgradeUid] ?? '';
const clusterOf = ({ metadata }: KubeObject): string => metadata.namespace ?? '';
const ofJobs = (key: (object: KubeObject) => string) => (object: KubeObject) => (isOfJob(object) ? [key(object)] : []);
const ofRollouts = (key: (object: KubeObject) => string) => (object: KubeObject) => (isOfJob(object) ? [] : [key(object)]);

const indexes: Record<TransportIndex, (object: KubeObject) => string[]> = {
  [BY_SPOKE]: ofJobs((object) => spokeKey(workOf(object), uidOf(object), clusterOf(object))),
  [BY_WORK_AND_CLUSTER]: ofJobs((object) => `${workOf(object)}/${clusterOf(object)}`),
  [BY_WORK_AND_UPGRADE]: ofJobs((object) => `${workOf(object)}/${uidOf(object)}`),
  [BY_CLUSTER]: ofRollouts(clusterOf),
  [BY_UPGRADE]: ofRollouts((object) => uidOf(object) || upgradeIndexOf(object)),
};
