import { errorMessage, FlotillaError, TerminalError, WaitingError } from '@flotilla/api';
import type { BackOff, Clock } from '@flotilla/pace';
import { isConflict } from './errors.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import type { Watch } from './watches.ts';
import { WorkQueue } from './work-queue.ts';

/** How one reconcile ended well. */
export interface ReconcileResult {
  /** Look again after so many milliseconds, 0 for at once; absent: only when something changes. */
  readonly requeueAfterMs?: number;
}

/** What one reconcile gets besides its key. */
export interface ReconcileContext {
  /** Names the reconciler and the key. */
  readonly logger: Logger;
  /** Aborts when the reconciler is stopped. */
  readonly signal: AbortSignal;
}

/** Why a reconcile did not end well, for people: a condition, an event. */
export interface Trouble {
  /** `terminal`: not tried again until something changes; `waiting`: looked at again; `retry`: tried again with a back-off. */
  readonly kind: 'terminal' | 'waiting' | 'retry';
  /** Stable; empty when whatever was thrown has none. */
  readonly code: string;
  readonly message: string;
  /** How often in a row it was so, this time included. */
  readonly times: number;
}

/** A controller. */
export interface ReconcilerOptions {
  /** In logs and metrics. */
  readonly name: string;
  /** The kind that is reconciled: its objects are the keys. */
  readonly for?: Watch;
  /** What else concerns them. */
  readonly watches?: readonly Watch[];
  /** Keys in flight at once. Default 1. */
  readonly concurrency?: number;
  /** Delays after failures. Default 200 ms to 60 s. */
  readonly backOff?: BackOff;
  /** Idempotent, level-triggered; see the outcome table of `startReconciler`. Never called twice at once for a key. */
  readonly reconcile: (key: string, context: ReconcileContext) => Promise<ReconcileResult | undefined>;
  /**
   * Tells the users of the object what its reconcile threw. Called each time, so it writes only what changes; what it throws itself
   * has the key tried again. Default: the log line is all.
   */
  readonly onTrouble?: (key: string, trouble: Trouble, context: ReconcileContext) => Promise<unknown>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly metrics?: Metrics;
  readonly clock?: Clock;
  /** In [0, 1). Default Math.random. */
  readonly random?: () => number;
}

/** A running reconciler. */
export interface Reconciler {
  /** Everything it watches was read once; nothing is reconciled before. */
  readonly hasSynced: boolean;
  /** Resolves after the abort of the signal, when every reconcile under way and every watch it began has ended. */
  readonly stopped: Promise<void>;
}

/**
 * Reconciles the keys of its watches until the signal aborts, from when all of them are read:
 * returns → back-off reset, again after `requeueAfterMs`; throws `TerminalError` → logged as error, not retried;
 * `WaitingError` → again after its delay, logged at info when its message changes; anything else → back-off, logged as warning
 * (a write conflict at debug, and no trouble: it is how two writers meet).
 */
export function startReconciler(options: ReconcilerOptions): Reconciler {
  const { name, concurrency, backOff, clock, random, metrics, signal } = options;
  const queue = new WorkQueue({ name, concurrency, backOff, clock, random, metrics });
  const watches = [...(options.for ? [options.for] : []), ...(options.watches ?? [])];
  const detach = watches.map((each) => each.attach((key, afterMs = 0) => queue.addAfter(key, afterMs)));
  const run = new Run({ ...options, logger: options.logger.child({ controller: name }), queue });
  let hasSynced = false;
  const runUntilAborted = async (): Promise<void> => {
    try {
      await Promise.all(watches.map((each) => each.start(signal)));
      hasSynced = !signal.aborted;
      if (hasSynced) queue.process((key) => run.once(key));
      await aborted(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      for (const each of detach) each();
      await queue.stop();
      if (signal.aborted) await Promise.all(watches.map((each) => each.stopped()));
    }
  };
  const stopped = runUntilAborted();
  return {
    get hasSynced() {
      return hasSynced;
    },
    stopped,
  };
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true })));

type Outcome = 'done' | Trouble['kind'];

/** What is remembered between the reconciles of a key. */
class Run {
  readonly #options: ReconcilerOptions & { readonly queue: WorkQueue };
  readonly #troubles = new Map<string, Trouble>();

  constructor(options: ReconcilerOptions & { readonly queue: WorkQueue }) {
    this.#options = options;
  }

  async once(key: string): Promise<void> {
    const { name, metrics, signal, reconcile, queue } = this.#options;
    const context = { logger: this.#options.logger.child({ key }), signal };
    const started = performance.now();
    let outcome: Outcome = 'done';
    try {
      const result = await reconcile(key, context);
      queue.forget(key);
      this.#troubles.delete(key);
      if (result?.requeueAfterMs !== undefined) queue.addAfter(key, result.requeueAfterMs);
    } catch (error) {
      outcome = await this.#failed(key, error, context);
    }
    metrics?.reconcileSeconds.observe({ controller: name, result: outcome }, (performance.now() - started) / 1000);
  }

  async #failed(key: string, error: unknown, context: ReconcileContext): Promise<Outcome> {
    const { signal, queue, onTrouble } = this.#options;
    const kind = error instanceof WaitingError ? 'waiting' : error instanceof TerminalError ? 'terminal' : 'retry';
    // The stop itself ends calls; that is no failure.
    if (kind === 'retry' && signal.aborted) return kind;
    const trouble = this.#note(key, kind, error);
    if (kind !== 'retry') queue.forget(key);
    if (error instanceof WaitingError) queue.addAfter(key, error.retryAfterMs);
    const retryInMs = kind === 'retry' ? Math.round(queue.retry(key)) : undefined;
    this.#log(error, trouble, context.logger, retryInMs);
    if (!onTrouble || isConflict(error)) return kind;
    try {
      await onTrouble(key, trouble, context);
    } catch (err) {
      if (signal.aborted) return kind;
      const againInMs = retryInMs ?? Math.round(queue.retry(key));
      context.logger[isConflict(err) ? 'debug' : 'warn'](
        { err, retryInMs: againInMs },
        'Telling of a failed reconcile failed, trying again',
      );
    }
    return kind;
  }

  #note(key: string, kind: Trouble['kind'], error: unknown): Trouble {
    const before = this.#troubles.get(key);
    const code = error instanceof FlotillaError ? error.code : '';
    const message = errorMessage(error);
    const isSame = before?.kind === kind && before.message === message;
    const trouble = { kind, code, message, times: isSame ? before.times + 1 : 1 };
    this.#troubles.set(key, trouble);
    return trouble;
  }

  #log(error: unknown, { kind, code, message, times }: Trouble, logger: Logger, retryInMs: number | undefined): void {
    if (error instanceof WaitingError)
      logger[times > 1 ? 'debug' : 'info']({ code, reason: message, retryInMs: error.retryAfterMs }, 'Waiting');
    else if (kind === 'terminal') logger.error({ code, err: error }, 'Reconciling failed for good');
    else if (isConflict(error)) logger.debug({ reason: message, retryInMs }, 'Conflicting write, trying again');
    else logger.warn({ err: error, retryInMs }, 'Reconciling failed, trying again');
  }
}
