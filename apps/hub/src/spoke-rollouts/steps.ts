import type { Reconciler } from '@flotilla/runtime';
import { retryWhileBehind } from '../steps/behind-caches.ts';
import type { StepKey } from '../steps/step-key.ts';
import { type StepOptions, startSteps } from '../steps/step-queue.ts';
import { createReadStored, type ReadStored } from '../stored-upgrade.ts';
import { createSpokeStep, type SpokeStepDeps } from './apply.ts';

/** A rollout's step; true when it wrote. */
type RolloutStep = (key: StepKey, signal: AbortSignal) => Promise<boolean>;

/**
 * Creates the step that applies an upgrade's stored status to one spoke.
 * @param isShared other processes run steps too, and this process's watch of upgrades may lag behind their writes
 */
export function createRolloutStep(deps: SpokeStepDeps, isShared: boolean): RolloutStep {
  // A process that runs all steps has read each status its writes were made for, and watches never go back.
  const readStored: ReadStored = isShared ? createReadStored(deps.client) : async (known) => known;
  return createSpokeStep(deps, readStored);
}

/**
 * Runs a rollout's steps in any process, with its own filled caches.
 * @param isRemote the leader requests steps from another process's watches, so this process's may lag behind
 */
export const startRolloutSteps = (step: RolloutStep, options: StepOptions & { readonly isRemote: boolean }): Reconciler =>
  startSteps({
    ...options,
    name: 'rollout-steps',
    kinds: ['rollout'],
    handle: options.isRemote ? retryWhileBehind(step) : step,
  });
