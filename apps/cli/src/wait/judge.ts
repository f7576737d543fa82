/** Judges by the answer of `flotilla status` whether what a wait is for is so. Pure. */
import { endedWithoutEdits, hasEnded, type StatusAnswer } from '@flotilla/api/answers';
import { duration } from '@flotilla/api/units';
import type { WaitOptions } from '../hub/options.ts';

/** The end of a wait, or that it goes on. */
export type Verdict = 'yes' | 'no' | 'not yet';

/** Judges if the goal of a wait is reached, or cannot be any more. @param goal as `--for` has it */
export function judgeGoal(goal: string, answer: StatusAnswer): Verdict {
  const { stage, edits } = answer;
  const isOver = hasEnded(answer);
  // Neither the states of an older spec nor those before a refusal say anything of this spec.
  if (edits?.state === 'unprocessed' || stage === 'refused') return isOver && stage !== 'done' ? 'no' : 'not yet';
  if (isOver && edits?.state === 'ignored') return 'no';
  if (goal === 'done') return stage === 'done' ? 'yes' : isOver ? 'no' : 'not yet';
  return goal === 'cached' ? judgeCached(answer, isOver) : judgeBatch(batchOf(goal), answer, isOver);
}

function judgeCached({ cached }: StatusAnswer, isOver: boolean): Verdict {
  if (cached && cached.done === cached.of) return 'yes';
  return isOver || (cached && cached.done + cached.failed === cached.of) ? 'no' : 'not yet';
}

function judgeBatch(wanted: number, { stage, batch }: StatusAnswer, isOver: boolean): Verdict {
  // Between batches the next one is named, and has not begun.
  const begun = stage === 'between-batches' ? batch.current - 1 : batch.current;
  if (begun >= wanted || stage === 'done') return 'yes';
  return isOver || (batch.of > 0 && wanted > batch.of) ? 'no' : 'not yet';
}

const batchOf = (goal: string): number => Number(goal.slice('batch='.length));

/** The sentence for a wait that has not ended with yes, without the name of the upgrade. */
export function whyNot(verdict: Verdict, answer: StatusAnswer, { for: goal, timeout }: Pick<WaitOptions, 'for' | 'timeout'>): string {
  const { batch, edits, says } = answer;
  if (verdict !== 'no') return `is not ${goal} after ${duration(timeout / 1000)}: ${edits?.state === 'unprocessed' ? edits.says : says}`;
  if (edits && endedWithoutEdits(answer)) return `has ended without the edits of its spec: ${edits.says}`;
  const isBeyond = goal.startsWith('batch=') && batch.of > 0 && batchOf(goal) > batch.of;
  const batches = batch.of === 1 ? 'one batch' : `${batch.of} batches`;
  return `${isBeyond ? `has ${batches}, and will never be ${goal}` : `will not be ${goal} any more`}: ${says}`;
}
