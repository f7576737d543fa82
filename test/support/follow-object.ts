import { FlotillaError, type KubeObject, type Ref, type Resource } from '@flotilla/api';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { type Client, WatchCache } from '@flotilla/runtime';

/** How an object is followed. */
interface FollowOptions<T extends KubeObject> {
  /** Called with every state; what it was followed for has come when it returns true. */
  readonly onChange: (object: T) => boolean;
  /** What it is that did not come, for the error. */
  readonly explain: (object: T | undefined) => string;
  /** Milliseconds until it is given up. */
  readonly withinMs: number;
  readonly signal: AbortSignal;
}

/** Watches an object until what is waited for has come. Throws `FLOTILLA_DEMO_TIMEOUT` with what `explain` says when it does not. */
export async function followObject<T extends KubeObject>(
  client: Client,
  kind: Resource<T>,
  ref: Ref,
  { onChange, explain, withinMs, signal }: FollowOptions<T>,
): Promise<T> {
  const stop = new AbortController();
  const limit = AbortSignal.timeout(withinMs);
  const cache = new WatchCache(client, kind, {
    ...(ref.namespace !== undefined && { namespace: ref.namespace }),
    fieldSelector: `metadata.name=${ref.name}`,
    optional: true,
    absentRetryMs: 500,
  });
  const ended = Promise.withResolvers<T>();
  cache.subscribe(() => {
    const object = cache.get(ref);
    if (object && onChange(object)) ended.resolve(object);
  });
  const giveUp = () => ended.reject(new FlotillaError('FLOTILLA_DEMO_TIMEOUT', `within ${withinMs / 1000} s ${explain(cache.get(ref))}`));
  const interrupt = () => ended.reject(signal.reason);
  limit.addEventListener('abort', giveUp, { once: true });
  signal.addEventListener('abort', interrupt, { once: true });
  try {
    signal.throwIfAborted();
    cache.start(stop.signal);
    return await ended.promise;
  } finally {
    stop.abort();
    await cache.stopped();
    limit.removeEventListener('abort', giveUp);
    signal.removeEventListener('abort', interrupt);
  }
}

/** Watches a ClusterGroupUpgrade until what is waited for has come. Throws `FLOTILLA_DEMO_TIMEOUT` with its conditions when it does not. */
export function followUpgrade(
  client: Client,
  ref: Required<Ref>,
  { explain, ...options }: FollowOptions<ClusterGroupUpgrade>,
): Promise<ClusterGroupUpgrade> {
  const explainAll = (upgrade: ClusterGroupUpgrade | undefined): string => {
    const conditions = (upgrade?.status?.conditions ?? []).map(({ type, status, message }) => `${type}=${status}: ${message}`);
    return `${explain(upgrade)}: ${conditions.join('; ')}`;
  };
  return followObject(client, ClusterGroupUpgrade, ref, { ...options, explain: explainAll });
}
