import { FlotillaError } from '@flotilla/api';
import { CLUSTER_VERSION_NAME, ClusterOperator, ClusterVersion } from '@flotilla/api/config';
import { OPERATOR_NAMESPACE, UPGRADE_CONFIG_NAME, UpgradeConfig } from '@flotilla/api/managed';
import { type Client, WatchCache } from '@flotilla/runtime';
import type { SpokeSite } from '../fleet.ts';
import { newsOf } from './upgrade-news.ts';

/** How the upgrade of a spoke is followed. */
interface SpokeUpgradeOptions {
  /** Version that it goes to. */
  readonly version: string;
  /** Told each thing once, in the order in which it comes. */
  readonly onNews: (news: string) => void;
}

/** A spoke that is followed. Its end waits for a link that is being cut or restored, and for what is told of that. */
interface SpokeUpgrade extends AsyncDisposable {
  /** Never resolves. Rejects when the upgrade was given up (`FLOTILLA_DEMO_ROLLOUT`), or the link could not be cut or restored. */
  readonly broken: Promise<never>;
}

const OPERATOR = { namespace: OPERATOR_NAMESPACE, name: UPGRADE_CONFIG_NAME };

/**
 * Follows the managed upgrade of a spoke through its own API server. Its link is cut when the UpgradeConfig arrives, and comes back when the
 * upgrade has ended, well or badly: what it takes is what is there.
 */
export function upgradeWithoutLink(
  spoke: Pick<SpokeSite, 'name' | 'client' | 'cutLink' | 'restoreLink'>,
  { version, onNews }: SpokeUpgradeOptions,
): SpokeUpgrade {
  const stop = new AbortController();
  const caches = watchSpoke(spoke.client);
  const broken = Promise.withResolvers<never>();
  // Whoever waits for it gets the failure.
  broken.promise.catch(() => undefined);
  const told = new Set<string>();
  let cut: Promise<void> | undefined;
  let ended: Promise<void> | undefined;
  const look = (): void => {
    const upgradeConfig = caches.upgradeConfigs.get(OPERATOR);
    const clusterVersion = caches.clusterVersions.get({ name: CLUSTER_VERSION_NAME });
    for (const news of newsOf({ upgradeConfig, clusterVersion, operators: caches.operators.list() }, version)) {
      if (!told.has(news)) onNews(news);
      told.add(news);
    }
    if (upgradeConfig?.spec.desired.version !== version) return;
    cut ??= cutLink();
    const phase = upgradeConfig.status?.history?.find((one) => one.version === version)?.phase;
    if (phase === 'Upgraded' || phase === 'Failed') ended ??= end(cut, phase).catch(broken.reject);
  };
  const cutLink = async (): Promise<void> => {
    try {
      await spoke.cutLink();
      onNews('the link is cut');
    } catch (error) {
      broken.reject(error);
    }
  };
  const end = async (isCut: Promise<void>, phase: 'Upgraded' | 'Failed'): Promise<void> => {
    await isCut;
    await spoke.restoreLink();
    onNews('the link is up again');
    if (phase === 'Failed') throw new FlotillaError('FLOTILLA_DEMO_ROLLOUT', `${spoke.name} has given up its upgrade to ${version}`);
  };
  for (const cache of Object.values(caches)) {
    cache.subscribe(look);
    cache.start(stop.signal);
  }
  return {
    broken: broken.promise,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.all(Object.values(caches).map((cache) => cache.stopped()));
      await (ended ?? cut);
    },
  };
}

const watchSpoke = (client: Client) => ({
  upgradeConfigs: new WatchCache(client, UpgradeConfig, { namespace: OPERATOR_NAMESPACE }),
  clusterVersions: new WatchCache(client, ClusterVersion, {}),
  operators: new WatchCache(client, ClusterOperator, {}),
});
