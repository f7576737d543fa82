import { type ManagedCluster, ManifestWorkReplicaSet, type Policy } from '@flotilla/api/ocm';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { type Client, WatchCache, type WatchSurroundings } from '@flotilla/runtime';
import type { BY_NAME_LABEL } from '../../indexes.ts';
import type { PlacementCaches } from '../../placements/caches.ts';
import type { TenancyCaches } from '../../tenancy-caches.ts';
import type { BY_UID, SpokeJobCaches } from '../transports/port/caches.ts';

/** Watches that a spoke's step reads; it reads nothing else. */
export interface SpokeCaches extends TenancyCaches, Pick<SpokeJobCaches, 'works' | 'views' | 'actions'> {
  readonly upgrades: WatchCache<ClusterGroupUpgrade, typeof BY_UID>;
  readonly clusters: WatchCache<ManagedCluster, typeof BY_NAME_LABEL>;
  /** Templates of ManifestWorks. */
  readonly templates: WatchCache<ManifestWorkReplicaSet>;
}

/** Watches that a rollout reads. */
export interface RolloutCaches extends SpokeCaches, PlacementCaches {
  readonly parents: WatchCache<Policy>;
  /** Copies in the clusters' namespaces. */
  readonly children: WatchCache<Policy>;
}

/** Cache of templates. A hub may lack them. */
export const templateCache = (client: Client, shared: WatchSurroundings): WatchCache<ManifestWorkReplicaSet> =>
  new WatchCache(client, ManifestWorkReplicaSet, { ...shared, optional: true, transform: trimTemplate });

/** Drops the status of a template, which no step reads. */
const trimTemplate = ({ apiVersion, kind, metadata, spec }: ManifestWorkReplicaSet): ManifestWorkReplicaSet => ({
  apiVersion,
  kind,
  metadata,
  spec,
});
