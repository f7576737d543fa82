import { isFinalPrecacheState, type PrecacheState } from '@flotilla/api/ran';
import { type RollUp as Rolled, rollUpSpokes } from '../../status.ts';

/** Status, reason and message of condition PrecachingSuceeded. */
export type RollUp = Rolled<'PrecachingCompleted'>;

/**
 * Rolls up the states of the spokes in the plan (spec/talm 3.4).
 * @param talmStrict a part is a success, and the upgrade does not end when all spokes fail
 */
export const rollUp = (plan: readonly string[], states: ReadonlyMap<string, PrecacheState>, talmStrict = false): RollUp =>
  rollUpSpokes(plan, states, {
    work: 'Precaching',
    completed: 'PrecachingCompleted',
    isFinal: isFinalPrecacheState,
    talmStrict,
  });
