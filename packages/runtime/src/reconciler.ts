import { errorMessage, FlotillaError, TerminalError, WaitingError } from '@flotilla/api';
import { type Clock, systemClock } from '@flotilla/pace';
import { isConflict } from './errors.ts';
import type { Logger } from './logger.ts';
import type { Watch } from './watches.ts';
import { type EnqueueOptions, type QueueSize, WorkQueue, type WorkQueueOptions } from './work-queue.ts';

/** Result of a reconcile that ended well. */
export interface ReconcileResult {
  /** Look again after so many milliseconds, 0 for at once; absent: only when something changes. */
  readonly requeueAfterMs?: number;
}

/** Surroundings of one reconcile, besides its key. */
export interface ReconcileContext {
  /** Names the reconciler and the key. */
  readonly logger: Logger;
  /** Aborts when the reconciler is stopped, or the run takes too long. */
  readonly signal: AbortSignal;
}

/** Why a reconcile did not end well, for people: a condition, an event. */
export interface Trouble {
  /** `terminal`: not tried again until something changes; `waiting`: looked at again; `retry`: tried again with a back-off. */
  readonly kind: 'terminal' | 'waiting' | 'retry';
  /** Stable; empty when whatever was thrown has none. */
  readonly code: string;
  readonly message: string;
  /** Number of times in a row, this one included. */
  readonly times: number;
  /** Failures in a row that are tried again, whatever they say, this one included; 0 when it is none. */
  readonly attempt: number;
}

/** A controller. */
export interface ReconcilerOptions extends WorkQueueOptions {
  /** The kind that is reconciled: its objects are the keys. */
  readonly for?: Watch;
  /** Other watches that enqueue keys. */
  readonly watches?: readonly Watch[];
  /** A run that takes longer is aborted and counts as failed, in milliseconds. Default: none does. */
  readonly runTimeoutMs?: number;
  /** Level at which a wait is logged when its message changes; default `info`. */
  readonly waitLevel?: 'info' | 'debug';
  /** Idempotent, level-triggered; see the outcome table of `startReconciler`. Never called twice at once for a key. */
  readonly reconcile: (key: string, context: ReconcileContext) => Promise<ReconcileResult | undefined>;
  /**
   * Tells the users of the object what its reconcile threw. Called each time, so it writes only what changes; what it throws itself
   * has the key tried again.
   */
  readonly onTrouble: (key: string, trouble: Trouble, context: ReconcileContext) => Promise<unknown>;
}

/** A running reconciler. */
export interface Reconciler {
  /** Everything it watches was read once; nothing is reconciled before. */
  readonly hasSynced: boolean;
  /** Resolves after the abort of the signal, when every reconcile under way and every watch it began has ended. */
  readonly stopped: Promise<void>;
  /** Asks for a reconcile: free while one waits, one more while it runs. */
  enqueue(key: string, options?: EnqueueOptions): void;
  /** A reconcile of the key waits or is under way here. One that will follow a failure does not count. */
  holds(key: string): boolean;
  /** Forgets a key's timers and failures; a reconcile that waits finds nothing to do. */
  forget(key: string): void;
  size(): QueueSize;
}

/** Write conflicts in a row that are no meeting of two writers any more. */
const LASTING_CONFLICTS = 5;

/**
 * Reconciles the keys of its watches, and those that are enqueued, until the signal aborts, from when all of them are read:
 * returns → back-off reset, again after `requeueAfterMs`; throws `TerminalError` → logged as error, not retried;
 * `WaitingError` → again after its delay, logged at info when its message changes; anything else → back-off, logged as warning
 * (a write conflict at debug, and no trouble before the fifth in a row: it is how two writers meet).
 */
export function startReconciler(options: ReconcilerOptions): Reconciler {
  const { name, signal } = options;
  const logger = options.logger.child({ controller: name });
  const queue = new WorkQueue({ ...options, logger });
  const watches = [...(options.for ? [options.for] : []), ...(options.watches ?? [])];
  const detach = watches.map((each) => each.attach((key, afterMs) => queue.add(key, { afterMs })));
  const runs = new Runs(queue, { ...options, logger });
  let hasSynced = false;
  const runUntilAborted = async (): Promise<void> => {
    try {
      await Promise.all(watches.map((each) => each.start(signal)));
      hasSynced = !signal.aborted;
      if (hasSynced) queue.process((key, runSignal) => runs.once(key, runSignal));
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
    enqueue: (key, enqueueOptions) => queue.add(key, enqueueOptions),
    holds: (key) => queue.holds(key),
    forget: (key) => runs.forget(key),
    size: () => queue.size(),
  };
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true })));

type Outcome = 'done' | Trouble['kind'];

/** Memory of a key between its reconciles. */
class Runs {
  readonly #options: ReconcilerOptions;
  readonly #queue: WorkQueue;
  readonly #troubles = new Map<string, Trouble>();

  constructor(queue: WorkQueue, options: ReconcilerOptions) {
    this.#queue = queue;
    this.#options = options;
  }

  async once(key: string, signal: AbortSignal): Promise<void> {
    const { name, metrics, logger } = this.#options;
    let own: ReconcileContext['logger'] | undefined;
    const context: ReconcileContext = {
      // A logger of its own costs as much as a small reconcile, and most of them log nothing.
      get logger() {
        own ??= logger.child({ key });
        return own;
      },
      signal,
    };
    const started = performance.now();
    let outcome: Outcome = 'done';
    try {
      const result = await this.#reconcile(key, context);
      this.#queue.succeed(key);
      this.#troubles.delete(key);
      if (result?.requeueAfterMs !== undefined) this.#queue.add(key, { afterMs: result.requeueAfterMs });
    } catch (error) {
      outcome = await this.#failed(key, error, context);
    }
    metrics?.reconcileSeconds.observe({ controller: name, result: outcome }, (performance.now() - started) / 1000);
  }

  forget(key: string): void {
    this.#troubles.delete(key);
    this.#queue.forget(key);
  }

  #reconcile(key: string, context: ReconcileContext): Promise<ReconcileResult | undefined> {
    const { reconcile, runTimeoutMs: timeoutMs, clock = systemClock } = this.#options;
    if (timeoutMs === undefined) return reconcile(key, context);
    const begin = (signal: AbortSignal) =>
      reconcile(key, {
        get logger() {
          return context.logger;
        },
        signal,
      });
    return boundedRun(begin, { key, timeoutMs, signal: context.signal, clock });
  }

  async #failed(key: string, error: unknown, context: ReconcileContext): Promise<Outcome> {
    const { onTrouble } = this.#options;
    const kind = error instanceof WaitingError ? 'waiting' : error instanceof TerminalError ? 'terminal' : 'retry';
    // The stop itself ends calls; that is no failure.
    if (kind === 'retry' && context.signal.aborted) return kind;
    if (kind === 'terminal') this.#queue.succeed(key);
    if (error instanceof WaitingError) this.#queue.wait(key, error.retryAfterMs);
    const retry = kind === 'retry' ? this.#queue.retry(key) : undefined;
    const trouble = this.#note(key, kind, error, retry?.attempt ?? 0);
    this.#log(error, trouble, context.logger, retry?.afterMs);
    if (isConflict(error) && trouble.attempt < LASTING_CONFLICTS) return kind;
    try {
      await onTrouble(key, trouble, context);
    } catch (err) {
      if (context.signal.aborted) return kind;
      const { afterMs } = retry ?? this.#queue.retry(key);
      context.logger[isConflict(err) ? 'debug' : 'warn'](
        { err, retryInMs: Math.round(afterMs) },
        'Telling of a failed reconcile failed, trying again',
      );
    }
    return kind;
  }

  #note(key: string, kind: Trouble['kind'], error: unknown, attempt: number): Trouble {
    const before = this.#troubles.get(key);
    const code = error instanceof FlotillaError ? error.code : '';
    const message = errorMessage(error);
    const isSame = before?.kind === kind && before.message === message;
    const trouble = { kind, code, message, times: isSame ? before.times + 1 : 1, attempt };
    this.#troubles.set(key, trouble);
    return trouble;
  }

  #log(error: unknown, { kind, code, message, times, attempt }: Trouble, logger: Logger, afterMs = 0): void {
    const retryInMs = Math.round(afterMs);
    const { waitLevel = 'info' } = this.#options;
    if (error instanceof WaitingError)
      logger[times > 1 ? 'debug' : waitLevel]({ code, reason: message, retryInMs: error.retryAfterMs }, 'Waiting');
    else if (kind === 'terminal') logger.error({ code, err: error }, 'Reconciling failed for good');
    else if (isConflict(error)) logger.debug({ reason: message, retryInMs }, 'Conflicting write, trying again');
    else logger.warn({ err: error, attempt, retryInMs }, 'Reconciling failed, trying again');
  }
}

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
