import { errorMessage } from '@flotilla/api';
import { Coalescer } from './coalescer.ts';
import { GracefulStop } from './graceful-stop.ts';
import type { JobConsumer, JobProducer, Log, NewJob, QueueStore, TakenJob } from './job-store.ts';
import type { QueueDefinition } from './table.ts';
import { type Outcome, runOnce } from './worker.ts';

/** A job for "look at this key": free while one waits, one more after one that runs, now instead of one that is delayed. */
export const toWake = <P>(queue: QueueDefinition<P>, payload: P): NewJob =>
  toJob(queue, payload, { keepLastIfActive: true, replace: true });

/** A job for "this key has to have been run": free while one waits or runs, now instead of one that is delayed. */
export const toChild = <P>(queue: QueueDefinition<P>, payload: P): NewJob => toJob(queue, payload, { replace: true });

const toJob = <P>(queue: QueueDefinition<P>, data: P, deduplication: object): NewJob => ({
  name: 'run',
  data,
  opts: { deduplication: { id: queue.key(data), ...deduplication } },
});

/** Adds jobs that came together in one round trip, for each key the newest of each way to be added: a child does not do what a wake does. */
export function keyedProducer(store: Pick<QueueStore, 'producer'>, { name }: { readonly name: string }, log: Log) {
  const producer: JobProducer = store.producer(name);
  const adding = new Coalescer<NewJob>(async (jobs) => {
    const newest = new Map(jobs.map((job) => [JSON.stringify([job.opts.delay === undefined, job.opts.deduplication]), job]));
    try {
      await producer.add([...newest.values()]);
    } catch (error) {
      log.warn({ queue: name, jobs: newest.size, reason: errorMessage(error) }, 'Adding jobs failed');
    }
  });
  return {
    add: (job: NewJob) => adding.submit(job),
    close: async () => {
      await adding.idle();
      await producer.close();
    },
  };
}

export interface KeyedWorkerOptions<P> {
  readonly store: QueueStore;
  readonly queue: QueueDefinition<P>;
  readonly concurrency: number;
  readonly process: (payload: P, signal: AbortSignal) => Promise<unknown>;
  /** After each run, whatever came of it, and before the store forgets the job. */
  readonly afterRun?: (payload: P) => Promise<void>;
  /** Takes jobs of another name than those of `toWake` and `toChild`. */
  readonly processOther?: (job: TakenJob) => Promise<void>;
  readonly log: Log;
  readonly graceMs?: number | undefined;
}

/** A run that has to follow, `at` an epoch millisecond. */
interface Later<P> {
  readonly payload: P;
  readonly at: number;
}

/**
 * Runs keys whose jobs are in the store alone. BullMQ sees no job fail: one that failed or waits ends, which frees its parent and lets
 * a wake that came meanwhile run at once, and a delayed one is added, which that wake makes superfluous. A death in between loses the
 * delayed one, as an emptied store would.
 */
export function startKeyedWorker<P>(options: KeyedWorkerOptions<P>) {
  const { store, queue, concurrency, process, afterRun, processOther, log, graceMs } = options;
  const producer = keyedProducer(store, queue, log);
  const stop = new GracefulStop(graceMs);
  /** In a row, in this process: they only set the pace. */
  const failures = new Map<string, number>();
  let running = 0;

  const runJob = async (job: TakenJob): Promise<Later<P> | undefined> => {
    if (job.name !== 'run') {
      await processOther?.(job);
      return undefined;
    }
    const parsed = queue.payload.safeParse(job.data);
    if (!parsed.success) {
      log.warn({ queue: queue.name, reason: errorMessage(parsed.error) }, 'Dropping a job with an invalid payload');
      return undefined;
    }
    const payload = parsed.data;
    const key = queue.key(payload);
    running++;
    const run = { queue, payload, failures: failures.get(key) ?? 0, process, signal: stop.signal, random: Math.random };
    const outcome = await runOnce(run);
    running--;
    report(outcome, { queue: queue.name, key }, log);
    if (outcome.kind === 'failed') failures.set(key, outcome.attempt);
    else failures.delete(key);
    await afterRun?.(payload);
    return 'retryAt' in outcome ? { payload, at: outcome.retryAt } : undefined;
  };
  const ended = (later: Later<P> | undefined) => {
    if (!later) return;
    const { name, data, opts } = toJob(queue, later.payload, {});
    void producer.add({ name, data, opts: { ...opts, delay: Math.max(later.at - Date.now(), 1) } });
  };
  const consumer: JobConsumer = store.consumer(queue.name, { concurrency, lockMs: queue.lockMs, process: runJob, ended });
  return {
    running: () => running,
    wake: (payload: P) => producer.add(toWake(queue, payload)),
    close: () => stop.close([consumer], producer.close),
  };
}

function report(outcome: Outcome<unknown>, fields: object, log: Log): void {
  if (outcome.kind === 'done') return;
  const all = { ...fields, reason: errorMessage(outcome.error) };
  if (outcome.kind === 'waiting') log.debug(all, 'Step waits, looking again later');
  else if (outcome.kind === 'failed') log.warn({ ...all, attempt: outcome.attempt }, 'Step failed, trying again');
  else log.warn(all, 'Step cannot succeed, leaving it');
}
