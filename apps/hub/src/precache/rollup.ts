/** The roll-up of all spokes into conditions (spec/talm 3.4 and the decisions of the design). Pure. */
import { isFinalPrecacheState, type PrecacheState } from '@flotilla/api';

/** Status, reason and message of condition PrecachingSuceeded. */
export interface RollUp {
  readonly status: 'True' | 'False';
  readonly reason: 'PrecachingCompleted' | 'PartiallyDone' | 'Failed' | 'InProgress';
  readonly message: string;
  /** Spokes that ended without success. */
  readonly failed: readonly string[];
  readonly finished: boolean;
}

/**
 * Rolls up the states of the spokes in the plan. Unlike the reference, a spoke that has not started counts as in
 * progress, and spokes that left the plan do not count at all.
 */
export function rollUp(plan: readonly string[], states: ReadonlyMap<string, PrecacheState>): RollUp {
  const failed: string[] = [];
  let succeeded = 0;
  for (const cluster of plan) {
    const state = states.get(cluster) ?? 'NotStarted';
    if (state === 'Succeeded') succeeded += 1;
    else if (isFinalPrecacheState(state)) failed.push(cluster);
  }
  const running = plan.length - succeeded - failed.length;
  if (running > 0)
    return { status: 'False', reason: 'InProgress', message: `Precaching in progress for ${running} clusters`, failed, finished: false };
  if (failed.length === 0)
    return { status: 'True', reason: 'PrecachingCompleted', message: 'Precaching is completed for all clusters', failed, finished: true };
  if (succeeded === 0) return { status: 'False', reason: 'Failed', message: 'Precaching failed for all clusters', failed, finished: true };
  return { status: 'True', reason: 'PartiallyDone', message: `Precaching failed for ${failed.length} clusters`, failed, finished: true };
}
