import { TerminalError } from '@flotilla/api';
import { withRetries as sendAgain } from '@flotilla/http';
import { type BackOff, backOffMs, type Clock } from '@flotilla/pace';
import { RegistryError } from './errors.ts';

/** Options of `withRetries`. */
export interface RetryOptions {
  /** True when the same call may succeed later. */
  readonly isTransient: (error: unknown) => boolean;
  /** Tries of a refused call, because registries refuse by mistake too. */
  readonly refusedTries: number;
  /** Milliseconds without progress after the first failure that end the retries; at least three tries are made. */
  readonly retryForMs: number;
  /** Time of the last progress, on the clock; undefined when unknown. Default: unknown. */
  readonly progressedAt?: () => number | undefined;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly onRetry?: (error: unknown, waitMs: number) => void;
}

/** Jitters nearly the whole wait, so that a fleet does not return in one instant. */
const BACK_OFF: BackOff = { baseMs: 500, maxMs: 20_000, floor: 0.1 };
/** Longest wait that a registry may ask for. */
const MAX_ASKED_MS = 120_000;
/** One try may exceed the whole budget, and its failure says little about the next. */
const MIN_TRIES = 3;

/** Retries until success, final refusal, or time without progress; then throws the last error. The signal ends it early. */
export function withRetries<T>(call: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { clock, signal, progressedAt } = options;
  let firstFailureAt: number | undefined;
  let refusals = 0;
  const delayMs = (error: unknown, failures: number): number | undefined => {
    if (error instanceof TerminalError) return undefined;
    if (!options.isTransient(error) && ++refusals >= options.refusedTries) return undefined;
    firstFailureAt ??= clock.now();
    const mostMs = Math.min(MAX_ASKED_MS, options.retryForMs / MIN_TRIES);
    const waitMs = backOffMs(BACK_OFF, failures, options.random) + Math.min(mostMs, askedMs(error));
    const idleSince = Math.max(firstFailureAt, progressedAt?.() ?? firstFailureAt);
    if (failures >= MIN_TRIES && clock.now() + waitMs - idleSince > options.retryForMs) return undefined;
    options.onRetry?.(error, waitMs);
    return waitMs;
  };
  return sendAgain(call, { delayMs, clock, signal });
}

/** Wait that the registry asked for; the back-off adds jitter, so that a fleet does not return in one instant. */
const askedMs = (error: unknown): number => (error instanceof RegistryError ? Math.max(0, error.retryAfterMs ?? 0) : 0);
