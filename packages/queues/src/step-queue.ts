import { randomBytes } from 'node:crypto';
import { errorMessage } from '@flotilla/api';
import type { z } from 'zod';
import { Coalescer } from './coalescer.ts';
import { GracefulStop } from './graceful-stop.ts';
import type { JobConsumer, JobProducer, TakenJob } from './job-store.ts';
import { LateLane } from './late-lane.ts';
import { answerQueue, fromEnd, parseJobId, type StepAnswer, StepAnswers, toJobId } from './step-outcome.ts';
import type { StepQueue, StepQueueOptions, StepQueueSize } from './step-queue-options.ts';
import { WakeTimers } from './wake-timers.ts';
import { type Outcome, runOnce } from './worker.ts';

/** Priority of a wake that names none. */
const DEFAULT_PRIORITY = 100;
/** BullMQ takes priority 0 for "none" and would run such jobs before all others; this is the highest it can store. */
const MAX_PRIORITY = 2_097_151;
/** Longest a watchdog waits, in milliseconds. */
const MAX_PATIENCE_MS = 60_000;

/** What is known of a key that waits or runs. */
interface Entry<P> {
  /** As of the last wake. */
  payload: P;
  /** What the job in the store, or the run, was given. */
  given: P;
  /** A run in another process counts as waiting: nobody says when one begins. */
  state: 'waiting' | 'running';
  priority: number;
  /** Serial number of the job that stands for it; jobs with another number are left-overs. */
  serial: number;
  /** The store has been asked; wakes from now on may come while another process runs it. */
  sent: boolean;
  /** Has the highest priority, whatever it was woken with. */
  promoted: boolean;
  /** Priority of the run that has to follow: the present one may not have seen what a wake came for. */
  again?: number;
  watchdog?: NodeJS.Timeout;
  /** Milliseconds the next watchdog waits. */
  patience: number;
  /** Since when another process must have it, milliseconds since the epoch. */
  awaySince?: number;
}

/** What the store is asked for. */
interface Request {
  readonly key: string;
  readonly what: 'add' | 'promote';
}

/** Starts the queue and its worker in this process. */
export function startStepQueue<P, R>(options: StepQueueOptions<P, R>): StepQueue<P> {
  return new RunningStepQueue(options);
}

class RunningStepQueue<P, R> implements StepQueue<P> {
  readonly #options: StepQueueOptions<P, R>;
  readonly #producer: JobProducer;
  readonly #consumers: JobConsumer[];
  readonly #entries = new Map<string, Entry<P>>();
  readonly #failures = new Map<string, number>();
  readonly #timers = new WakeTimers();
  readonly #late: LateLane;
  readonly #stop: GracefulStop;
  readonly #requests = new Coalescer<Request>((requests) => this.#ask(requests));
  /** Sets this process's jobs apart from those a former process left in the store. */
  readonly #boot = randomBytes(4).toString('hex');
  #serial = 0;
  #running = 0;

  constructor(options: StepQueueOptions<P, R>) {
    this.#options = options;
    const { store, queue, concurrency, signal, result } = options;
    this.#late = new LateLane(options.reserve);
    this.#stop = new GracefulStop(options.graceMs);
    this.#producer = store.producer(queue.name);
    this.#consumers = [store.consumer(queue.name, { concurrency, lockMs: queue.lockMs, process: (job) => this.#runJob(job) })];
    if (result) {
      const process = (job: TakenJob) => this.#takeAnswers(job, result);
      this.#consumers.push(store.consumer(answerQueue(queue), { concurrency: 1, process }));
    }
    if (signal.aborted) void this.close();
    else signal.addEventListener('abort', () => void this.close(), { once: true });
  }

  async wake(payload: P, options: { readonly priority?: number } = {}): Promise<void> {
    const parsed = this.#options.queue.payload.parse(payload);
    if (this.#stop.closing) return;
    const priority = toPriority(options.priority);
    const key = this.#options.queue.key(parsed);
    const entry = this.#entries.get(key);
    if (!entry) return this.#enqueue(key, parsed, priority);
    entry.payload = parsed;
    if (entry.state === 'running' || (entry.sent && this.#options.result)) entry.again = Math.min(entry.again ?? priority, priority);
    if (entry.state === 'running' || entry.priority <= priority) return;
    entry.priority = priority;
    if (entry.promoted) return;
    this.#late.waits(key, priority - 1);
    if (entry.sent) await this.#requests.submit({ key, what: 'promote' });
  }

  wakeAt(payload: P, epochMs: number, options?: { readonly priority?: number }): void {
    const parsed = this.#options.queue.payload.parse(payload);
    if (!this.#stop.closing) this.#timers.set(this.#options.queue.key(parsed), epochMs, () => void this.wake(parsed, options));
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
    if (!this.#stop.closing) {
      this.#timers.clearAll();
      for (const entry of this.#entries.values()) clearTimeout(entry.watchdog);
    }
    return this.#stop.close(this.#consumers, async () => {
      await this.#requests.idle();
      await this.#producer.close();
      this.#entries.clear();
    });
  }

  /** Puts a new job in place of whatever stood for the key. */
  async #enqueue(key: string, payload: P, priority: number): Promise<void> {
    const patience = this.#options.queue.watchdogMs;
    const entry = { payload, given: payload, priority, serial: ++this.#serial, sent: false, promoted: false, patience };
    this.#entries.set(key, { ...entry, state: 'waiting' });
    this.#late.waits(key, priority - 1);
    await this.#requests.submit({ key, what: 'add' });
  }

  async #ask(requests: readonly Request[]): Promise<void> {
    const adds = new Map<string, Entry<P>>();
    const promotions = new Map<string, Entry<P>>();
    for (const { key, what } of requests) {
      const entry = this.#entries.get(key);
      if (entry?.state !== 'waiting' || this.#stop.closing) continue;
      (what === 'add' ? adds : promotions).set(key, entry);
    }
    for (const [key, entry] of adds) {
      if (!entry.sent) entry.given = entry.payload;
      entry.sent = true;
      this.#watch(key, entry);
    }
    const { queue, log } = this.#options;
    try {
      if (adds.size > 0) await this.#producer.add([...adds.values()].map((entry) => this.#toJob(entry)));
    } catch (error) {
      log.warn({ queue: queue.name, jobs: adds.size, reason: errorMessage(error) }, 'Adding jobs failed, trying again later');
    }
    const promoted = [...promotions.values()].map((entry) => this.#toJob(entry).opts);
    if (promoted.length > 0) await this.#producer.promote(promoted.map(({ jobId, priority }) => ({ id: jobId, priority })));
  }

  #toJob({ given, serial, priority, promoted }: Entry<P>) {
    return { name: 'step', data: given, opts: { jobId: toJobId(this.#boot, serial), priority: promoted ? 1 : priority } };
  }

  /**
   * The same job is added again while nothing has started it, which changes nothing when the store still has it. Patience doubles,
   * so that a long backlog is not made longer; a lost job then costs at most as long again as it had waited.
   */
  #watch(key: string, entry: Entry<P>): void {
    clearTimeout(entry.watchdog);
    entry.watchdog = setTimeout(() => this.#look(key, entry), entry.patience);
    entry.patience = Math.min(entry.patience * 2, MAX_PATIENCE_MS);
  }

  /** With a free place here, a job that waits would have been taken: another process has it, and loses it when that takes too long. */
  #look(key: string, entry: Entry<P>): void {
    const { queue, concurrency } = this.#options;
    if (this.#running >= concurrency) delete entry.awaySince;
    else entry.awaySince ??= Date.now();
    if (entry.awaySince !== undefined && Date.now() - entry.awaySince >= queue.remoteTimeoutMs) {
      entry.serial = ++this.#serial;
      entry.sent = false;
      entry.patience = queue.watchdogMs;
      delete entry.awaySince;
    }
    void this.#requests.submit({ key, what: 'add' });
  }

  async #runJob(job: TakenJob): Promise<void> {
    const claimed = this.#claim(job);
    if (!claimed) return;
    const [key, entry] = claimed;
    this.#running++;
    this.#late.leaves(key);
    this.#serveLate();
    const { queue, process } = this.#options;
    const failures = this.#failures.get(key) ?? 0;
    const run = { queue, payload: entry.given, failures, process, signal: this.#stop.signal, random: Math.random };
    const outcome = await runOnce(run);
    this.#running--;
    if (this.#stop.signal.aborted) this.#entries.delete(key);
    else this.#end(key, entry, outcome);
  }

  /** The key a job stands for, now marked as running; undefined when the job is a left-over. */
  #claim({ id, data }: TakenJob): [string, Entry<P>] | undefined {
    const parsed = this.#options.queue.payload.safeParse(data);
    if (!parsed.success) {
      this.#options.log.warn(
        { queue: this.#options.queue.name, jobId: id, reason: errorMessage(parsed.error) },
        'Dropping a job with an invalid payload',
      );
      return undefined;
    }
    const key = this.#options.queue.key(parsed.data);
    const { asker, serial } = parseJobId(id);
    const entry = this.#entries.get(key);
    if (asker === this.#boot) {
      if (entry?.state !== 'waiting' || entry.serial !== serial) return undefined;
      clearTimeout(entry.watchdog);
      entry.state = 'running';
      entry.given = entry.payload;
      // What came while it waited is seen by this run.
      delete entry.again;
      return [key, entry];
    }
    // Left by a former process: its key is run unless this process has it in hand already.
    if (entry) return undefined;
    const adopted: Entry<P> = {
      payload: parsed.data,
      given: parsed.data,
      state: 'running',
      priority: DEFAULT_PRIORITY,
      serial: ++this.#serial,
      sent: true,
      promoted: false,
      patience: 0,
    };
    this.#entries.set(key, adopted);
    return [key, adopted];
  }

  /** Answers to jobs that do not stand for their key any more, or to another process's, are left-overs like such jobs. */
  async #takeAnswers({ data }: TakenJob, result: z.ZodType<R>): Promise<void> {
    const parsed = StepAnswers.safeParse(data);
    if (!parsed.success) {
      this.#options.log.warn({ queue: this.#options.queue.name, reason: errorMessage(parsed.error) }, 'Dropping an invalid answer');
      return;
    }
    for (const answer of parsed.data.answers) this.#takeAnswer(answer, result);
  }

  #takeAnswer({ jobId, key, end }: StepAnswer, result: z.ZodType<R>): void {
    const { asker, serial } = parseJobId(jobId);
    const entry = this.#entries.get(key);
    if (asker !== this.#boot || entry?.state !== 'waiting' || entry.serial !== serial || this.#stop.closing) return;
    clearTimeout(entry.watchdog);
    this.#late.leaves(key);
    const failures = this.#failures.get(key) ?? 0;
    this.#end(key, entry, fromEnd(end, { backoff: this.#options.queue.backoff, result, failures, random: Math.random }));
    this.#serveLate();
  }

  /** Makes the step whose turn it is the most urgent. */
  #serveLate(): void {
    const key = this.#late.next(this.#entries.size - this.#running);
    const entry = key === undefined ? undefined : this.#entries.get(key);
    if (key === undefined || !entry) return;
    entry.promoted = true;
    if (entry.sent) void this.#requests.submit({ key, what: 'promote' });
  }

  /** A run is over, wherever it was. */
  #end(key: string, entry: Entry<P>, outcome: Outcome<R>): void {
    this.#entries.delete(key);
    this.#settle(key, entry, outcome);
    const { queue, onOutcome, log } = this.#options;
    try {
      onOutcome(entry.given, outcome);
    } catch (error) {
      log.warn({ queue: queue.name, key, reason: errorMessage(error) }, 'Handling an outcome failed');
    }
    if (entry.again !== undefined) void this.wake(entry.payload, { priority: entry.again - 1 });
  }

  #settle(key: string, entry: Entry<P>, outcome: Outcome<R>): void {
    if (outcome.kind === 'failed') this.#failures.set(key, outcome.attempt);
    else this.#failures.delete(key);
    this.#timers.clear(retrySlot(key));
    if ((outcome.kind === 'failed' || outcome.kind === 'waiting') && !this.#stop.closing) {
      this.#timers.set(retrySlot(key), outcome.retryAt, () => void this.wake(entry.payload, { priority: entry.priority - 1 }));
    }
    if (outcome.kind === 'terminal') this.#timers.clear(key);
  }
}

/** Retries have a timer of their own, so that a deadline asked for by wakeAt stays exact. */
const retrySlot = (key: string): string => `retry:${key}`;

/** Callers count from 0; stored priorities start at 1. */
const toPriority = (priority = DEFAULT_PRIORITY): number => Math.min(Math.max(Math.trunc(priority), 0) + 1, MAX_PRIORITY);
