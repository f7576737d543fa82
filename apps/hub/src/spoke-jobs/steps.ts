import type { Reconciler } from '@flotilla/runtime';
import { retryWhileBehind } from '../steps/behind-caches.ts';
import { type StepOptions, startSteps } from '../steps/step-queue.ts';
import { createSpokeStep, type SpokeStepDeps } from './apply.ts';
import type { JobState, SpokeJob } from './kind.ts';
import type { SpokeJobs } from './reconciler.ts';

/** Every other step is the oldest that watches a job while many spokes begin: a verdict must not wait for all of them. */
const WATCHING = { from: 3, every: 2 };

/** Starts the leader's requests and steps of a kind of job. Workers may run the steps too. */
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

/** Runs the steps that the leader requests. The caches are filled and this process's own. */
export function startSpokeJobWorker<S extends JobState, I>(job: SpokeJob<S, I>, deps: SpokeStepDeps, options: StepOptions): Reconciler {
  const step = createSpokeStep(job, deps);
  return startSteps({
    ...options,
    name: `${job.work}-steps`,
    kinds: [job.work],
    handle: retryWhileBehind(step),
  });
}
