import { FlotillaError, type Ref } from '@flotilla/api';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { type Client, WatchCache } from '@flotilla/runtime';

/** How an upgrade is followed. */
export interface FollowUpgradeOptions {
  /** Called with every state; what it was followed for has come when it returns true. */
  readonly onChange: (upgrade: ClusterGroupUpgrade) => boolean;
  /** What it is that did not come, for the error. */
  readonly explain: (upgrade: ClusterGroupUpgrade | undefined) => string;
  /** Milliseconds until it is given up. */
  readonly withinMs: number;
  readonly signal: AbortSignal;
}

/** Watches a ClusterGroupUpgrade until what is waited for has come. Throws `FLOTILLA_DEMO_TIMEOUT` with its conditions when it does not. */
export async function followUpgrade(client: Client, ref: Required<Ref>, options: FollowUpgradeOptions): Promise<ClusterGroupUpgrade> {
  const { onChange, explain, withinMs, signal } = options;
  const stop = new AbortController();
  const limit = AbortSignal.timeout(withinMs);
  const cache = new WatchCache(client, ClusterGroupUpgrade, { namespace: ref.namespace });
  const ended = Promise.withResolvers<ClusterGroupUpgrade>();
  cache.subscribe(() => {
    const upgrade = cache.get(ref);
    if (upgrade && onChange(upgrade)) ended.resolve(upgrade);
  });
  const giveUp = () => {
    const upgrade = cache.get(ref);
    const conditions = (upgrade?.status?.conditions ?? []).map(({ type, status, message }) => `${type}=${status}: ${message}`);
    const message = `${explain(upgrade)} within ${withinMs / 1000} s: ${conditions.join('; ')}`;
    ended.reject(new FlotillaError('FLOTILLA_DEMO_TIMEOUT', message));
  };
  const interrupt = () => ended.reject(signal.reason);
  limit.addEventListener('abort', giveUp, { once: true });
  signal.addEventListener('abort', interrupt, { once: true });
  try {
    cache.start(stop.signal);
    return await ended.promise;
  } finally {
    stop.abort();
    limit.removeEventListener('abort', giveUp);
    signal.removeEventListener('abort', interrupt);
  }
}
