import { errorMessage, FlotillaError } from '@flotilla/api';
import type { ConsumerOptions, JobConsumer, JobProducer, Log, NewJob } from './job-store.ts';

/** Longest an add may take, in milliseconds. */
const ADD_TIMEOUT_MS = 5_000;

/**
 * BullMQ options every queue has. Ended jobs leave no trace: said per job, because of a worker's `{ count: 0 }` Postgres makes a
 * scan of the table for every job. Events are for BullMQ's own listeners, which nothing here uses.
 */
export const QUEUE_OPTIONS = {
  prefix: 'flotilla',
  streams: { events: { maxLen: 100 } },
  defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
};

/**
 * BullMQ options every worker has. A job whose worker died is run again by another, however often:
 * runs are idempotent, and giving up on one would only cost its watchdog's time.
 */
export const WORKER_OPTIONS = {
  prefix: QUEUE_OPTIONS.prefix,
  lockDuration: 30_000,
  stalledInterval: 15_000,
  maxStalledCount: 1_000,
  runRetryDelay: 250,
};

/** What is used of a BullMQ Queue, whatever its backend. */
interface QueueLike {
  add(name: string, data: unknown, opts: NewJob['opts']): Promise<unknown>;
  addBulk(jobs: { name: string; data: unknown; opts: NewJob['opts'] }[]): Promise<unknown>;
  close(): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** What is used of a BullMQ Worker, whatever its backend. */
interface WorkerLike {
  close(force?: boolean): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** What a BullMQ processor is given, as far as it is used. */
interface JobLike {
  readonly id?: string | undefined;
  readonly data: unknown;
}

/** The processor BullMQ calls. Two parameters at most: with three it would make an abort signal per job that nobody uses. */
export const toProcessor = (options: ConsumerOptions) => (job: JobLike) => options.process({ id: job.id ?? '', data: job.data });

/** A producer on a BullMQ queue. Fewer jobs than `bulkFrom` (default 2) are added one by one. */
export function toProducer(queue: QueueLike, log: Log, bulkFrom = 2): JobProducer {
  queue.on('error', (error) => log.debug({ reason: errorMessage(error) }, 'Queue connection failed'));
  return {
    add: async (jobs) => {
      const late = new FlotillaError('FLOTILLA_QUEUE_TIMEOUT', `adding ${jobs.length} jobs did not end within ${ADD_TIMEOUT_MS} ms`);
      const added =
        jobs.length < bulkFrom ? Promise.all(jobs.map(({ name, data, opts }) => queue.add(name, data, opts))) : queue.addBulk([...jobs]);
      await within(ADD_TIMEOUT_MS, added, late);
    },
    close: () => within(ADD_TIMEOUT_MS, queue.close()),
  };
}

/** A consumer on a BullMQ worker. Its errors are the store being away: it goes on by itself, so they are no more than a warning. */
export function toConsumer(worker: WorkerLike, log: Log): JobConsumer {
  worker.on('error', (error) => log.warn({ reason: errorMessage(error) }, 'Worker failed to reach the store'));
  return { close: (graceMs) => within(graceMs, worker.close()) };
}

/** Settles as `work` does, or after `ms`: by rejecting with `late` if there is one. A failure that comes later is of no interest. */
export async function within(ms: number, work: Promise<unknown>, late?: Error): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => (late ? reject(late) : resolve()), ms);
  work.then(() => resolve(), reject);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
  }
}
