import { FlotillaError } from '@flotilla/api';
import type { Clock } from '@flotilla/pace';

/** Bounds of a run. */
interface RunBounds {
  readonly key: string;
  /** A run that takes longer is aborted and fails, in milliseconds. */
  readonly timeoutMs: number;
  /** Ends the run early. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/**
 * Settles as the run does, or rejects when its time is over or the signal aborts: a run that ignores its signal must not hold its place
 * for ever.
 */
export async function boundedRun<T>(begin: (signal: AbortSignal) => Promise<T>, { key, timeoutMs, signal, clock }: RunBounds): Promise<T> {
  signal.throwIfAborted();
  // One controller per run: AbortSignal.any would leave a trace of every run on the queue's own signal.
  const run = new AbortController();
  const stopped = Promise.withResolvers<never>();
  const stop = (reason: unknown) => {
    run.abort(reason);
    stopped.reject(reason);
  };
  const onAbort = () => stop(signal.reason);
  const timer = clock.setTimer(timeoutMs, () =>
    stop(new FlotillaError('FLOTILLA_STEP_TIMEOUT', `the run of ${key} did not end within ${timeoutMs} ms`)),
  );
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([begin(run.signal), stopped.promise]);
  } finally {
    timer[Symbol.dispose]();
    signal.removeEventListener('abort', onAbort);
  }
}
