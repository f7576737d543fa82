import { randomBytes } from 'node:crypto';
import { errorMessage } from '@flotilla/api';
import type { JobConsumer, JobProducer, Log, NewJob, QueueStore } from './job-store.ts';
import type { QueueDefinition } from './table.ts';
import { WakeTimers } from './wake-timers.ts';
import { type Outcome, runOnce } from './worker.ts';

/** Priority of a wake that names none. */
const DEFAULT_PRIORITY = 100;
/** BullMQ takes priority 0 for "none" and would run such jobs before all others; this is the highest it can store. */
const MAX_PRIORITY = 2_097_151;
/** Longest a watchdog waits, in milliseconds. */
const MAX_PATIENCE_MS = 60_000;

export interface StepQueueOptions<P, R> {
  readonly store: QueueStore;
  readonly queue: QueueDefinition<P>;
  /** Runs at the same time in this process, each for a key of its own. */
  readonly concurrency: number;
  /** One run for a key: idempotent, and free to observe that there is nothing to do. */
  readonly process: (payload: P, signal: AbortSignal) => Promise<R>;
  /** Called once after every run, before a wake that came meanwhile is queued. Must not throw. */
  readonly onOutcome: (payload: P, outcome: Outcome<R>) => void;
  /** Closes the queue. */
  readonly signal: AbortSignal;
  readonly log: Log;
  /** Uniform in [0, 1), for jitter; default Math.random. */
  readonly random?: () => number;
  /** How long running steps may go on after close, in milliseconds; default 5 000. */
  readonly graceMs?: number;
}

/** What the queue holds, from this process's memory (no round trip). */
export interface StepQueueSize {
  readonly waiting: number;
  readonly running: number;
  readonly timers: number;
}

/** Work per key: woken, deduplicated, run by priority, never two runs of a key at once in this process. */
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

/** What is known of a key that waits or runs. */
interface Entry<P> {
  readonly payload: P;
  state: 'waiting' | 'running';
  priority: number;
  /** Serial number of the job that stands for it; jobs with another number are left-overs. */
  serial: number;
  /** Priority of the run that has to follow the running one. */
  again?: number;
  watchdog?: NodeJS.Timeout;
  /** Milliseconds the next watchdog waits. */
  patience: number;
}

/** Starts the queue and its worker in this process. */
export function startStepQueue<P, R>(options: StepQueueOptions<P, R>): StepQueue<P> {
  return new RunningStepQueue(options);
}

class RunningStepQueue<P, R> implements StepQueue<P> {
  readonly #options: StepQueueOptions<P, R>;
  readonly #producer: JobProducer;
  readonly #consumer: JobConsumer;
  readonly #entries = new Map<string, Entry<P>>();
  readonly #failures = new Map<string, number>();
  readonly #timers = new WakeTimers();
  readonly #abort = new AbortController();
  /** Sets this process's jobs apart from those a former process left in the store. */
  readonly #boot = randomBytes(4).toString('hex');
  #serial = 0;
  #running = 0;
  #batch: string[] = [];
  /** The add that waits for its turn, and the one on its way. */
  #flushing: Promise<void> | undefined;
  #adding: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(options: StepQueueOptions<P, R>) {
    this.#options = options;
    const { store, queue, concurrency, signal } = options;
    this.#producer = store.producer(queue.name);
    this.#consumer = store.consumer(queue.name, { concurrency, process: (job) => this.#runJob(job) });
    if (signal.aborted) void this.close();
    else signal.addEventListener('abort', () => void this.close(), { once: true });
  }

  async wake(payload: P, options: { readonly priority?: number } = {}): Promise<void> {
    const parsed = this.#options.queue.payload.parse(payload);
    if (this.#closing) return;
    const priority = toPriority(options.priority);
    const key = this.#options.queue.key(parsed);
    const entry = this.#entries.get(key);
    if (entry?.state === 'running') {
      entry.again = Math.min(entry.again ?? priority, priority);
      return;
    }
    if (entry && entry.priority <= priority) return;
    this.#enqueue(key, parsed, priority);
    await this.#flushing;
  }

  wakeAt(payload: P, epochMs: number, options?: { readonly priority?: number }): void {
    const parsed = this.#options.queue.payload.parse(payload);
    if (!this.#closing) this.#timers.set(this.#options.queue.key(parsed), epochMs, () => void this.wake(parsed, options));
  }

  forget(payload: P): void {
    const key = this.#options.queue.key(payload);
    this.#failures.delete(key);
    this.#timers.clear(key);
    this.#timers.clear(retrySlot(key));
  }

  size(): StepQueueSize {
    return { waiting: this.#entries.size - this.#running, running: this.#running, timers: this.#timers.size };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#timers.clearAll();
    for (const entry of this.#entries.values()) clearTimeout(entry.watchdog);
    const graceMs = this.#options.graceMs ?? 5_000;
    const timer = setTimeout(() => this.#abort.abort(new Error('queue closed')), graceMs);
    try {
      await this.#consumer.close(graceMs + 500);
      await this.#flushing;
      await this.#adding;
      await this.#producer.close();
    } finally {
      clearTimeout(timer);
      this.#entries.clear();
    }
  }

  /** A new serial number makes a job that already waits with a lesser priority a left-over. */
  #enqueue(key: string, payload: P, priority: number): void {
    const replaced = this.#entries.get(key);
    clearTimeout(replaced?.watchdog);
    this.#entries.set(key, { payload, state: 'waiting', priority, serial: ++this.#serial, patience: this.#options.queue.watchdogMs });
    this.#submit(key);
  }

  /** Wakes of one turn of the event loop travel together, and so do all that come while an add is on its way. */
  #submit(key: string): void {
    this.#batch.push(key);
    this.#flushing ??= this.#adding.then(() => new Promise((resolve) => setImmediate(resolve))).then(() => this.#flush());
  }

  #flush(): Promise<void> {
    const keys = new Set(this.#batch);
    this.#batch = [];
    this.#flushing = undefined;
    const jobs: NewJob[] = [];
    for (const key of keys) {
      const entry = this.#entries.get(key);
      if (entry?.state !== 'waiting' || this.#closing) continue;
      this.#watch(key, entry);
      jobs.push({ name: 'step', data: entry.payload, opts: { jobId: `${this.#boot}-${entry.serial}`, priority: entry.priority } });
    }
    this.#adding = this.#add(jobs);
    return this.#adding;
  }

  async #add(jobs: readonly NewJob[]): Promise<void> {
    if (jobs.length === 0) return;
    const { queue, log } = this.#options;
    try {
      await this.#producer.add(jobs);
    } catch (error) {
      log.warn({ queue: queue.name, jobs: jobs.length, reason: errorMessage(error) }, 'Adding jobs failed, trying again later');
    }
  }

  /**
   * The same job is added again while nothing has started it, which changes nothing when the store still has it. Patience doubles,
   * so that a long backlog is not made longer; a lost job then costs at most as long again as it had waited.
   */
  #watch(key: string, entry: Entry<P>): void {
    clearTimeout(entry.watchdog);
    entry.watchdog = setTimeout(() => this.#submit(key), entry.patience);
    entry.patience = Math.min(entry.patience * 2, MAX_PATIENCE_MS);
  }

  async #runJob(job: { readonly id: string; readonly data: unknown }): Promise<void> {
    const claimed = this.#claim(job);
    if (!claimed) return;
    const [key, entry] = claimed;
    this.#running++;
    const { queue, process, onOutcome } = this.#options;
    const failures = this.#failures.get(key) ?? 0;
    const random = this.#options.random ?? Math.random;
    const outcome = await runOnce({ queue, payload: entry.payload, failures, process, signal: this.#abort.signal, random });
    this.#running--;
    this.#entries.delete(key);
    if (this.#abort.signal.aborted) return;
    this.#settle(key, entry, outcome);
    try {
      onOutcome(entry.payload, outcome);
    } catch (error) {
      this.#options.log.warn({ queue: queue.name, key, reason: errorMessage(error) }, 'Handling an outcome failed');
    }
    if (entry.again !== undefined) void this.wake(entry.payload, { priority: entry.again - 1 });
  }

  /** The key a job stands for, now marked as running; undefined when the job is a left-over. */
  #claim({ id, data }: { readonly id: string; readonly data: unknown }): [string, Entry<P>] | undefined {
    const parsed = this.#options.queue.payload.safeParse(data);
    if (!parsed.success) {
      this.#options.log.warn(
        { queue: this.#options.queue.name, jobId: id, reason: errorMessage(parsed.error) },
        'Dropping a job with an invalid payload',
      );
      return undefined;
    }
    const key = this.#options.queue.key(parsed.data);
    const [boot, serial] = id.split('-');
    const entry = this.#entries.get(key);
    if (boot === this.#boot) {
      if (entry?.state !== 'waiting' || entry.serial !== Number(serial)) return undefined;
      clearTimeout(entry.watchdog);
      entry.state = 'running';
      return [key, entry];
    }
    // Left by a former process: its key is run unless this process has it in hand already.
    if (entry) return undefined;
    const adopted: Entry<P> = { payload: parsed.data, state: 'running', priority: DEFAULT_PRIORITY, serial: ++this.#serial, patience: 0 };
    this.#entries.set(key, adopted);
    return [key, adopted];
  }

  #settle(key: string, entry: Entry<P>, outcome: Outcome<R>): void {
    if (outcome.kind === 'failed') this.#failures.set(key, outcome.attempt);
    else this.#failures.delete(key);
    this.#timers.clear(retrySlot(key));
    if ((outcome.kind === 'failed' || outcome.kind === 'waiting') && !this.#closing) {
      this.#timers.set(retrySlot(key), outcome.retryAt, () => void this.wake(entry.payload, { priority: entry.priority - 1 }));
    }
    if (outcome.kind === 'terminal') this.#timers.clear(key);
  }
}

/** Retries have a timer of their own, so that a deadline asked for by wakeAt stays exact. */
const retrySlot = (key: string): string => `retry:${key}`;

/** Callers count from 0; stored priorities start at 1. */
const toPriority = (priority = DEFAULT_PRIORITY): number => Math.min(Math.max(Math.trunc(priority), 0) + 1, MAX_PRIORITY);
