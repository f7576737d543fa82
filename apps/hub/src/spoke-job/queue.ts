import { errorMessage } from '@flotilla/api';
import {
  type QueueStore,
  type StepQueue,
  type StepQueueDefinition,
  startStepQueue,
  startStepWorker,
  type WorkerHandle,
} from '@flotilla/queues';
import type { Logger } from '@flotilla/runtime';
import type { JobState, SpokeJob } from './definition.ts';
import type { SpokeJobEngine } from './engine.ts';
import { createSpokeJobProcessor, outcomeSchema, type ProcessorDeps, type SpokeJobStep } from './processor.ts';

export interface SpokeJobQueueOptions<S extends string, I> {
  readonly store: QueueStore;
  readonly queue: StepQueueDefinition<SpokeJobStep<S, I>>;
  /** Steps of different spokes that run at the same time in this process. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
  readonly logger: Logger;
}

/** While many spokes begin, one step in four is the oldest of those that watch a job: a verdict must not wait for all to begin. */
const WATCHING = { from: 3, every: 4 };

/** Starts the leader's queue of a kind of job, and the engine on it. Workers may run its steps too. */
export function startSpokeJobQueue<S extends JobState, I>(
  engine: SpokeJobEngine<S, I>,
  { store, queue, concurrency, signal, logger }: SpokeJobQueueOptions<S, I>,
): StepQueue<SpokeJobStep<S, I>> {
  const steps = startStepQueue({
    store,
    queue,
    concurrency,
    process: engine.process,
    // Workers can only be on a Redis that was given by its URL.
    result: store.kind === 'redis' ? outcomeSchema(engine.job.states) : undefined,
    reserve: WATCHING,
    onOutcome: (step, outcome) => {
      if (outcome.kind === 'done') engine.settle(step, outcome.result);
      else {
        engine.fail(step, outcome);
        logger.warn(
          { work: engine.job.work, cluster: step.cluster, upgrade: step.upgrade.name, reason: errorMessage(outcome.error) },
          'Step failed, trying again',
        );
      }
    },
    signal,
    log: logger,
  });
  engine.start(steps);
  return steps;
}

/** Runs steps of a kind of job that the leader asks for. The caches are this process's own, and filled. */
export function startSpokeJobWorker<S extends JobState, I>(
  job: SpokeJob<S, I>,
  deps: ProcessorDeps,
  { store, queue, concurrency, signal, logger }: SpokeJobQueueOptions<S, I>,
): WorkerHandle {
  return startStepWorker({ store, queue, concurrency, process: createSpokeJobProcessor(job, deps), signal, log: logger });
}
