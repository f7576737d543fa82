import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import type { Client } from '@flotilla/runtime';
import { BY_UID } from '../../caches.ts';
import { createReadStored } from '../../lookups.ts';
import type { SpokeStep } from '../part.ts';
import { applySpokePlan } from '../transports/reach.ts';
import type { JobState, SpokeJob } from './kind.ts';
import { type ObserveDeps, type ObservedStep, observeStep } from './observe.ts';
import { planStep, type StepPlan } from './plan.ts';

/** Dependencies of a step of a spoke, in any process. */
export interface SpokeStepDeps extends ObserveDeps {
  readonly client: Client;
}

/** A step with its plan. */
interface PlannedStep<S extends JobState> extends ObservedStep<S> {
  readonly plan: StepPlan<S>;
}

/** Plans a step by an upgrade as stored; undefined when it has nothing to do. */
export function planSpoke<S extends JobState, I>(
  job: SpokeJob<S, I>,
  upgrade: ClusterGroupUpgrade | undefined,
  cluster: string,
  deps: ObserveDeps,
): PlannedStep<S> | undefined {
  const observed = observeStep(job, upgrade, cluster, deps);
  if (!observed) return undefined;
  const { state, task, reach, context } = observed;
  return { ...observed, plan: planStep(task, { current: state, stored: state }, reach, context) };
}

/** Creates the step of a kind of job. */
export function createSpokeStep<S extends JobState, I>(job: SpokeJob<S, I>, deps: SpokeStepDeps): SpokeStep<PlannedStep<S>> {
  const { client, caches } = deps;
  const readStored = createReadStored(client);
  return async ({ upgrade: uid, cluster }, signal, given) => {
    const [upgrade] = caches.upgrades.byIndex(BY_UID, uid);
    let planned = given ?? planSpoke(job, upgrade, cluster, deps);
    // A stale cache would give a cleaned spoke a second job.
    if (upgrade && planned?.isBare) planned = planSpoke(job, await readStored(upgrade), cluster, deps);
    if (!planned) return false;
    await applySpokePlan(planned.plan, planned.task, { client, caches, signal });
    return planned.plan.writes.length > 0;
  };
}
