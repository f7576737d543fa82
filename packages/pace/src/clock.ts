/** Time as a dependency, so that tests control it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `fn` once, not earlier than `ms` from now; disposing cancels. Any length is allowed. */
  setTimer(ms: number, fn: () => void): Disposable;
}

/** Longest time-out of Node in milliseconds, about 596 hours; it may fire a millisecond early. A longer one fires at once. */
export const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** Clock of the machine. Timers keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(ms, fn) {
    const at = performance.now() + ms;
    let timer: NodeJS.Timeout;
    const arm = (): void => {
      const left = Math.ceil(at - performance.now());
      if (left <= 0) fn();
      else timer = setTimeout(arm, Math.min(left, MAX_TIMEOUT_MS));
    };
    timer = setTimeout(arm, Math.min(Math.max(0, Math.ceil(ms)), MAX_TIMEOUT_MS));
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};

/** Resolves after `ms`, or at once when the signal aborts (callers check it). */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      timer[Symbol.dispose]();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = clock.setTimer(ms, done);
    signal?.addEventListener('abort', done, { once: true });
  });
}

/** Delays after failures in a row. */
export interface BackOff {
  /** Longest delay after the first failure, in milliseconds. */
  readonly baseMs: number;
  /** Longest delay of all in milliseconds, with jitter. */
  readonly maxMs: number;
  /** Fixed share of a delay; the rest is jitter, so that many do not return at once. Default 0.5; 1 for no jitter. */
  readonly floor?: number;
}

/**
 * Delay after the n-th failure in a row (from 1): doubles each time, up to the longest.
 * @param random in [0, 1)
 */
export function backOffMs({ baseMs, maxMs, floor = 0.5 }: BackOff, failures: number, random: () => number = Math.random): number {
  const full = Math.min(maxMs, baseMs * 2 ** Math.min(30, Math.max(0, failures - 1)));
  return floor >= 1 ? full : full * (floor + (1 - floor) * random());
}

/** The earliest of times, or the shortest of spans, in milliseconds; undefined when none is known. */
export const earliest = (...times: readonly (number | undefined)[]): number | undefined => {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
};
