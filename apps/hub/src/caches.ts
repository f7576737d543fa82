import { ConfigMap } from '@flotilla/api/core';
import { ManagedCluster, Policy } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, OVERRIDES_CONFIG_MAP, PreCachingConfig } from '@flotilla/api/ran';
import { CHILD_POLICIES, NAME_LABEL, trimChild } from '@flotilla/rollout';
import { type Client, type Logger, WatchCache, type WatchSurroundings } from '@flotilla/runtime';
import { BY_CLUSTER, BY_NAME, BY_NAME_LABEL } from './indexes.ts';
import { placementCaches } from './placements/caches.ts';
import { policyWayCaches } from './placements/user-placements.ts';
import { templateCache } from './spokes/rollout/caches.ts';
import { upgradeLabelIndexes } from './spokes/rollout/part.ts';
import { transportCaches } from './spokes/transports/caches.ts';
import { upgradeIndexes } from './spokes/transports/port/caches.ts';
import { withWholeStatus } from './stored-upgrade.ts';
import { tenancyCaches } from './tenancy-caches.ts';
import { trimReport } from './trim-cluster.ts';
import { watchIndexes } from './upgrades/watches.ts';

/**
 * Creates the watches of steps, for every process that runs them.
 * @param tenancy watch the reach of each namespace too
 * @param registers keep the clusters' reports: registration trims them
 */
export function createWorkerCaches(client: Client, shared: WatchSurroundings, tenancy = false, registers = false) {
  return {
    upgrades: new WatchCache(client, ClusterGroupUpgrade, {
      ...shared,
      transform: withWholeStatus,
      indexes: { ...upgradeIndexes, ...upgradeLabelIndexes, ...watchIndexes },
    }),
    // An API server that has lost the kind must not look like an empty fleet: that would revoke every agent.
    clusters: new WatchCache(client, ManagedCluster, {
      ...shared,
      optional: 'until-served',
      ...(!registers && { transform: trimReport }),
      indexes: { [BY_NAME_LABEL]: ({ metadata }: ManagedCluster) => [metadata.labels?.[NAME_LABEL] ?? ''] },
    }),
    configs: new WatchCache(client, PreCachingConfig, shared),
    ...transportCaches(client, shared),
    templates: templateCache(client, shared),
    ...(tenancy && tenancyCaches(client, shared)),
  };
}

/**
 * Creates all watches of the leader.
 * @param tenancy as for workers
 */
export function createCaches(client: Client, shared: WatchSurroundings, tenancy = false, registers = false) {
  const byCluster = { [BY_CLUSTER]: ({ metadata }: Policy) => [metadata.namespace ?? ''] };
  return {
    ...createWorkerCaches(client, shared, tenancy, registers),
    ...placementCaches(client, shared),
    ...policyWayCaches(client, shared),
    overrides: new WatchCache(client, ConfigMap, { ...shared, fieldSelector: `metadata.name=${OVERRIDES_CONFIG_MAP}` }),
    parents: new WatchCache(client, Policy, {
      ...shared,
      labelSelector: `!${CHILD_POLICIES}`,
      indexes: { [BY_NAME]: ({ metadata }: Policy) => [metadata.name] },
      optional: true,
    }),
    children: new WatchCache(client, Policy, {
      ...shared,
      labelSelector: CHILD_POLICIES,
      transform: trimChild,
      indexes: byCluster,
      optional: true,
    }),
  };
}

/** Starts the watches and waits for the first list of each. */
export async function fillCaches(caches: ReturnType<typeof createWorkerCaches>, logger: Logger, signal: AbortSignal): Promise<void> {
  for (const cache of Object.values(caches)) cache.start(signal);
  await Promise.all(Object.values(caches).map((cache) => cache.synced()));
  logger.info({ upgrades: caches.upgrades.size, clusters: caches.clusters.size, views: caches.views.size }, 'Caches are filled');
}
