import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { WatchCache } from '@flotilla/runtime';
import { runningVersions, UPGRADES } from './gateway.ts';
import type { OcmWorld } from './ocm-world.ts';

/** That an upgrade called a cluster done, and what ran there at that moment. */
interface Claim {
  readonly cluster: string;
  /** As `runningVersions` tells it. */
  readonly versions: readonly string[];
}

/** Hears every cluster being called done by one upgrade. */
export interface Claims extends AsyncDisposable {
  /** In the order in which they came; waits for those that are being looked at. */
  all(): Promise<Claim[]>;
}

/** Watches an upgrade from before its creation, and asks the spoke itself as soon as the upgrade calls it done. */
export function hearClaims({ hub, spokes }: OcmWorld, upgrade: string): Claims {
  const stop = new AbortController();
  const heard = new Map<string, Promise<Claim>>();
  const cache = new WatchCache(hub.client, ClusterGroupUpgrade, { namespace: UPGRADES });
  cache.subscribe(({ type, object }) => {
    if (type !== 'set' || object.metadata.name !== upgrade) return;
    for (const cluster of doneIn(object)) {
      const spoke = spokes.find(({ name }) => name === cluster);
      if (!spoke || heard.has(cluster)) continue;
      const look = runningVersions(spoke.client).then((versions) => ({ cluster, versions }));
      // Whoever asks for all of them gets the failure.
      look.catch(() => undefined);
      heard.set(cluster, look);
    }
  });
  cache.start(stop.signal);
  return {
    all: () => Promise.all(heard.values()),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await cache.stopped();
    },
  };
}

/** Clusters whose part has ended well, or whose progress says so within the batch. */
function doneIn({ status }: ClusterGroupUpgrade): string[] {
  const recorded = (status?.clusters ?? []).filter(({ state }) => state === 'complete').map(({ name }) => name);
  const progress = Object.entries(status?.status.currentBatchRemediationProgress ?? {});
  return [...recorded, ...progress.filter(([, { state }]) => state === 'Completed').map(([name]) => name)];
}
