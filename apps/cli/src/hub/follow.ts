import type { KubeObject, Ref, Resource } from '@flotilla/api';
import { ApiError, type Client, pause, RuntimeErrorCode, systemClock } from '@flotilla/runtime';

/** Between the end of one watch and the next list. */
const LOOK_AGAIN_MS = 500;
/** A server that restarts is away for minutes; one that stays away is told. */
const AWAY_MS = 5 * 60_000;

/**
 * Each version of one object, the present one first and undefined where there is none, until the signal ends it. Throws what a server answers that was
 * never there, that stays away for five minutes, or that is away when the time of the signal is up.
 */
export async function* follow<T extends KubeObject>(
  client: Pick<Client, 'list' | 'watch'>,
  kind: Resource<T>,
  { namespace, name }: Ref,
  signal: AbortSignal,
): AsyncGenerator<T | undefined> {
  const selector = { namespace, fieldSelector: `metadata.name=${name}`, signal };
  let isFound = false;
  let away: { readonly since: number; readonly error: unknown } | undefined;
  // Again and again: a server ends each watch after some minutes, and a connection may be lost at any time.
  while (!signal.aborted) {
    try {
      const { items, resourceVersion } = await client.list(kind, selector);
      isFound = true;
      away = undefined;
      yield items[0];
      for await (const event of client.watch(kind, { ...selector, resourceVersion }))
        if (event.type !== 'BOOKMARK') yield event.type === 'DELETED' ? undefined : event.object;
    } catch (error) {
      if (signal.aborted) break;
      away = { since: away?.since ?? systemClock.now(), error };
      if (!isFound || !isAway(error) || systemClock.now() - away.since > AWAY_MS) throw error;
    }
    await pause(systemClock, LOOK_AGAIN_MS, signal);
  }
  if (away && isTimeUp(signal)) throw away.error;
}

const AWAY: ReadonlySet<string> = new Set([
  RuntimeErrorCode.unreachable,
  // One that has worked before may need the network.
  RuntimeErrorCode.execPlugin,
  RuntimeErrorCode.timeout,
  RuntimeErrorCode.unavailable,
  // A version that is too old is listed again; a server that starts asks for time.
  RuntimeErrorCode.expired,
  RuntimeErrorCode.throttled,
]);

const isAway = (error: unknown): boolean => error instanceof ApiError && AWAY.has(error.code);

/** A stop by hand needs no reason. */
const isTimeUp = ({ reason }: AbortSignal): boolean => reason instanceof DOMException && reason.name === 'TimeoutError';
