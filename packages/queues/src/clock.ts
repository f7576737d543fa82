/** Time as a dependency; the clock of `@flotilla/runtime` is such a one. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `fn` once, not earlier than `ms` from now; disposing cancels. */
  setTimer(ms: number, fn: () => void): Disposable;
}

/** Longest delay setTimeout takes; longer waits are made of several. */
const MAX_DELAY = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(ms, fn) {
    const at = performance.now() + ms;
    let timer: NodeJS.Timeout;
    const arm = (): void => {
      const left = Math.ceil(at - performance.now());
      if (left <= 0) fn();
      else timer = setTimeout(arm, Math.min(left, MAX_DELAY));
    };
    timer = setTimeout(arm, Math.min(Math.max(0, Math.ceil(ms)), MAX_DELAY));
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};
