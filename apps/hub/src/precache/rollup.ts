import { isFinalPrecacheState, type PrecacheState } from '@flotilla/api/ran';
import { type RollUp as Rolled, rollUpSpokes } from '../spoke-job/rollup.ts';

/** Status, reason and message of condition PrecachingSuceeded. */
export type RollUp = Rolled<'PrecachingCompleted'>;

/** Rolls up the states of the spokes in the plan (spec/talm 3.4). */
export const rollUp = (plan: readonly string[], states: ReadonlyMap<string, PrecacheState>): RollUp =>
  rollUpSpokes(plan, states, { work: 'Precaching', completed: 'PrecachingCompleted', isFinal: isFinalPrecacheState });
