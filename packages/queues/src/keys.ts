import { randomUUID } from 'node:crypto';
import { errorMessage } from '@flotilla/api';
import { Coalescer, pause } from '@flotilla/pace';
import type { BackendOptions, QueueBackend } from '@flotilla/runtime';
import { type JobJson, Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';

const PREFIX = 'flotilla';
/** Longest text of a job that is parsed: a key has a few hundred characters. */
const MAX_JOB_LENGTH = 4_096;
/** Errors of a server that answers, and takes nothing: it is full, or no primary any more. */
const REFUSAL = /\b(?:OOM|READONLY|MISCONF|NOREPLICAS|MASTERDOWN|LOADING|NOPERM)\b/;
/** Milliseconds that a worker rests after one: BullMQ itself asks again at once. */
const REST_MS = 1_000;

/** Options of a queue on a server; see `openRedis`. */
interface BullmqOptions extends BackendOptions {
  readonly producers: Redis;
  readonly workers: Redis;
  readonly isShared: boolean;
  readonly lockMs: number;
  readonly watchdogMs: number;
  /** Queues whose last keys the store has not taken: this one adds and removes its name. */
  readonly refused: Set<string>;
}

/** A key that was added here and has not begun, as far as is known. */
interface Sent {
  /** Mark of the store before it took the key; undefined until it has. */
  mark?: string;
}

/**
 * Keeps keys in BullMQ, deduplicated in the store by key (`keepLastIfActive`): at most one job of a key waits. A key added during its run, in any
 * process, is queued when the run ends. There are no replies: a key has started when it left a store that was not emptied, as the store's mark shows.
 */
export class BullmqBackend implements QueueBackend {
  readonly isShared: boolean;
  readonly #options: BullmqOptions;
  readonly #queue: Queue;
  readonly #worker: Worker;
  readonly #sent = new Map<string, Sent>();
  /** Those of them that are to be added. */
  readonly #unsent = new Set<string>();
  readonly #sends = new Coalescer<void>(() => this.#send());
  readonly #watchdog: NodeJS.Timeout;
  /** Random text in the store, made anew by whichever process finds none: the same one proves that the store was not emptied. */
  #mark: string | undefined;
  #rest: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: BullmqOptions) {
    const { name, logger, lockMs, concurrency, run, watchdogMs, producers, workers, isShared } = options;
    this.isShared = isShared;
    this.#options = options;
    // BullMQ keeps events for its own listeners, which nothing here uses.
    this.#queue = new Queue(name, { connection: producers, prefix: PREFIX, streams: { events: { maxLen: 100 } } });
    this.#queue.on('error', (error) => logger.debug({ reason: errorMessage(error) }, 'Queue connection failed'));
    this.#worker = new KeyWorker(name, async ({ data }) => run(data), {
      connection: workers,
      prefix: PREFIX,
      concurrency,
      lockDuration: lockMs,
      stalledInterval: lockMs / 2,
      // Another worker runs a dead worker's job, but only a few times, because the job may have killed it. A caller that needs the key adds it again.
      maxStalledCount: 2,
      runRetryDelay: 250,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    });
    this.#worker.on('error', (error) => {
      logger.warn({ reason: errorMessage(error) }, 'Worker failed to reach the store');
      if (REFUSAL.test(error.message)) this.#pauseWorker();
    });
    this.#watchdog = setInterval(() => void this.#look(), watchdogMs).unref();
  }

  add(key: string): void {
    this.#sent.set(key, {});
    this.#unsent.add(key);
    if (!this.#closed) void this.#sends.submit();
  }

  begun(key: string): void {
    this.#sent.delete(key);
  }

  async close(graceMs: number | undefined): Promise<void> {
    clearInterval(this.#watchdog);
    clearTimeout(this.#rest);
    const stop = new AbortController();
    const grace = graceMs === undefined ? [] : [pause(this.#options.clock, graceMs, stop.signal)];
    await Promise.race([this.#worker.close(), ...grace]);
    stop.abort();
    this.#closed = true;
    await this.#sends.idle();
    this.#options.refused.delete(this.#options.name);
    await this.#queue.close().catch(() => undefined);
  }

  /** Fetches no job for a while; runs under way go on. */
  #pauseWorker(): void {
    void this.#worker.pause(true);
    this.#rest ??= setTimeout(() => {
      this.#rest = undefined;
      void this.#worker.resume();
    }, REST_MS).unref();
  }

  /** Adds what was not taken yet; after a failure the watchdog does it again. */
  async #send(): Promise<void> {
    const { name, logger, refused } = this.#options;
    const batch = [...this.#sent].filter(([key]) => this.#unsent.has(key));
    this.#unsent.clear();
    try {
      if (batch.length > 0) {
        const mark = await this.#readMark();
        await this.#queue.addBulk(batch.map(toJob));
        for (const [, sent] of batch) sent.mark = mark;
      }
      refused.delete(name);
    } catch (error) {
      for (const [key] of batch) this.#unsent.add(key);
      refused.add(name);
      logger.warn({ jobs: batch.length, reason: errorMessage(error) }, 'Adding jobs failed, trying again later');
    }
  }

  async #readMark(): Promise<string> {
    if (this.#mark !== undefined) return this.#mark;
    await this.#options.producers.set(this.#queue.toKey('mark'), randomUUID(), 'NX');
    this.#mark = (await this.#options.producers.get(this.#queue.toKey('mark'))) ?? undefined;
    // Emptied in between: a mark that no store has, so that the keys count as lost.
    return this.#mark ?? '';
  }

  /** Adds keys again that an emptied store has lost, and forgets those that ran elsewhere. */
  async #look(): Promise<void> {
    if (this.#unsent.size > 0) void this.#sends.submit();
    const taken = [...this.#sent].filter(([, { mark }]) => mark !== undefined);
    if (taken.length === 0) return;
    try {
      const [mark, ...jobs] = await this.#options.producers.mget(this.#queue.toKey('mark'), ...taken.map(([key]) => this.#jobKey(key)));
      this.#mark = mark ?? undefined;
      for (const [index, [key, sent]] of taken.entries()) {
        if (jobs[index] || this.#closed || this.#sent.get(key) !== sent) continue;
        if (mark !== sent.mark) this.add(key);
        else {
          this.#sent.delete(key);
          this.#options.onRunElsewhere(key);
        }
      }
    } catch (error) {
      this.#options.logger.debug({ reason: errorMessage(error) }, 'Looking at the queue failed');
    }
  }

  /** Where BullMQ has the id of the key's job. */
  #jobKey(key: string): string {
    return this.#queue.toKey(`de:${key}`);
  }
}

/** Looks at a job's size before it is parsed: any writer of the store decides what is in it. An oversized one becomes an empty key, which is dropped. */
class KeyWorker extends Worker {
  protected override createJob(job: JobJson, id: string) {
    return super.createJob(job.data.length > MAX_JOB_LENGTH ? { ...job, data: '""' } : job, id);
  }
}

const toJob = ([key]: readonly [string, Sent]) => ({
  name: 'step',
  data: key,
  opts: { deduplication: { id: key, keepLastIfActive: true } },
});
