import { readFileSync } from 'node:fs';
import { type ClusterProxy, type ClusterVersion, CONFIG_NAME } from '@flotilla/api/config';
import { ConfigMap } from '@flotilla/api/core';
import { FollowingConnections, type ProxySettings } from '@flotilla/http';
import { type Client, type Clock, type Logger, type Metrics, type ReconcilerOptions, WatchCache, watch } from '@flotilla/runtime';
import type { RunningRelease, UpdateSettings } from './known-updates.ts';
import { startUpdates, type Updates } from './reconciler.ts';

/** Where updates and their risks are asked for. */
export interface UpdateSources extends UpdateSettings {
  /** Of one request to the service. */
  readonly timeoutMs: number;
  /** Between two requests. */
  readonly everyMs: number;
  /** Monitoring, without the path of a query. */
  readonly monitoringUrl: string;
  /** File with the token that monitoring wants. */
  readonly monitoringTokenFile?: string | undefined;
  /** File with the authorities of monitoring's certificate. */
  readonly monitoringCaFile?: string | undefined;
}

/** What of a cluster updates are found in. */
interface ClusterUpdatesOptions {
  readonly client: Client;
  readonly versions: WatchCache<ClusterVersion>;
  readonly onTrouble: ReconcilerOptions['onTrouble'];
  readonly proxies: WatchCache<ClusterProxy>;
  readonly running: () => RunningRelease | undefined;
  readonly sources: UpdateSources;
  /** Whether alerts are asked for, too. */
  readonly asksAlerts: () => boolean;
  /** Called when what is known has changed. */
  readonly onChange: () => void;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
  readonly clock: Clock;
}

const TRUSTED_CA = { namespace: 'openshift-config-managed', name: 'trusted-ca-bundle' };
/** Monitoring is asked at a pace; a question that takes longer is given up. */
const MONITORING_MS = 300_000;

/** Finds a cluster's updates, through the proxy and with the authorities that the cluster is set up with. */
export function startClusterUpdates(options: ClusterUpdatesOptions, signal: AbortSignal): Updates {
  const { client, versions, proxies, running, sources, asksAlerts, onChange, onTrouble, logger, metrics, clock } = options;
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
  const inside = new FollowingConnections(() => ({ ca: textOf(sources.monitoringCaFile) }));
  // what was known is known: another way to the service has nobody asked sooner
  const quiet = { select: () => false };
  const updates = startUpdates(
    {
      versions,
      onTrouble,
      watches: [watch(proxies, quiet), watch(authorities, quiet)],
      running,
      settings: sources,
      service: { connections: outside, timeoutMs: sources.timeoutMs },
      monitoring: {
        url: sources.monitoringUrl,
        tokenFile: sources.monitoringTokenFile,
        connections: inside,
        timeoutMs: MONITORING_MS,
      },
      asksAlerts,
      everyMs: sources.everyMs,
      onChange,
      logger,
      metrics,
      clock,
    },
    signal,
  );
  return {
    get hasSynced() {
      return updates.hasSynced;
    },
    known: updates.known,
    freshAtMs: updates.freshAtMs,
    lookAgain: updates.lookAgain,
    stopped: updates.stopped.then(async () => {
      await outside[Symbol.asyncDispose]();
      await inside[Symbol.asyncDispose]();
    }),
  };
}

/** The proxies that a cluster is set up with. */
export function proxyOf(proxy: ClusterProxy | undefined): ProxySettings | undefined {
  const { httpProxy: http, httpsProxy: https, noProxy: no } = proxy?.status ?? {};
  return http || https ? { http, https, no } : undefined;
}

/** A file that is read anew each time, as certificates are renewed; one that is not there trusts nobody beside the system's. */
function textOf(path: string | undefined): string | undefined {
  try {
    return path === undefined ? undefined : readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Milliseconds between two requests, drawn once by each program: clusters that start together do not ask together. */
export const drawInterval = (random: () => number = Math.random): number => Math.round(120_000 * (1 + random()));
