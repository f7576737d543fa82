import type { Client } from '@flotilla/runtime';
import { BY_UID } from '../../caches.ts';
import { createReadStored } from '../../lookups.ts';
import type { SpokeStep } from '../part.ts';
import { applySpokePlan } from '../transports/port/apply.ts';
import type { JobState, SpokeJob } from './kind.ts';
import { type ObserveDeps, observeStep } from './observe.ts';
import { planStep } from './plan.ts';

/** Dependencies of a step of a spoke, in any process. */
export interface SpokeStepDeps extends ObserveDeps {
  readonly client: Client;
}

/** Plans one spoke by its stored state and the caches, and applies the plan. Idempotent; the signal stops it between two writes. */
export function createSpokeStep<S extends JobState, I>(job: SpokeJob<S, I>, deps: SpokeStepDeps): SpokeStep {
  const { client, caches } = deps;
  const readStored = createReadStored(client);
  return async ({ upgrade: uid, cluster }, signal) => {
    const [upgrade] = caches.upgrades.byIndex(BY_UID, uid);
    let observed = observeStep(job, upgrade, cluster, deps);
    // A stale cache would give a cleaned spoke a second job.
    if (upgrade && observed?.isBare) observed = observeStep(job, await readStored(upgrade), cluster, deps);
    if (!observed) return false;
    const { state, task, reach, context } = observed;
    const plan = planStep(task, { current: state, stored: state }, reach, context);
    await applySpokePlan(plan, task, { client, caches, signal });
    return plan.writes.length > 0;
  };
}
