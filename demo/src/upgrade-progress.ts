import {
  ClusterGroupUpgrade,
  FlotillaError,
  isFinalPrecacheState,
  type PrecacheProgress,
  type PrecacheState,
  type Ref,
} from '@flotilla/api';
import { type Client, WatchCache } from '@flotilla/runtime';

/** What the ClusterGroupUpgrade says of one spoke. */
export interface SpokeProgress {
  readonly name: string;
  readonly state: PrecacheState;
  readonly progress: PrecacheProgress | undefined;
  readonly message: string | undefined;
}

/** How an upgrade is followed. */
export interface FollowOptions {
  /** Names of the spokes that are to end. */
  readonly spokes: readonly string[];
  /** Called after every change of the status. */
  readonly onChange?: (spokes: readonly SpokeProgress[]) => void;
  /** Milliseconds until it is given up. */
  readonly withinMs: number;
  readonly signal: AbortSignal;
}

/**
 * Follows the status of a ClusterGroupUpgrade until the pre-caching of every spoke has ended, well or badly, and the
 * upgrade itself says so. Throws `FLOTILLA_DEMO_TIMEOUT` with the last state.
 */
export async function followPrecaching(client: Client, ref: Required<Ref>, options: FollowOptions): Promise<SpokeProgress[]> {
  const stop = new AbortController();
  const limit = AbortSignal.timeout(options.withinMs);
  const cache = new WatchCache(client, ClusterGroupUpgrade, { namespace: ref.namespace });
  const ended = Promise.withResolvers<SpokeProgress[]>();
  const read = () => readProgress(cache.get(ref), options.spokes);
  cache.subscribe(() => {
    const spokes = read();
    options.onChange?.(spokes);
    if (spokes.every(({ state }) => isFinalPrecacheState(state)) && saysEnded(cache.get(ref))) ended.resolve(spokes);
  });
  const giveUp = () => ended.reject(new FlotillaError('FLOTILLA_DEMO_TIMEOUT', explain(read(), cache.get(ref), options.withinMs)));
  limit.addEventListener('abort', giveUp, { once: true });
  const interrupt = () => ended.reject(options.signal.reason);
  options.signal.addEventListener('abort', interrupt, { once: true });
  try {
    cache.start(stop.signal);
    return await ended.promise;
  } finally {
    stop.abort();
    limit.removeEventListener('abort', giveUp);
    options.signal.removeEventListener('abort', interrupt);
  }
}

function readProgress(upgrade: ClusterGroupUpgrade | undefined, spokes: readonly string[]): SpokeProgress[] {
  const precaching = upgrade?.status?.precaching;
  return spokes.map((name) => ({
    name,
    state: precaching?.status?.[name] ?? 'NotStarted',
    progress: precaching?.progress?.[name],
    message: precaching?.messages?.[name],
  }));
}

/** The condition has left `InProgress`: the roll-up was written. */
function saysEnded(upgrade: ClusterGroupUpgrade | undefined): boolean {
  const condition = upgrade?.status?.conditions?.find(({ type }) => type === 'PrecachingSuceeded');
  return condition !== undefined && condition.reason !== 'InProgress';
}

function explain(spokes: readonly SpokeProgress[], upgrade: ClusterGroupUpgrade | undefined, withinMs: number): string {
  const states = spokes.map(({ name, state, message }) => `${name} is ${state}${message ? ` (${message})` : ''}`);
  const conditions = (upgrade?.status?.conditions ?? []).map(({ type, status, message }) => `${type}=${status}: ${message}`);
  return `pre-caching did not end within ${withinMs / 1000} s: ${[...states, ...conditions].join('; ')}`;
}
