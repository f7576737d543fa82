import { CLUSTER_VERSION_NAME, ClusterOperator, ClusterVersion } from '@flotilla/api/config';
import { OPERATOR_NAMESPACE, UPGRADE_CONFIG_NAME, UpgradeConfig } from '@flotilla/api/managed';
import { type Client, WatchCache } from '@flotilla/runtime';
import type { SpokeSite } from '../fleet.ts';
import { newsOf } from './upgrade-news.ts';

/** How the upgrade of a spoke is followed. */
export interface SpokeUpgradeOptions {
  /** Version that it goes to. */
  readonly version: string;
  /** Told each thing once, in the order in which it comes. */
  readonly onNews: (news: string) => void;
}

/** A spoke that is followed. */
export interface SpokeUpgrade extends AsyncDisposable {
  /** Resolves when the link was cut, and to what could not be done otherwise. */
  readonly linkCut: Promise<void>;
  /** Resolves when the upgrade has ended and the link is up again. */
  readonly ended: Promise<void>;
}

const OPERATOR = { namespace: OPERATOR_NAMESPACE, name: UPGRADE_CONFIG_NAME };

/**
 * Follows the managed upgrade of a spoke through its own API server. Its link is cut when the UpgradeConfig arrives, and comes back when the
 * upgrade has ended, well or badly: what it takes is what is there.
 */
export function upgradeWithoutLink(spoke: SpokeSite, { version, onNews }: SpokeUpgradeOptions): SpokeUpgrade {
  const stop = new AbortController();
  const cut = Promise.withResolvers<void>();
  const caches = watchSpoke(spoke.client);
  const told = new Set<string>();
  const ended = Promise.withResolvers<void>();
  let isCutting = false;
  const look = (): void => {
    const upgradeConfig = caches.upgradeConfigs.get(OPERATOR);
    const clusterVersion = caches.clusterVersions.get({ name: CLUSTER_VERSION_NAME });
    for (const news of newsOf({ upgradeConfig, clusterVersion, operators: caches.operators.list() }, version)) {
      if (!told.has(news)) onNews(news);
      told.add(news);
    }
    if (upgradeConfig?.spec.desired.version !== version) return;
    if (!isCutting) cut.resolve(spoke.cutLink().then(() => onNews('the link is cut')));
    isCutting = true;
    const entry = upgradeConfig.status?.history?.find((one) => one.version === version);
    if (entry?.phase === 'Upgraded' || entry?.phase === 'Failed') ended.resolve(cut.promise);
  };
  for (const cache of Object.values(caches)) {
    cache.subscribe(look);
    cache.start(stop.signal);
  }
  // Whoever waits for them gets their failures.
  cut.promise.catch(() => undefined);
  const restored = ended.promise.then(() => spoke.restoreLink()).then(() => onNews('the link is up again'));
  restored.catch(() => undefined);
  return {
    linkCut: cut.promise,
    ended: restored,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.all(Object.values(caches).map((cache) => cache.stopped()));
    },
  };
}

const watchSpoke = (client: Client) => ({
  upgradeConfigs: new WatchCache(client, UpgradeConfig, { namespace: OPERATOR_NAMESPACE }),
  clusterVersions: new WatchCache(client, ClusterVersion, {}),
  operators: new WatchCache(client, ClusterOperator, {}),
});
