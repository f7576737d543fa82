import { errorMessage, TerminalError, WaitingError } from '@flotilla/api';
import { isConflict } from './errors.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import type { WorkQueue } from './work-queue.ts';

export interface ReconcileResult {
  /** Look again after so many milliseconds, 0 for at once; absent: only when something changes. */
  readonly requeueAfterMs?: number;
}

/** What one reconcile gets besides its key. */
export interface ReconcileContext {
  /** Names the controller and the key. */
  readonly logger: Logger;
  /** Aborts when the controller is stopped. */
  readonly signal: AbortSignal;
}

export interface ControllerOptions {
  /** In logs and metrics. */
  readonly name: string;
  readonly queue: WorkQueue;
  /** Idempotent, level-triggered; see the outcome table of `startController`. */
  readonly reconcile: (key: string, context: ReconcileContext) => Promise<ReconcileResult | undefined>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly metrics?: Metrics;
}

export interface Controller {
  /** Resolves after the abort of the signal, when every reconcile under way has ended. */
  readonly stopped: Promise<void>;
}

type Outcome = 'done' | 'waiting' | 'terminal' | 'retry';

/**
 * Runs the queue's keys through `reconcile`, until the signal aborts:
 * returns → back-off reset, again after `requeueAfterMs`; throws `TerminalError` → logged as error, not retried;
 * `WaitingError` → again after its delay, logged at info when its message changes; anything else → back-off, logged as warning
 * (a write conflict at debug: it is how two writers meet).
 */
export function startController(options: ControllerOptions): Controller {
  const { name, queue, signal, metrics } = options;
  const logger = options.logger.child({ controller: name });
  const waits = new Map<string, string>();
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const stop = (): void => {
    queue.stop().then(resolve, resolve);
  };
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });

  queue.process(async (key) => {
    const started = performance.now();
    const outcome = await reconcileOnce({ ...options, logger: logger.child({ key }), waits }, key);
    metrics?.reconcileSeconds.observe({ controller: name, result: outcome }, (performance.now() - started) / 1000);
  });
  return { stopped };
}

async function reconcileOnce(options: ControllerOptions & { readonly waits: Map<string, string> }, key: string): Promise<Outcome> {
  const { queue, reconcile, logger, signal, waits } = options;
  try {
    const result = await reconcile(key, { logger, signal });
    queue.forget(key);
    waits.delete(key);
    if (result?.requeueAfterMs !== undefined) queue.addAfter(key, result.requeueAfterMs);
    return 'done';
  } catch (error) {
    if (error instanceof WaitingError) {
      queue.forget(key);
      queue.addAfter(key, error.retryAfterMs);
      const level = waits.get(key) === error.message ? 'debug' : 'info';
      waits.set(key, error.message);
      logger[level]({ code: error.code, reason: error.message, retryInMs: error.retryAfterMs }, 'Waiting');
      return 'waiting';
    }
    waits.delete(key);
    if (error instanceof TerminalError) {
      queue.forget(key);
      logger.error({ code: error.code, err: error }, 'Reconciling failed for good');
      return 'terminal';
    }
    // The stop itself ends calls; that is no failure.
    if (signal.aborted) return 'retry';
    const retryInMs = Math.round(queue.retry(key));
    if (isConflict(error)) logger.debug({ reason: errorMessage(error), retryInMs }, 'Conflicting write, trying again');
    else logger.warn({ err: error, retryInMs }, 'Reconciling failed, trying again');
    return 'retry';
  }
}
