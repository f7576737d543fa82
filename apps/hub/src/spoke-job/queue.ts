import { type Dispatcher, startDispatcher } from '@flotilla/queues';
import { lookAgain, type StepOptions } from '../look-again.ts';
import { createSpokeStep, type SpokeStepDeps } from './apply.ts';
import type { JobState, SpokeJob } from './definition.ts';
import type { SpokeJobEngine } from './engine.ts';

/** While many spokes begin, every other step is the oldest of those that watch a job: a verdict must not wait for all to begin. */
const WATCHING = { from: 3, every: 2 };

/** Starts the leader's steps of a kind of job, and the engine on them. Workers may run them too. */
export function startSpokeJobs<S extends JobState, I>(engine: SpokeJobEngine<S, I>, options: StepOptions): Dispatcher {
  const steps = startDispatcher({
    ...options,
    name: `${engine.job.work}-steps`,
    kinds: [engine.job.work],
    reserve: WATCHING,
    handle: (key, signal) => engine.step(key, signal),
    onFailing: (key, error) => engine.fail(key, error),
  });
  engine.start(steps, options.signal);
  return steps;
}

/** Runs steps of a kind of job that the leader wants. The caches are this process's own, and filled. */
export function startSpokeJobWorker<S extends JobState, I>(job: SpokeJob<S, I>, deps: SpokeStepDeps, options: StepOptions): Dispatcher {
  const step = createSpokeStep(job, deps);
  return startDispatcher({
    ...options,
    name: `${job.work}-steps`,
    kinds: [job.work],
    handle: lookAgain(step),
  });
}
