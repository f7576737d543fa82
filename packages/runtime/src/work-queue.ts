import { FlotillaError } from '@flotilla/api';
import { type BackOff, backOffMs, type Clock, systemClock } from '@flotilla/pace';
import { z } from 'zod';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import { MemoryBackend, type OpenBackend, type QueueBackend } from './queue-backend.ts';
import { KeyTimers } from './timers.ts';

/** Options of a work queue. */
export interface WorkQueueOptions {
  /** In logs and metrics; processes with the same name share the keys of a shared store. */
  readonly name: string;
  /** Keys in flight at once in this process. Default 1. */
  readonly concurrency?: number;
  /** Where keys wait. Default: in this process's memory. */
  readonly queue?: OpenBackend;
  /** Tells whether a key from the store is one of this queue's: others are dropped with a warning. Default: any. */
  readonly accepts?: (key: string) => boolean;
  /** Delays after failures. Default 200 ms to 60 s. */
  readonly backOff?: BackOff;
  /** Milliseconds that runs may go on after the signal aborts before theirs does. Default: theirs aborts with it, and they are waited for. */
  readonly graceMs?: number;
  readonly logger: Logger;
  /** Stops the queue. */
  readonly signal: AbortSignal;
  readonly metrics?: Metrics;
  readonly clock?: Clock;
  /** In [0, 1). Default Math.random. */
  readonly random?: () => number;
}

/** When a key runs. */
export interface EnqueueOptions {
  /** Milliseconds since the epoch; default now. A key keeps its earliest time. */
  readonly at?: number;
  /** The same in milliseconds from now. */
  readonly afterMs?: number;
}

/** Counts from this process's memory (no round trip). */
export interface QueueSize {
  /** Added here, and not begun as far as is known. */
  readonly waiting: number;
  readonly running: number;
  readonly timers: number;
}

/** Runs one key. The queue swallows what it throws, so catch it before. */
type KeyHandler = (key: string, signal: AbortSignal) => Promise<void>;

interface Run {
  /** Another run has to follow. */
  again: boolean;
}

const BACK_OFF: BackOff = { baseMs: 200, maxMs: 60_000 };
/** Time for runs to react to their abort. */
const LAST_WORDS_MS = 500;
const Key = z.string().min(1).max(512);

/**
 * Keys waiting for work: each at most once, each in flight at most once. A key added while it runs runs again afterwards.
 * `process` names the handler and opens the store; nothing runs before.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #clock: Clock;
  readonly #waiting = new Set<string>();
  readonly #running = new Map<string, Run>();
  readonly #timers: KeyTimers;
  /** Retries have timers of their own, so that a time that was asked for stays exact. */
  readonly #retries: KeyTimers;
  readonly #failures = new Map<string, number>();
  readonly #abort = new AbortController();
  readonly #runSignal: AbortSignal;
  #backend: QueueBackend | undefined;
  #handler: KeyHandler | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    const { signal, graceMs, clock = systemClock } = options;
    this.#clock = clock;
    const fire = (key: string) => this.add(key);
    this.#timers = new KeyTimers(clock, fire);
    this.#retries = new KeyTimers(clock, fire);
    this.#runSignal = graceMs === undefined ? signal : this.#abort.signal;
    if (signal.aborted) void this.stop();
    else signal.addEventListener('abort', () => void this.stop(), { once: true });
  }

  /** Begins to run keys. */
  process(handler: KeyHandler): void {
    if (this.#stopping) return;
    const { name, concurrency = 1, logger, queue = (options) => new MemoryBackend(options) } = this.#options;
    this.#handler = handler;
    this.#backend = queue({
      name,
      concurrency: Math.max(1, concurrency),
      run: (key) => this.#run(key),
      onRunElsewhere: (key) => this.#leave(key),
      logger,
      clock: this.#clock,
    });
    for (const key of this.#waiting) this.#backend.add(key);
  }

  /** Asks for a run: free while one waits, one more while it runs. A run sees whatever was written before its key was added. */
  add(key: string, { at, afterMs = 0 }: EnqueueOptions = {}): void {
    if (this.#stopping) return;
    const now = this.#clock.now();
    const time = at ?? now + afterMs;
    if (time > now) return this.#timers.set(key, time, at === undefined);
    const running = this.#running.get(key);
    if (running) {
      running.again = true;
      return;
    }
    // Another process may have begun by now, and not have seen what this is about.
    if (this.#waiting.has(key) && !this.#backend?.isShared) return;
    this.#waiting.add(key);
    this.#backend?.add(key);
    this.#measure();
  }

  /** Counts the next failure as the first; for a run that did well, or cannot. */
  succeed(key: string): void {
    this.#failures.delete(key);
  }

  /** Requeues unless the key runs before; for a run that has to wait. */
  wait(key: string, afterMs: number): void {
    this.#failures.delete(key);
    this.#retryAfter(key, afterMs);
  }

  /** Runs the key again after a delay that doubles with each failure in a row; for a run that failed. Returns their number and the delay. */
  retry(key: string): { readonly attempt: number; readonly afterMs: number } {
    const { backOff = BACK_OFF, random } = this.#options;
    const attempt = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, attempt);
    const afterMs = backOffMs(backOff, attempt, random);
    this.#retryAfter(key, afterMs);
    return { attempt, afterMs };
  }

  /** Forgets a key's timers and failures; a run that waits finds nothing to do. */
  forget(key: string): void {
    this.#failures.delete(key);
    this.#timers.clear(key);
    this.#retries.clear(key);
  }

  /** A run of the key waits or is under way here; one that will follow a failure does not count. */
  holds(key: string): boolean {
    return this.#waiting.has(key) || this.#running.has(key);
  }

  size(): QueueSize {
    return { waiting: this.#waiting.size, running: this.#running.size, timers: this.#timers.size + this.#retries.size };
  }

  /** Drops timers and takes nothing more; resolves when what runs has ended or was given up. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const { graceMs } = this.#options;
    this.#timers.clearAll();
    this.#retries.clearAll();
    const reason = new FlotillaError('FLOTILLA_STEP_ABORTED', 'the process that ran the step is stopping');
    const timer = graceMs === undefined ? undefined : this.#clock.setTimer(graceMs, () => this.#abort.abort(reason));
    await this.#backend?.close(graceMs === undefined ? undefined : graceMs + LAST_WORDS_MS);
    timer?.[Symbol.dispose]();
    this.#waiting.clear();
  }

  #retryAfter(key: string, ms: number): void {
    if (!this.#stopping) this.#retries.set(key, this.#clock.now() + ms, true);
  }

  async #run(job: unknown): Promise<void> {
    const key = this.#accept(job);
    if (key === undefined) return;
    const doubled = this.#running.get(key);
    if (doubled) {
      this.#options.logger.warn({ key }, 'Dropping a doubled job, its key runs once more');
      doubled.again = true;
      return;
    }
    const run: Run = { again: false };
    this.#running.set(key, run);
    this.#retries.clear(key);
    this.#backend?.begun(key);
    this.#leave(key);
    try {
      await this.#handler?.(key, this.#runSignal);
    } catch {
      // Said in KeyHandler: not ours.
    }
    this.#running.delete(key);
    // Given up: whoever has the store next runs it.
    if (this.#runSignal.aborted) this.#backend?.add(key);
    else if (run.again) this.add(key);
    this.#measure();
  }

  /** Parsed here and nowhere else. */
  #accept(job: unknown): string | undefined {
    const { accepts, logger } = this.#options;
    const { data: key } = Key.safeParse(job);
    if (key !== undefined && (accepts?.(key) ?? true)) return key;
    logger.warn({ job: typeof job === 'string' ? job.slice(0, 128) : typeof job }, 'Dropping a job that is no key');
    return undefined;
  }

  /** A key waits no more. */
  #leave(key: string): void {
    this.#waiting.delete(key);
  }

  #measure(): void {
    this.#options.metrics?.queueDepth.set({ queue: this.#options.name }, this.#waiting.size + this.#running.size);
  }
}
