import type { Reconciler } from '@flotilla/runtime';
import { lookAgain } from '../steps/look-again.ts';
import { type StepOptions, startSteps } from '../steps/step-queue.ts';
import { createSpokeStep, type SpokeStepDeps } from './apply.ts';
import type { JobState, SpokeJob } from './kind.ts';
import type { SpokeJobs } from './reconciler.ts';

/** While many spokes begin, every other step is the oldest of those that watch a job: a verdict must not wait for all to begin. */
const WATCHING = { from: 3, every: 2 };

/** Starts the leader's steps of a kind of job, and what requests them. Workers may run them too. */
export function startSpokeJobs<S extends JobState, I>(jobs: SpokeJobs<S, I>, options: StepOptions): Pick<Reconciler, 'stopped'> {
  const steps = startSteps({
    ...options,
    name: `${jobs.job.work}-steps`,
    kinds: [jobs.job.work],
    reserve: WATCHING,
    handle: (key, signal) => jobs.apply(key, signal),
    onFailing: (key, message) => jobs.fail(key, message),
  });
  const reconciling = jobs.start(steps, options.signal);
  return { stopped: Promise.all([steps.stopped, reconciling.stopped]).then(() => {}) };
}

/** Runs steps of a kind of job that the leader requests. The caches are this process's own, and filled. */
export function startSpokeJobWorker<S extends JobState, I>(job: SpokeJob<S, I>, deps: SpokeStepDeps, options: StepOptions): Reconciler {
  const step = createSpokeStep(job, deps);
  return startSteps({
    ...options,
    name: `${job.work}-steps`,
    kinds: [job.work],
    handle: lookAgain(step),
  });
}
