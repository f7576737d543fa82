import { type ClusterProxy, CONFIG_NAME } from '@flotilla/api/config';
import { ConfigMap } from '@flotilla/api/core';
import { FollowingConnections, type ProxySettings } from '@flotilla/http';
import { type Client, WatchCache, watch } from '@flotilla/runtime';
import type { UpdateSettings } from './known-updates.ts';
import { type MonitoringSource, openMonitoring } from './prometheus.ts';
import { startUpdates, type Updates, type UpdatesDeps } from './reconciler.ts';

/** Services that know updates and their risks. */
export interface UpdateSources extends UpdateSettings, MonitoringSource {
  /** Time-out of one request to the service. */
  readonly timeoutMs: number;
  /** Between two requests. */
  readonly everyMs: number;
}

interface ClusterUpdatesOptions extends Omit<UpdatesDeps, 'watches' | 'settings' | 'service' | 'monitoring' | 'everyMs'> {
  readonly client: Client;
  readonly proxies: WatchCache<ClusterProxy>;
  readonly sources: UpdateSources;
}

const TRUSTED_CA = { namespace: 'openshift-config-managed', name: 'trusted-ca-bundle' };
/** Finds a cluster's updates, through the proxy and with the authorities that the cluster is set up with. */
export function startClusterUpdates({ client, proxies, sources, ...deps }: ClusterUpdatesOptions, signal: AbortSignal): Updates {
  const { logger, metrics, clock } = deps;
  const authorities = new WatchCache(client, ConfigMap, {
    namespace: TRUSTED_CA.namespace,
    fieldSelector: `metadata.name=${TRUSTED_CA.name}`,
    logger,
    metrics,
    clock,
  });
  const outside = new FollowingConnections(() => ({
    proxy: proxyOf(proxies.get({ name: CONFIG_NAME })),
    ca: authorities.get(TRUSTED_CA)?.data?.['ca-bundle.crt'],
  }));
  const monitoring = openMonitoring(sources, { clock });
  // a changed way to the service has nobody asked sooner, because the known updates stay known
  const quiet = { select: () => false };
  const updates = startUpdates(
    {
      ...deps,
      watches: [watch(proxies, quiet), watch(authorities, quiet)],
      settings: sources,
      service: { connections: outside, timeoutMs: sources.timeoutMs },
      monitoring,
      everyMs: sources.everyMs,
    },
    signal,
  );
  const stopped = updates.stopped.then(async () => {
    await outside[Symbol.asyncDispose]();
    await monitoring[Symbol.asyncDispose]();
  });
  return { ...updates, stopped };
}

/** The proxies that a cluster is set up with. */
export function proxyOf(proxy: ClusterProxy | undefined): ProxySettings | undefined {
  const { httpProxy: http, httpsProxy: https, noProxy: no } = proxy?.status ?? {};
  return http || https ? { http, https, no } : undefined;
}

/** Milliseconds between two requests, drawn once by each program: clusters that start together do not ask together. */
export const drawInterval = (random: () => number = Math.random): number => Math.round(120_000 * (1 + random()));
