import type { Reconciler } from '@flotilla/runtime';
import { type BatchStepDeps, createBatchStep } from '../placements/apply.ts';
import { lookAgain } from '../steps/look-again.ts';
import type { StepKey } from '../steps/step-key.ts';
import { type StepOptions, startSteps } from '../steps/step-queue.ts';
import { createReadStored, type ReadStored } from '../stored-upgrade.ts';
import { createSpokeStep, type SpokeStepDeps } from './apply.ts';

/** A rollout's steps of both kinds; true when it wrote. */
type RolloutStep = (key: StepKey, signal: AbortSignal) => Promise<boolean>;

/**
 * What makes true what the stored status of an upgrade says, of one spoke or of the Placements.
 * @param isShared other processes take steps as well: what they have written, this one's watch of upgrades may not have told yet
 */
export function createRolloutStep(deps: SpokeStepDeps & BatchStepDeps, isShared: boolean): RolloutStep {
  // Who takes all steps alone has seen the status that each of its writes was made for, and watches never go back.
  const readStored: ReadStored = isShared ? createReadStored(deps.client) : async (known) => known;
  const [ofSpoke, ofPlacements] = [createSpokeStep(deps, readStored), createBatchStep(deps, readStored)];
  return (key, signal) => (key.kind === 'placements' ? ofPlacements(key, signal) : ofSpoke(key, signal));
}

/**
 * Runs a rollout's steps, in whatever process; the caches are its own, and filled.
 * @param isRemote the watches that steps are wanted by are another process's: this one's may be behind
 */
export const startRolloutSteps = (step: RolloutStep, options: StepOptions & { readonly isRemote: boolean }): Reconciler =>
  startSteps({
    ...options,
    name: 'rollout-steps',
    kinds: ['rollout', 'placements'],
    handle: options.isRemote ? lookAgain(step) : step,
  });
