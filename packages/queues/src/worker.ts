import { TerminalError, WaitingError } from '@flotilla/api';
import { StepTimeoutError } from './errors.ts';
import type { QueueDefinition } from './table.ts';

/** How one run ended. `retryAt` is the epoch millisecond at which the queue runs the key again by itself. */
export type Outcome<R> =
  | { readonly kind: 'done'; readonly result: R }
  | { readonly kind: 'waiting'; readonly error: WaitingError; readonly retryAt: number }
  | { readonly kind: 'failed'; readonly error: unknown; readonly attempt: number; readonly retryAt: number }
  | { readonly kind: 'terminal'; readonly error: TerminalError };

/** First and longest delay after failures in a row, in milliseconds. */
export type Backoff = QueueDefinition<unknown>['backoff'];

/** What a run is made of. */
export interface Run<P, R> {
  readonly queue: QueueDefinition<P>;
  readonly payload: P;
  /** Failures of this key in a row before this run. */
  readonly failures: number;
  readonly process: (payload: P, signal: AbortSignal) => Promise<R>;
  /** Ends the run early; the outcome is then of no interest. */
  readonly signal: AbortSignal;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** Runs once, bounded in time, and maps what is thrown to what happens next. The only place that does. Never throws. */
export async function runOnce<P, R>(run: Run<P, R>): Promise<Outcome<R>> {
  try {
    return { kind: 'done', result: await bounded(run) };
  } catch (error) {
    if (error instanceof TerminalError) return { kind: 'terminal', error };
    if (error instanceof WaitingError) return { kind: 'waiting', error, retryAt: Date.now() + error.retryAfterMs };
    return failedOutcome(error, run.failures, run.queue.backoff, run.random);
  }
}

/** The failure that follows `failures` others in a row. */
export function failedOutcome(
  error: unknown,
  failures: number,
  backoff: Backoff,
  random: () => number,
): Outcome<never> & { kind: 'failed' } {
  const attempt = failures + 1;
  return { kind: 'failed', error, attempt, retryAt: Date.now() + backoffMs(attempt, backoff, random) };
}

/** Exponential back-off of the n-th failure in a row (from 1), between half and all of it. */
export function backoffMs(attempt: number, { baseMs, maxMs }: Backoff, random: () => number): number {
  const full = Math.min(baseMs * 2 ** Math.min(attempt - 1, 30), maxMs);
  return Math.round(full * (0.5 + random() / 2));
}

async function bounded<P, R>({ queue, payload, process, signal }: Run<P, R>): Promise<R> {
  signal.throwIfAborted();
  // One controller per run: AbortSignal.any would leave a trace of every run on the queue's own signal.
  const run = new AbortController();
  const stopped = Promise.withResolvers<never>();
  const stop = (reason: unknown) => {
    run.abort(reason);
    stopped.reject(reason);
  };
  const onAbort = () => stop(signal.reason);
  const timer = setTimeout(() => stop(new StepTimeoutError(queue.key(payload), queue.runTimeoutMs)), queue.runTimeoutMs);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    // A processor that ignores its signal must not hold its place for ever.
    return await Promise.race([process(payload, run.signal), stopped.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}
