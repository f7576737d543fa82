/** Delays after failures in a row. */
export interface BackOff {
  /** Delay after the first failure, in milliseconds. */
  readonly baseMs: number;
  /** Longest delay, in milliseconds, jitter included. */
  readonly maxMs: number;
}

/** Exponential delay for the n-th failure in a row (from 1), spread over the upper half so that many do not come back at once. */
export function backOffMs({ baseMs, maxMs }: BackOff, failures: number, random: () => number = Math.random): number {
  const full = Math.min(maxMs, baseMs * 2 ** Math.min(30, Math.max(0, failures - 1)));
  return full * (0.5 + random() / 2);
}
