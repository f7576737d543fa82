import { errorMessage } from '@flotilla/api';
import { Coalescer } from './coalescer.ts';
import { GracefulStop } from './graceful-stop.ts';
import type { Log, QueueStore, TakenJob } from './job-store.ts';
import { answerQueue, type StepAnswer, toAnswerJob, toEnd } from './step-outcome.ts';
import type { StepQueueDefinition } from './table.ts';
import { runOnce } from './worker.ts';

export interface StepWorkerOptions<P, R> {
  readonly store: QueueStore;
  readonly queue: StepQueueDefinition<P>;
  /** Runs at the same time in this process. */
  readonly concurrency: number;
  /** As that of startStepQueue: whichever of the two takes a job runs it. What it returns must survive JSON. */
  readonly process: (payload: P, signal: AbortSignal) => Promise<R>;
  /** Closes the worker. */
  readonly signal: AbortSignal;
  readonly log: Log;
  /** How long running steps may go on after close, in milliseconds; default 5 000. */
  readonly graceMs?: number;
}

/** A process's part in runs that other processes ask for. */
export interface WorkerHandle {
  /** Runs under way. */
  running(): number;
  /** Stops taking work, waits for running work (at most the grace), closes. Idempotent. */
  close(): Promise<void>;
}

/**
 * Runs steps that a step queue in another process asked for, and answers there. Who asked does not matter, nor whether they live:
 * nobody can know from here, runs are idempotent, and an answer to the dead is dropped by their successor.
 */
export function startStepWorker<P, R>({ store, queue, concurrency, process, signal, log, graceMs }: StepWorkerOptions<P, R>): WorkerHandle {
  const answers = store.producer(answerQueue(queue));
  const sending = new Coalescer<StepAnswer>((items) => answers.add([toAnswerJob(items)]));
  const stop = new GracefulStop(graceMs);
  let running = 0;

  /** An answer is in the store before the job leaves it, so that a death in between only runs the step again. */
  const answer = async (item: StepAnswer) => {
    try {
      await sending.submit(item);
    } catch (error) {
      log.warn({ queue: queue.name, key: item.key, reason: errorMessage(error) }, 'Answering failed, the step will be run again');
    }
  };
  const runJob = async ({ id, data }: TakenJob) => {
    const parsed = queue.payload.safeParse(data);
    if (!parsed.success) {
      // Without a payload there is no key to answer for: whoever asked finds the job gone and asks again.
      log.warn({ queue: queue.name, jobId: id, reason: errorMessage(parsed.error) }, 'Dropping a job with an invalid payload');
      return;
    }
    running++;
    const run = { queue, payload: parsed.data, failures: 0, process, signal: stop.signal, random: Math.random };
    const outcome = await runOnce(run);
    running--;
    await answer({ jobId: id, key: queue.key(parsed.data), end: toEnd(outcome) });
  };
  const consumer = store.consumer(queue.name, { concurrency, lockMs: queue.lockMs, process: runJob });
  const close = () =>
    stop.close([consumer], async () => {
      await sending.idle();
      await answers.close();
    });
  if (signal.aborted) void close();
  else signal.addEventListener('abort', () => void close(), { once: true });
  return { running: () => running, close };
}
