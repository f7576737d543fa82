import { TerminalError } from '@flotilla/api';
import { withRetries as sendAgain } from '@flotilla/http';
import { type BackOff, backOffMs, type Clock } from '@flotilla/pace';
import { RegistryError } from '@flotilla/registry';

/** When to try again, and for how long. */
export interface RetryOptions {
  /** Whether the same call may succeed later. */
  readonly isTransient: (error: unknown) => boolean;
  /** Tries of a call that is refused, not just failing: registries refuse by mistake as well. */
  readonly refusedTries: number;
  /** Milliseconds without progress, from the first failure on, after which no further try starts; three are always made. */
  readonly retryForMs: number;
  /** When the work last got further, on the clock; undefined when nobody can tell. Default: nobody can. */
  readonly progressedAt?: () => number | undefined;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly onRetry?: (error: unknown, waitMs: number) => void;
}

/** Nearly all of a wait is left to chance, so that a fleet does not come back in one instant. */
const BACK_OFF: BackOff = { baseMs: 500, maxMs: 20_000, floor: 0.1 };
/** What a registry may ask us to wait at most. */
const MAX_ASKED_MS = 120_000;
/** A try may take longer than the whole budget: its end says little about the next one's. */
const MIN_TRIES = 3;

/**
 * Calls until it succeeds, is refused for good, or time has passed without progress; then throws the last error. The signal
 * ends it early.
 */
export function withRetries<T>(call: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { clock, signal, progressedAt } = options;
  let firstFailureAt: number | undefined;
  let refusals = 0;
  const delayMs = (error: unknown, failures: number): number | undefined => {
    if (error instanceof TerminalError) return undefined;
    if (!options.isTransient(error) && ++refusals >= options.refusedTries) return undefined;
    firstFailureAt ??= clock.now();
    const waitMs = backOffMs(BACK_OFF, failures, options.random) + askedMs(error);
    const idleSince = Math.max(firstFailureAt, progressedAt?.() ?? firstFailureAt);
    if (failures >= MIN_TRIES && clock.now() + waitMs - idleSince > options.retryForMs) return undefined;
    options.onRetry?.(error, waitMs);
    return waitMs;
  };
  return sendAgain(call, { delayMs, clock, signal });
}

/** What the registry asked us to wait, within bounds; the back-off is added, so that a fleet does not come back in one instant. */
const askedMs = (error: unknown): number =>
  error instanceof RegistryError ? Math.min(MAX_ASKED_MS, Math.max(0, error.retryAfterMs ?? 0)) : 0;
