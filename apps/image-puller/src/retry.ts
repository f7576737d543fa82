import { TerminalError } from '@flotilla/api';
import { type Clock, pause } from '@flotilla/runtime';

/** When to try again, and for how long. */
export interface RetryOptions {
  /** Whether the same call may succeed later. */
  readonly isTransient: (error: unknown) => boolean;
  /** Tries of a call that is refused, not just failing: registries refuse by mistake as well. */
  readonly refusedTries: number;
  /** Milliseconds since the first try after which no further one starts. */
  readonly retryForMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly onRetry?: (error: unknown, waitMs: number) => void;
}

const BASE_MS = 500;
const MAX_MS = 20_000;

/** Wait before the next try: exponential with full jitter, so that a fleet does not come back in one instant. */
export const backOffMs = (failures: number, random: () => number): number =>
  Math.round(Math.min(MAX_MS, BASE_MS * 2 ** Math.min(failures - 1, 10)) * (0.1 + 0.9 * random()));

/** Calls until it succeeds, is refused for good, or time is up; then throws the last error. The signal ends it early. */
export async function withRetries<T>(call: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { clock, signal } = options;
  const started = clock.now();
  let refusals = 0;
  for (let failures = 1; ; failures++) {
    signal.throwIfAborted();
    try {
      return await call();
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof TerminalError) throw error;
      if (!options.isTransient(error) && ++refusals >= options.refusedTries) throw error;
      const waitMs = backOffMs(failures, options.random);
      if (clock.now() + waitMs - started > options.retryForMs) throw error;
      options.onRetry?.(error, waitMs);
      await pause(clock, waitMs, signal);
    }
  }
}
