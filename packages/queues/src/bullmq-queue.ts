import { errorMessage, FlotillaError } from '@flotilla/api';
import { WaitingChildrenError } from 'bullmq';
import type { ConsumerOptions, FlowProducer, JobConsumer, JobProducer, Log, NewJob } from './job-store.ts';

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

/** Default of a queue's `lockMs`, in milliseconds. */
const LOCK_MS = 15_000;

/**
 * BullMQ options every worker has. A job whose worker died is run again by another, however often:
 * runs are idempotent, and giving up on one would only cost its watchdog's time.
 */
export const workerOptions = ({ concurrency, lockMs = LOCK_MS }: Pick<ConsumerOptions, 'concurrency' | 'lockMs'>) => ({
  prefix: QUEUE_OPTIONS.prefix,
  concurrency,
  lockDuration: lockMs,
  stalledInterval: lockMs / 2,
  maxStalledCount: 1_000,
  runRetryDelay: 250,
});

/** What is used of a BullMQ Queue, whatever its backend. */
interface QueueLike {
  add(name: string, data: unknown, opts: NewJob['opts']): Promise<unknown>;
  addBulk(jobs: { name: string; data: unknown; opts: NewJob['opts'] }[]): Promise<unknown>;
  remove(id: string, opts: { removeChildren: boolean }): Promise<unknown>;
  getBackend(): { changePriority(id: string, priority: number): Promise<unknown> };
  close(): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** What is used of a BullMQ FlowProducer, whatever its backend. */
interface FlowsLike {
  add(flow: ReturnType<typeof flowNode> & { children: ReturnType<typeof flowNode>[] }): Promise<unknown>;
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
  readonly name: string;
  readonly data: unknown;
  moveToWaitingChildren(token: string): Promise<boolean>;
}

/** The two things BullMQ calls. What a processor returns stays in this process: in the store it would only cost. */
export function toCallbacks<R>({ process, ended }: ConsumerOptions<R>) {
  const results = new WeakMap<object, { readonly result: R }>();
  return {
    /** Two parameters at most: with three BullMQ would make an abort signal per job that nobody uses. */
    processor: async (job: JobLike, token?: string): Promise<void> => {
      let waits = false;
      const waitForChildren = async () => {
        waits = await job.moveToWaitingChildren(token ?? '');
        return waits;
      };
      const result = await process({ id: job.id ?? '', name: job.name, data: job.data, waitForChildren });
      if (waits) throw new WaitingChildrenError();
      if (ended) results.set(job, { result });
    },
    completed: (job: object): void => {
      const kept = results.get(job);
      if (kept) ended?.(kept.result);
    },
  };
}

/** A producer on a BullMQ queue. Fewer jobs than `bulkFrom` (default 2) are added one by one. */
export function toProducer(queue: QueueLike, log: Log, bulkFrom = 2): JobProducer {
  queue.on('error', (error) => log.debug({ reason: errorMessage(error) }, 'Queue connection failed'));
  return {
    add: async (jobs) => {
      const added =
        jobs.length < bulkFrom ? Promise.all(jobs.map(({ name, data, opts }) => queue.add(name, data, opts))) : queue.addBulk([...jobs]);
      await within(ADD_TIMEOUT_MS, added, tooLate('adding', jobs.length));
    },
    promote: async (jobs) => {
      const backend = queue.getBackend();
      await within(ADD_TIMEOUT_MS, Promise.allSettled(jobs.map(({ id, priority }) => backend.changePriority(id, priority))));
    },
    remove: (ids) => {
      const removed = Promise.all(ids.map((id) => queue.remove(id, { removeChildren: false })));
      return within(ADD_TIMEOUT_MS, removed, tooLate('removing', ids.length));
    },
    close: () => within(ADD_TIMEOUT_MS, queue.close()),
  };
}

/** A producer of flows on a BullMQ FlowProducer. */
export function toFlowProducer(flows: FlowsLike, log: Log): FlowProducer {
  flows.on('error', (error) => log.debug({ reason: errorMessage(error) }, 'Queue connection failed'));
  return {
    add: async ({ queue, parent, childQueue, children }) => {
      const added = flows.add({ ...flowNode(queue, parent), children: children.map((child) => flowNode(childQueue, child)) });
      await within(ADD_TIMEOUT_MS, added, tooLate('adding', children.length + 1));
    },
    close: () => within(ADD_TIMEOUT_MS, flows.close()),
  };
}

/** A flow knows no defaults of queues. A parent that got children while it ran is tried again and then waits for them. */
const flowNode = (queueName: string, { name, data, opts }: NewJob) => ({
  name,
  data,
  queueName,
  opts: {
    ...QUEUE_OPTIONS.defaultJobOptions,
    ...opts,
    attempts: 1_000,
    backoff: { type: 'fixed', delay: 100 },
    ignoreDependencyOnFailure: true,
  },
});

const tooLate = (what: 'adding' | 'removing', jobs: number) =>
  new FlotillaError('FLOTILLA_QUEUE_TIMEOUT', `${what} ${jobs} jobs did not end within ${ADD_TIMEOUT_MS} ms`);

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
