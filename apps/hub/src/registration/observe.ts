import { Lease, Namespace } from '@flotilla/api/core';
import { AGENT_LEASE, type ManagedCluster } from '@flotilla/api/ocm';
import type { WatchCache } from '@flotilla/runtime';
import type { RegistrationCaches } from '../caches.ts';
import { isInOrder } from '../trims.ts';
import type { AccessObject } from './access.ts';

/** Caches of a registration. */
export interface ObserveDeps {
  readonly clusters: WatchCache<ManagedCluster>;
  readonly caches: RegistrationCaches;
}

/** Facts about one spoke. */
interface ObservedSpoke {
  /** Undefined for a spoke whose ManagedCluster is deleted, or being deleted. */
  readonly cluster: ManagedCluster | undefined;
  /** Last renewal of its Lease by the clock of the hub's server; undefined without one. */
  readonly renewTime: string | undefined;
  /** True when the hub has an access object as it has to be. */
  readonly isInOrder: (wanted: AccessObject) => boolean;
}

/** Gathers the facts about one spoke. */
export function observeSpoke(name: string, { clusters, caches }: ObserveDeps): ObservedSpoke {
  const cluster = clusters.get({ name });
  const lease = caches.leases.get({ namespace: name, name: AGENT_LEASE });
  return {
    cluster: cluster?.metadata.deletionTimestamp ? undefined : cluster,
    renewTime: lease?.spec?.renewTime ?? undefined,
    isInOrder: ({ kind, object }) => {
      if (kind === Namespace) return isInOrder(caches.namespaces.get({ name }));
      return kind === Lease ? lease !== undefined : isInOrder(caches.access.get(kind.plural)?.get(object.metadata));
    },
  };
}
