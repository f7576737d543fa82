/** Rolls up the states of all spokes (spec/talm 3.4, 5.1 and the decisions of the design). Pure. */
import { isFinalPrecacheState, type PrecacheState } from '@flotilla/api/ran';

/** Status, reason and message of the condition of a kind of job. */
export interface RolledUp<R extends string> {
  readonly status: 'True' | 'False';
  readonly reason: R | 'PartiallyDone' | 'Failed' | 'InProgress';
  readonly message: string;
  /** Spokes that ended without success. */
  readonly failed: readonly string[];
  readonly finished: boolean;
}

/** Texts of the condition of a kind of job. */
interface RollUpTexts<S extends string, R extends string> {
  /** `… in progress for 3 clusters` */
  readonly work: string;
  /** Reason when every spoke succeeded. */
  readonly completed: R;
  readonly isFinal: (state: S) => boolean;
  /** As in the reference, a part is a success, and the upgrade does not end when all spokes fail; default: neither. */
  readonly talmStrict?: boolean | undefined;
}

/**
 * Rolls up the states of the spokes in the plan. Unlike the reference, an unstarted spoke counts as in progress. Spokes that left the plan do not
 * count.
 */
export function rollUpSpokes<S extends string, R extends string>(
  plan: readonly string[],
  states: ReadonlyMap<string, S>,
  { work, completed, isFinal, talmStrict = false }: RollUpTexts<S, R>,
): RolledUp<R> {
  const failed: string[] = [];
  let succeeded = 0;
  for (const cluster of plan) {
    const state = states.get(cluster);
    if (state === 'Succeeded') succeeded += 1;
    else if (state !== undefined && isFinal(state)) failed.push(cluster);
  }
  const running = plan.length - succeeded - failed.length;
  if (running > 0)
    return { status: 'False', reason: 'InProgress', message: `${work} in progress for ${running} clusters`, failed, finished: false };
  if (failed.length === 0)
    return { status: 'True', reason: completed, message: `${work} is completed for all clusters`, failed, finished: true };
  if (succeeded === 0)
    return { status: 'False', reason: 'Failed', message: `${work} failed for all clusters`, failed, finished: !talmStrict };
  const status = talmStrict ? 'True' : 'False';
  return { status, reason: 'PartiallyDone', message: `${work} failed for ${failed.length} clusters`, failed, finished: true };
}

/** Status, reason and message of condition PrecachingSuceeded. */
export type RollUp = RolledUp<'PrecachingCompleted'>;

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
