/** Time as a dependency; the clock of `@flotilla/runtime` is such a one. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `fn` once, not earlier than `ms` from now; disposing cancels. Any length is allowed. */
  setTimer(ms: number, fn: () => void): Disposable;
}
