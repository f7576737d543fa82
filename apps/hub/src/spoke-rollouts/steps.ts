import type { Reconciler } from '@flotilla/runtime';
import { type BatchStepDeps, createBatchStep } from '../placements/apply.ts';
import { retryWhileBehind } from '../steps/behind-caches.ts';
import type { StepKey } from '../steps/step-key.ts';
import { type StepOptions, startSteps } from '../steps/step-queue.ts';
import { createReadStored, type ReadStored } from '../stored-upgrade.ts';
import { createSpokeStep, type SpokeStepDeps } from './apply.ts';

/** A rollout's steps of both kinds; true when it wrote. */
type RolloutStep = (key: StepKey, signal: AbortSignal) => Promise<boolean>;

/**
 * Creates the step that applies an upgrade's stored status to one spoke or to the Placements.
 * @param isShared other processes run steps too, and this process's watch of upgrades may lag behind their writes
 */
export function createRolloutStep(deps: SpokeStepDeps & BatchStepDeps, isShared: boolean): RolloutStep {
  // A process that runs all steps has read each status its writes were made for, and watches never go back.
  const readStored: ReadStored = isShared ? createReadStored(deps.client) : async (known) => known;
  const [ofSpoke, ofPlacements] = [createSpokeStep(deps, readStored), createBatchStep(deps, readStored)];
  return (key, signal) => (key.kind === 'placements' ? ofPlacements(key, signal) : ofSpoke(key, signal));
}

/**
 * Runs a rollout's steps in any process, with its own filled caches.
 * @param isRemote the leader requests steps from another process's watches, so this process's may lag behind
 */
export const startRolloutSteps = (step: RolloutStep, options: StepOptions & { readonly isRemote: boolean }): Reconciler =>
  startSteps({
    ...options,
    name: 'rollout-steps',
    kinds: ['rollout', 'placements'],
    handle: options.isRemote ? retryWhileBehind(step) : step,
  });
