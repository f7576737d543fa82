/** Caches that decide the reach of each namespace on a hub with tenants. */
import { ManagedClusterSet, ManagedClusterSetBinding } from '@flotilla/api/ocm';
import { decidingLabels, judgeTenancy, type Tenancy } from '@flotilla/rollout';
import { type Client, WatchCache, type WatchSurroundings } from '@flotilla/runtime';

/** Index of bindings of cluster sets by their namespace. */
const BY_NAMESPACE = 'namespace';

/** Caches of cluster sets; absent ones let every namespace reach everything. */
export interface TenancyCaches {
  readonly clusterSets?: WatchCache<ManagedClusterSet> | undefined;
  readonly clusterSetBindings?: WatchCache<ManagedClusterSetBinding, typeof BY_NAMESPACE> | undefined;
}

/** Creates the caches. A hub without the kinds lets no namespace reach any cluster. */
export function tenancyCaches(client: Client, shared: WatchSurroundings): Required<TenancyCaches> {
  const indexes = { [BY_NAMESPACE]: ({ metadata }: ManagedClusterSetBinding) => [metadata.namespace ?? ''] };
  return {
    clusterSets: new WatchCache(client, ManagedClusterSet, { ...shared, optional: true }),
    clusterSetBindings: new WatchCache(client, ManagedClusterSetBinding, { ...shared, optional: true, indexes }),
  };
}

/** Reach of a namespace's upgrades; undefined on a hub without tenants. */
export function tenancyOf(namespace: string, caches: TenancyCaches): Tenancy | undefined {
  const { clusterSets, clusterSetBindings } = caches;
  if (!clusterSets || !clusterSetBindings) return undefined;
  const bindings = clusterSetBindings.byIndex(BY_NAMESPACE, namespace);
  return judgeTenancy(namespace, bindings, (name) => clusterSets.get({ name }), decidingLabelsOf(caches));
}

/** Labels that no upgrade may edit; undefined on a hub without tenants. */
export const decidingLabelsOf = ({ clusterSets, clusterSetBindings }: TenancyCaches): ReadonlySet<string> | undefined =>
  clusterSets && clusterSetBindings && decidingLabels(clusterSetBindings.list(), (name) => clusterSets.get({ name }));
