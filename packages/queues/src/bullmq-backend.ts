import { randomBytes } from 'node:crypto';
import { errorMessage, FlotillaError } from '@flotilla/api';
import { Coalescer } from '@flotilla/pace';
import type { BackendOptions, QueueBackend } from '@flotilla/runtime';
import { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { ReplyTooLargeError } from './bounded-connector.ts';
import { removeOversizedJobs } from './oversized-jobs.ts';
import { within } from './within.ts';

/** Time-out of an add, in milliseconds. */
const ADD_TIMEOUT_MS = 5_000;
const PREFIX = 'flotilla';
/** Seconds that a mark outlives its process. */
const MARK_SECONDS = 3_600;
const MAX_PRIORITY = 2 ** 21;
const MAX_STALLS = 2;
/** Milliseconds that a worker rests after the server has refused it: BullMQ itself asks again at once. */
const REST_MS = 1_000;

/** Options of a queue on a server. */
interface BullmqOptions extends BackendOptions {
  /** Connection that fails at once when the server is away. */
  readonly producers: Redis;
  /** Connection that waits for the server. */
  readonly workers: Redis;
  readonly isShared: boolean;
  /** Milliseconds that another process keeps its runs after its death, twice at most. */
  readonly lockMs: number;
  /** Milliseconds between checks for an emptied store. */
  readonly watchdogMs: number;
  /** Tells whether the store has taken a queue's keys. */
  readonly onAdded: (queue: string, isTaken: boolean) => void;
}

/** A key that was added here and has not started, as far as is known. */
interface Sent {
  priority: number;
  /** The store has the key, unless it was emptied since. */
  added: boolean;
  /** Number of the mark before the add. */
  mark: number;
  /** The key is being sent to the store: a second send would cause another run. */
  isUnderWay: boolean;
}

/**
 * Keeps keys in BullMQ, deduplicated in the store by key (`keepLastIfActive`): at most one job of a key waits. A key added during its run, in any
 * process, is queued when the run ends. There are no replies: a key has started when it left a store that was not emptied, which a mark in the store
 * proves.
 */
export class BullmqBackend implements QueueBackend {
  readonly isShared: boolean;
  readonly #options: BullmqOptions;
  readonly #redis: Redis;
  readonly #queue: Queue;
  readonly #worker: Worker;
  readonly #sent = new Map<string, Sent>();
  readonly #adding = new Coalescer<string>((keys) => this.#add(keys));
  readonly #mark: string;
  readonly #watchdog: NodeJS.Timeout;
  #rest: NodeJS.Timeout | undefined;
  #marked = false;
  /** Number of marks set so far. */
  #marks = 0;
  #isRecovering = false;
  #isSweeping = false;
  #closed = false;

  constructor(options: BullmqOptions) {
    const { name, logger, lockMs, concurrency, run, watchdogMs, producers, workers } = options;
    this.isShared = options.isShared;
    this.#options = options;
    this.#redis = producers;
    this.#mark = `${PREFIX}:${name}:mark-${randomBytes(8).toString('hex')}`;
    this.#queue = new Queue(name, {
      connection: producers,
      prefix: PREFIX,
      // BullMQ keeps them for its own listeners, which nothing here uses.
      streams: { events: { maxLen: 100 } },
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    });
    this.#queue.on('error', (error) => logger.debug({ reason: errorMessage(error) }, 'Queue connection failed'));
    this.#worker = new Worker(name, async ({ data }) => run(data), {
      connection: workers,
      prefix: PREFIX,
      concurrency,
      lockDuration: lockMs,
      stalledInterval: lockMs / 2,
      // Another worker runs a dead worker's job, but only a few times, because the job may have killed it. A caller that needs the key adds it again.
      maxStalledCount: MAX_STALLS,
      runRetryDelay: 250,
    });
    this.#worker.on('error', (error) => {
      if (isReplyTooLarge(error)) void this.#sweep();
      else if (isRefusal(error)) this.#pauseWorker(error);
      else logger.warn({ reason: errorMessage(error) }, 'Worker failed to reach the store');
    });
    this.#watchdog = setInterval(() => void this.#recover(), watchdogMs).unref();
  }

  add(key: string, priority: number): void {
    const sent = this.#sent.get(key);
    if (!sent) this.#sent.set(key, { priority, added: false, mark: 0, isUnderWay: false });
    else if (!sent.added) sent.priority = Math.min(sent.priority, priority);
    this.#submit(key);
  }

  promote(key: string, priority: number): void {
    const sent = this.#sent.get(key);
    if (!sent) return;
    sent.priority = priority;
    if (sent.added) void this.#promote(key, priority);
  }

  begun(key: string): void {
    this.#sent.delete(key);
  }

  async close(graceMs: number | undefined): Promise<void> {
    clearInterval(this.#watchdog);
    clearTimeout(this.#rest);
    await (graceMs === undefined ? this.#worker.close() : within(graceMs, this.#worker.close()));
    this.#closed = true;
    await this.#adding.idle();
    this.#options.onAdded(this.#options.name, true);
    await within(ADD_TIMEOUT_MS, Promise.allSettled([this.#redis.del(this.#mark), this.#queue.close()]));
  }

  /** A server that is full, or no primary any more, refuses each question of a worker. What runs goes on. */
  #pauseWorker(error: unknown): void {
    if (this.#rest || this.#closed) return;
    this.#options.logger.warn({ reason: errorMessage(error) }, 'Worker failed to reach the store');
    void this.#worker.pause(true);
    this.#rest = setTimeout(() => {
      this.#rest = undefined;
      void this.#worker.resume();
    }, REST_MS).unref();
  }

  #submit(key: string): void {
    if (!this.#closed) void this.#adding.submit(key);
  }

  async #add(submitted: readonly string[]): Promise<void> {
    const keys = [...new Set(submitted)];
    const begun = keys.flatMap((key) => this.#sent.get(key) ?? []);
    for (const sent of begun) sent.isUnderWay = true;
    try {
      if (!this.#marked) await this.#setMark();
      const mark = this.#marks;
      await within(ADD_TIMEOUT_MS, this.#queue.addBulk(keys.map((key) => this.#toJob(key))), tooLate(keys.length));
      for (const sent of begun) Object.assign(sent, { added: true, mark });
      this.#options.onAdded(this.#options.name, true);
    } catch (error) {
      this.#options.onAdded(this.#options.name, false);
      this.#options.logger.warn({ jobs: keys.length, reason: errorMessage(error) }, 'Adding jobs failed, trying again later');
    } finally {
      for (const sent of begun) sent.isUnderWay = false;
    }
  }

  #toJob(key: string) {
    const priority = toPriority(this.#sent.get(key)?.priority ?? 0);
    return { name: 'step', data: key, opts: { priority, deduplication: { id: key, keepLastIfActive: true } } };
  }

  /** Changes a waiting job's priority; a started job stays as it is. */
  async #promote(key: string, priority: number): Promise<void> {
    try {
      const jobId = await this.#redis.get(this.#dedupKey(key));
      if (jobId) await this.#queue.getBackend().changePriority(jobId, toPriority(priority));
    } catch {
      // The job keeps its place and runs later.
    }
  }

  /** Adds keys again that an emptied store has lost, and forgets those that ran elsewhere. */
  async #recover(): Promise<void> {
    const waiting = [...this.#sent];
    // An add whose answer was lost is repeated by nobody once its key has run.
    if (waiting.length === 0 && !this.#closed) this.#options.onAdded(this.#options.name, true);
    if (this.#isRecovering || this.#closed || waiting.length === 0) return;
    this.#isRecovering = true;
    try {
      const added = waiting.filter(([, sent]) => sent.added);
      for (const [key] of waiting.filter(([, sent]) => !sent.added && !sent.isUnderWay)) this.#submit(key);
      const found = await this.#find(added.map(([key]) => key));
      if (!found.isMarked) this.#marked = false;
      for (const [index, [key, sent]] of added.entries()) {
        if (found.waiting[index] || this.#sent.get(key) !== sent) continue;
        // A new mark proves nothing about earlier keys.
        if (found.isMarked && sent.mark === this.#marks) this.#left(key);
        else this.#submit(key);
      }
    } catch (error) {
      this.#options.logger.debug({ reason: errorMessage(error) }, 'Looking at the queue failed');
    } finally {
      this.#isRecovering = false;
    }
  }

  /** Removes jobs that cannot be read, because they would be handed out again and again. */
  async #sweep(): Promise<void> {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    const { name, logger } = this.#options;
    try {
      const jobs = await removeOversizedJobs(this.#redis, PREFIX, name);
      if (jobs > 0) logger.warn({ jobs }, 'Removed jobs that are larger than any of ours: see who else writes to the store');
    } catch (error) {
      logger.warn({ reason: errorMessage(error) }, 'Removing oversized jobs failed');
    } finally {
      this.#isSweeping = false;
    }
  }

  #left(key: string): void {
    this.#sent.delete(key);
    this.#options.onRunElsewhere(key);
  }

  /** Asks for the mark last: a mark that exists then existed during the other questions. */
  async #find(keys: readonly string[]): Promise<{ readonly waiting: readonly boolean[]; readonly isMarked: boolean }> {
    const asked = this.#redis.pipeline();
    for (const key of keys) asked.exists(this.#dedupKey(key));
    asked.expire(this.#mark, MARK_SECONDS);
    const answers = (await asked.exec()) ?? [];
    const waiting = answers.map(([error, answer]) => {
      if (error) throw error;
      return answer === 1;
    });
    return { waiting, isMarked: waiting.pop() ?? false };
  }

  async #setMark(): Promise<void> {
    this.#marks += 1;
    await this.#redis.set(this.#mark, '', 'EX', MARK_SECONDS);
    this.#marked = true;
  }

  #dedupKey(key: string): string {
    return `${PREFIX}:${this.#options.name}:de:${key}`;
  }
}

/** Errors of a server that answers, and takes nothing. Others are delayed by BullMQ and ioredis themselves. */
const isRefusal = (error: unknown): boolean =>
  /\b(?:OOM|READONLY|MISCONF|NOREPLICAS|MASTERDOWN|LOADING|NOPERM)\b/.test(errorMessage(error));

const isReplyTooLarge = (error: unknown): boolean => error instanceof ReplyTooLargeError;

/** Callers count from 0; BullMQ's own 0 means "none" and would overtake everything. */
const toPriority = (priority: number): number => Math.min(Math.max(Math.trunc(priority), 0) + 1, MAX_PRIORITY);

const tooLate = (jobs: number) =>
  new FlotillaError('FLOTILLA_QUEUE_TIMEOUT', `adding ${jobs} jobs did not end within ${ADD_TIMEOUT_MS} ms`);
