import type { z } from 'zod';
import type { Log, QueueStore } from './job-store.ts';
import type { Reserve } from './late-lane.ts';
import type { StepQueueDefinition } from './table.ts';
import type { Outcome } from './worker.ts';

export interface StepQueueOptions<P, R> {
  readonly store: QueueStore;
  readonly queue: StepQueueDefinition<P>;
  /** Runs at the same time in this process, each for a key of its own. */
  readonly concurrency: number;
  /** One run for a key: idempotent, and free to observe that there is nothing to do. */
  readonly process: (payload: P, signal: AbortSignal) => Promise<R>;
  /**
   * Parses the results of runs by worker processes (startStepWorker). Absent: no such process may run, since nobody would hear of it.
   * Two runs of a key may then overlap when a worker or the store dies.
   */
  readonly result?: z.ZodType<R>;
  /** A share of the runs for steps that more urgent ones keep overtaking; default none. */
  readonly reserve?: Reserve;
  /** Called once after every run, before a wake that came meanwhile is queued. Must not throw. */
  readonly onOutcome: (payload: P, outcome: Outcome<R>) => void;
  /** Closes the queue. */
  readonly signal: AbortSignal;
  readonly log: Log;
  /** How long running steps may go on after close, in milliseconds; default 5 000. */
  readonly graceMs?: number;
}

/** What the queue holds, from this process's memory (no round trip). */
export interface StepQueueSize {
  /** Those that another process runs are among them. */
  readonly waiting: number;
  readonly running: number;
  readonly timers: number;
}

/** Work per key: woken, deduplicated, run by priority, here or by a worker process. */
export interface StepQueue<P> {
  /**
   * Asks for a run of the payload's key; lower priorities go first, equal ones in order. While one waits it is free (a more
   * urgent priority is taken over); while one runs, one more follows. Resolves when the store has been asked; a store that is
   * away is asked again by the watchdog. Rejects only when the payload is invalid.
   */
  wake(payload: P, options?: { readonly priority?: number }): Promise<void>;
  /** As wake, at an epoch millisecond. A key has one such time, the earliest asked for; a run sets the next. */
  wakeAt(payload: P, epochMs: number, options?: { readonly priority?: number }): void;
  /** Drops the timers and the failure count of a key that is of no more interest. */
  forget(payload: P): void;
  size(): StepQueueSize;
  /** Stops taking work, waits for running steps (at most the grace), closes. Idempotent. */
  close(): Promise<void>;
}
