import { randomBytes } from 'node:crypto';
import { errorMessage, FlotillaError } from '@flotilla/api';
import { Coalescer } from '@flotilla/pace';
import type { BackendOptions, QueueBackend } from '@flotilla/runtime';
import { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { ReplyTooLargeError } from './bounded-connector.ts';
import { removeOversizedJobs } from './oversized-jobs.ts';
import { within } from './within.ts';

/** Longest an add may take, in milliseconds. */
const ADD_TIMEOUT_MS = 5_000;
const PREFIX = 'flotilla';
/** Seconds a mark outlives who set it. */
const MARK_SECONDS = 3_600;
const MAX_PRIORITY = 2 ** 21;
const MAX_STALLS = 2;

/** A queue's, and how it is on its server. */
interface BullmqOptions extends BackendOptions {
  /** Fails at once when the server is away. */
  readonly producers: Redis;
  /** Waits for the server to come back. */
  readonly workers: Redis;
  readonly isShared: boolean;
  /** Another process that died keeps its runs this long, twice at most, in milliseconds. */
  readonly lockMs: number;
  /** Milliseconds between looks whether the store was emptied. */
  readonly watchdogMs: number;
}

/** A key that was added here and has not begun to run, as far as is known. */
interface Sent {
  priority: number;
  /** The store has it, if it was not emptied since. */
  added: boolean;
  /** Which setting of the mark came before it. */
  mark: number;
  /** On its way to the store: sent again by then it would run once more. */
  isUnderWay: boolean;
}

/**
 * Keys wait in BullMQ, deduplicated in the store by key (`keepLastIfActive`): at most one job of a key waits, and what comes while it runs,
 * wherever that is, is queued when it ends. Nothing is answered: a key has begun to run when it has left a store that was not emptied,
 * which a mark in the store tells.
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
  #marked = false;
  /** How often the mark was set. */
  #marks = 0;
  #isLooking = false;
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
      // For listeners of BullMQ's own, which nothing here uses.
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
      // A job whose worker died is run by another, and not for ever: it may be what the worker died of. Whoever needs the key adds it again.
      maxStalledCount: MAX_STALLS,
      runRetryDelay: 250,
    });
    this.#worker.on('error', (error) => {
      if (isReplyTooLarge(error)) void this.#sweep();
      else logger.warn({ reason: errorMessage(error) }, 'Worker failed to reach the store');
    });
    this.#watchdog = setInterval(() => void this.#look(), watchdogMs).unref();
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
    await (graceMs === undefined ? this.#worker.close() : within(graceMs, this.#worker.close()));
    this.#closed = true;
    await this.#adding.idle();
    await within(ADD_TIMEOUT_MS, Promise.allSettled([this.#redis.del(this.#mark), this.#queue.close()]));
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
    } catch (error) {
      this.#options.logger.warn({ jobs: keys.length, reason: errorMessage(error) }, 'Adding jobs failed, trying again later');
    } finally {
      for (const sent of begun) sent.isUnderWay = false;
    }
  }

  #toJob(key: string) {
    const priority = toPriority(this.#sent.get(key)?.priority ?? 0);
    return { name: 'step', data: key, opts: { priority, deduplication: { id: key, keepLastIfActive: true } } };
  }

  /** A job that has begun by now stays as it is. */
  async #promote(key: string, priority: number): Promise<void> {
    try {
      const jobId = await this.#redis.get(this.#dedupKey(key));
      if (jobId) await this.#queue.getBackend().changePriority(jobId, toPriority(priority));
    } catch {
      // It keeps its place, and runs later.
    }
  }

  /** Adds again what an emptied store has lost, and forgets what ran elsewhere. */
  async #look(): Promise<void> {
    const waiting = [...this.#sent];
    if (this.#isLooking || this.#closed || waiting.length === 0) return;
    this.#isLooking = true;
    try {
      const added = waiting.filter(([, sent]) => sent.added);
      for (const [key] of waiting.filter(([, sent]) => !sent.added && !sent.isUnderWay)) this.#submit(key);
      const found = await this.#find(added.map(([key]) => key));
      if (!found.isMarked) this.#marked = false;
      for (const [index, [key, sent]] of added.entries()) {
        if (found.waiting[index] || this.#sent.get(key) !== sent) continue;
        // A mark that was set anew says nothing of what was there before it.
        if (found.isMarked && sent.mark === this.#marks) this.#left(key);
        else this.#submit(key);
      }
    } catch (error) {
      this.#options.logger.debug({ reason: errorMessage(error) }, 'Looking at the queue failed');
    } finally {
      this.#isLooking = false;
    }
  }

  /** A job that cannot be read would be handed out again and again. */
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

  /** The mark last: one that is there then was there while the rest was asked for. */
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

const isReplyTooLarge = (error: unknown): boolean => error instanceof ReplyTooLargeError;

/** Those who ask count from 0; BullMQ's own 0 means "none" and would overtake everything. */
const toPriority = (priority: number): number => Math.min(Math.max(Math.trunc(priority), 0) + 1, MAX_PRIORITY);

const tooLate = (jobs: number) =>
  new FlotillaError('FLOTILLA_QUEUE_TIMEOUT', `adding ${jobs} jobs did not end within ${ADD_TIMEOUT_MS} ms`);
