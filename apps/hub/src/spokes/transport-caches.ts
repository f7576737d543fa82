import { type KubeObject, Label } from '@flotilla/api';
import { ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import { type Client, WatchCache, type WatchSurroundings } from '@flotilla/runtime';
import { trimAction, trimView } from './actions/observe.ts';
import { BY_SPOKE, BY_WORK_AND_CLUSTER, BY_WORK_AND_UPGRADE, SPOKE_JOBS, type SpokeJobCaches, spokeKey } from './port/caches.ts';
import { trimJobWork } from './work/observe.ts';

/** Caches of our labelled actions, views and works, without the parts that no step reads. A hub may lack each kind. */
export function transportCaches(client: Client, shared: WatchSurroundings): Pick<SpokeJobCaches, 'views' | 'actions' | 'jobWorks'> {
  const labelSelector = `${Label.work} in (${SPOKE_JOBS.join(',')})`;
  const workOf = ({ metadata }: KubeObject) => metadata.labels?.[Label.work] ?? '';
  const uidOf = ({ metadata }: KubeObject) => metadata.labels?.[Label.upgradeUid] ?? '';
  const indexes = {
    [BY_SPOKE]: (object: KubeObject) => [spokeKey(workOf(object), uidOf(object), object.metadata.namespace ?? '')],
    [BY_WORK_AND_CLUSTER]: (object: KubeObject) => [`${workOf(object)}/${object.metadata.namespace ?? ''}`],
    [BY_WORK_AND_UPGRADE]: (object: KubeObject) => [`${workOf(object)}/${uidOf(object)}`],
  };
  return {
    views: new WatchCache(client, ManagedClusterView, { ...shared, labelSelector, transform: trimView, indexes, optional: true }),
    actions: new WatchCache(client, ManagedClusterAction, { ...shared, labelSelector, transform: trimAction, indexes, optional: true }),
    jobWorks: new WatchCache(client, ManifestWork, { ...shared, labelSelector, transform: trimJobWork, indexes, optional: true }),
  };
}
