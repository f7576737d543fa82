import { setTimeout as delay } from 'node:timers/promises';
import { backOffMs } from '@flotilla/pace';
import { abortedError, RegistryError, RegistryErrorCode } from './errors.ts';

/** How often and how fast a transient failure is tried again: exponential back-off with full jitter. */
export interface RetryPolicy {
  /** Tries in all, on one server. */
  attempts: number;
  /** Upper bound of the first wait, milliseconds; doubles each time. */
  baseMs: number;
  /** Upper bound of any wait, milliseconds; also bounds what `Retry-After` may ask. */
  maxMs: number;
  /** In [0, 1). */
  random: () => number;
  /** Waits, or throws when the signal ends it. */
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** Five tries over about eight seconds; the server's `Retry-After` is followed up to a minute. */
export const defaultRetryPolicy: RetryPolicy = {
  attempts: 5,
  baseMs: 250,
  maxMs: 60_000,
  random: Math.random,
  sleep: async (ms, signal) => {
    await delay(ms, undefined, { signal });
  },
};

/**
 * Waits before try number `failures + 1`.
 * @throws RegistryError `FLOTILLA_REGISTRY_ABORTED` when the signal ends the wait.
 */
export async function backOff(policy: RetryPolicy, failures: number, error: unknown, signal?: AbortSignal): Promise<void> {
  const asked = error instanceof RegistryError ? error.retryAfterMs : undefined;
  // Jitter is added to what the server asked for, so that a fleet does not come back in one instant.
  const ms = backOffMs({ ...policy, floor: 0 }, failures, policy.random) + Math.min(asked ?? 0, policy.maxMs);
  try {
    await policy.sleep(ms, signal);
  } catch (error) {
    if (signal?.aborted) throw abortedError(signal);
    throw error;
  }
}

/** `Retry-After` in milliseconds: seconds or an HTTP date; undefined when absent or unreadable. */
export function parseRetryAfter(value: string | undefined, now: number = Date.now()): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** Whether an error is the caller's own abort. */
export const isAborted = (error: unknown): boolean => error instanceof RegistryError && error.code === RegistryErrorCode.aborted;
