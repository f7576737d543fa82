import { type ClusterGroupUpgrade, Label, type ManagedCluster, ManagedClusterAction, ManagedClusterView } from '@flotilla/api';
import { type Client, type Logger, type Metrics, WatchCache } from '@flotilla/runtime';
import { PRECACHE_WORK } from './hub-objects.ts';
import { trimAction, trimView } from './observe.ts';

/** The watches a pre-cache reads from; there are no other reads. */
export interface PrecacheCaches {
  readonly clusters: WatchCache<ManagedCluster>;
  readonly upgrades: WatchCache<ClusterGroupUpgrade>;
  readonly views: WatchCache<ManagedClusterView>;
  readonly actions: WatchCache<ManagedClusterAction>;
}

/** Index of actions and views by `upgradeUid/cluster`. */
export const BY_SPOKE = 'spoke';
/** Index of actions and views by cluster. */
export const BY_CLUSTER = 'cluster';

/** Caches of the actions and views that carry our label, without what no step reads. */
export function transportCaches(
  client: Client,
  shared: { readonly logger: Logger; readonly metrics: Metrics },
): Pick<PrecacheCaches, 'views' | 'actions'> {
  const labelSelector = `${Label.work}=${PRECACHE_WORK}`;
  const indexes = {
    [BY_SPOKE]: ({ metadata }: ManagedClusterView) => [`${metadata.labels?.[Label.upgradeUid] ?? ''}/${metadata.namespace ?? ''}`],
    [BY_CLUSTER]: ({ metadata }: ManagedClusterView) => [metadata.namespace ?? ''],
  };
  return {
    views: new WatchCache(client, ManagedClusterView, { ...shared, labelSelector, transform: trimView, indexes }),
    actions: new WatchCache(client, ManagedClusterAction, { ...shared, labelSelector, transform: trimAction, indexes }),
  };
}
