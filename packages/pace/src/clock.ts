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
