/** Where a reconciler's keys come from. */

import { isSameJson, type KubeObject, refKey } from '@flotilla/api';
import type { Change } from './object-store.ts';
import type { WatchCache } from './watch-cache.ts';

/** Has a key reconciled, at once or in so many milliseconds; the earliest of several wins. */
type Enqueue = (key: string, afterMs?: number) => void;

/** A source of keys: a cache whose changes concern some (`watch`), or anything else (`createChannel`). */
export interface Watch {
  /** Enqueues from now on, and for what is there already; returns the way to end it. */
  attach(enqueue: Enqueue): () => void;
  /** Begins to read; resolves when all is read that was there. Rejects when stopped before. */
  start(signal: AbortSignal): Promise<void>;
  /** Resolves when a cache that `start` began has ended. */
  stopped(): Promise<void>;
}

/** Selection of a kind's changes, and the keys that each enqueues. */
interface WatchRule<T extends KubeObject> {
  /** Whether a change matters at all; default every one. An object that was there before counts as one without `previous`. */
  readonly select?: (change: Change<T>) => boolean;
  /** The keys it concerns, or the objects whose keys they are (as an index finds them); default the object's own. */
  readonly enqueue?: (change: Change<T>) => Iterable<string | KubeObject>;
  /** Gathers changes that come together for so many milliseconds; default 0. */
  readonly gatherMs?: number | ((change: Change<T>) => number);
  /** Enqueues for the objects that are there at the start; default true. */
  readonly isInitial?: boolean;
}

/** Selects changes of these facts, and the arrival and end of an object. */
export const whenChanged =
  <T>(facts: (object: T) => unknown) =>
  ({ type, object, previous }: Change<T>): boolean =>
    type === 'deleted' || !previous || !isSameJson(facts(object), facts(previous));

/** Watches a cache. Several may watch the same: it is read once, by whoever starts first. */
export function watch<T extends KubeObject>(cache: WatchCache<T>, rule: WatchRule<T> = {}): Watch {
  const { select, enqueue: concerned = ({ object }) => [object], gatherMs = 0, isInitial = true } = rule;
  const delayOf = typeof gatherMs === 'number' ? () => gatherMs : gatherMs;
  const keysOf = (change: Change<T>): string[] =>
    select && !select(change) ? [] : Array.from(concerned(change), (one) => (typeof one === 'string' ? one : refKey(one.metadata)));
  let owned = false;
  return {
    attach(enqueue) {
      const detach = cache.subscribe((change) => {
        for (const key of keysOf(change)) enqueue(key, delayOf(change));
      });
      const there = (isInitial ? cache.list() : []).map((object): Change<T> => ({ type: 'set', object }));
      const delays = new Map(there.flatMap((change) => keysOf(change).map((key) => [key, delayOf(change)])));
      for (const [key, delay] of delays) enqueue(key, delay);
      return detach;
    },
    start(signal) {
      owned = cache.start(signal) || owned;
      return cache.synced();
    },
    stopped: () => (owned ? cache.stopped() : Promise.resolve()),
  };
}

/** Keys from elsewhere: a timer, another reconciler, a request. */
export interface Channel extends Watch {
  /** A key that is enqueued before a reconciler watches the channel waits for it. */
  readonly enqueue: Enqueue;
}

/** A channel for one reconciler. */
export function createChannel(): Channel {
  const waiting = new Map<string, number | undefined>();
  let to: Enqueue | undefined;
  return {
    enqueue(key, afterMs) {
      if (to) to(key, afterMs);
      else waiting.set(key, Math.min(afterMs ?? 0, waiting.get(key) ?? Number.POSITIVE_INFINITY));
    },
    attach(enqueue) {
      to = enqueue;
      for (const [key, afterMs] of waiting) enqueue(key, afterMs);
      waiting.clear();
      return () => {
        to = undefined;
      };
    },
    start: () => Promise.resolve(),
    stopped: () => Promise.resolve(),
  };
}
