/** How long to wait after failures in a row. */
export interface BackOff {
  /** Longest delay after the first failure, in milliseconds. */
  readonly baseMs: number;
  /** Longest delay of all, in milliseconds, what is left to chance included. */
  readonly maxMs: number;
  /** Share of a delay that is always waited; the rest is left to chance, so that many do not come back at once. Default 0.5; 1 for none. */
  readonly floor?: number;
}

/** Delay after the n-th failure in a row (from 1): doubles each time, up to the longest. @param random in [0, 1) */
export function backOffMs({ baseMs, maxMs, floor = 0.5 }: BackOff, failures: number, random: () => number = Math.random): number {
  const full = Math.min(maxMs, baseMs * 2 ** Math.min(30, Math.max(0, failures - 1)));
  return floor >= 1 ? full : full * (floor + (1 - floor) * random());
}
