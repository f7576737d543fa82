import { TerminalError, WaitingError } from '@flotilla/api';
import { StepTimeoutError } from './errors.ts';
import { keyId, type StepKey } from './step-key.ts';

/** One run for a key: idempotent, and free to observe that there is nothing to do. What it resolves with is of no interest. */
export type StepHandler = (key: StepKey, signal: AbortSignal) => Promise<unknown>;

/** How one run ended. */
export type Outcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'waiting'; readonly error: WaitingError }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'terminal'; readonly error: TerminalError };

/** What bounds a run. */
export interface RunBounds {
  /** A run that takes longer is aborted and counts as failed, in milliseconds. */
  readonly runTimeoutMs: number;
  /** Ends the run early; the outcome is then of no interest. */
  readonly signal: AbortSignal;
}

/** Runs once, bounded in time, and maps what is thrown to what happens next. The only place that does. Never throws. */
export async function runOnce(handle: StepHandler, key: StepKey, bounds: RunBounds): Promise<Outcome> {
  try {
    await bounded(handle, key, bounds);
    return { kind: 'done' };
  } catch (error) {
    if (error instanceof TerminalError) return { kind: 'terminal', error };
    if (error instanceof WaitingError) return { kind: 'waiting', error };
    return { kind: 'failed', error };
  }
}

async function bounded(handle: StepHandler, key: StepKey, { runTimeoutMs, signal }: RunBounds): Promise<void> {
  signal.throwIfAborted();
  // One controller per run: AbortSignal.any would leave a trace of every run on the dispatcher's own signal.
  const run = new AbortController();
  const stopped = Promise.withResolvers<never>();
  const stop = (reason: unknown) => {
    run.abort(reason);
    stopped.reject(reason);
  };
  const onAbort = () => stop(signal.reason);
  const timer = setTimeout(() => stop(new StepTimeoutError(keyId(key), runTimeoutMs)), runTimeoutMs);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    // A handler that ignores its signal must not hold its place for ever.
    await Promise.race([handle(key, run.signal), stopped.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}
