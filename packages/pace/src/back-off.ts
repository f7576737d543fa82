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
