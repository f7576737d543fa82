import { type BackOff, type Clock, pause } from '@flotilla/pace';

/** Bound and pace of retries. */
export interface RetryPolicy extends BackOff {
  /** Tries in all. */
  readonly attempts: number;
}

interface RetryOptions {
  /** Milliseconds until the next try; undefined: the failure is final. `failures` counts from 1. */
  readonly delayMs: (error: unknown, failures: number) => number | undefined;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

/** Calls until success or a final failure. The signal ends it with its reason, even between two tries. */
export async function withRetries<T>(call: () => Promise<T>, { delayMs, clock, signal }: RetryOptions): Promise<T> {
  for (let failures = 1; ; failures++) {
    signal?.throwIfAborted();
    try {
      return await call();
    } catch (error) {
      signal?.throwIfAborted();
      const waitMs = delayMs(error, failures);
      if (waitMs === undefined) throw error;
      await pause(clock, waitMs, signal);
    }
  }
}

/** Parses `Retry-After` to milliseconds, from seconds or an HTTP date; undefined when absent or unreadable. */
export function parseRetryAfter(value: string | undefined, now: number = Date.now()): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
