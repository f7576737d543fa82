/** Reads what became of an action, whatever it is for (spec/ocm 1.3). Pure. */
import { Annotation, findCondition } from '@flotilla/api';
import { ACTION_COMPLETED, ActionReason, type ManagedClusterAction } from '@flotilla/api/ocm';

/** Outcome of an action, whatever it is for. */
export interface ActionOutcome {
  readonly retries: number;
  /** `executed` also when the object was there already, or gone already: the post-condition holds. */
  readonly outcome: 'pending' | 'executed' | 'failed';
  readonly message: string;
  /** Milliseconds since the epoch, by the hub's API server. */
  readonly createdAt: number;
  /** Milliseconds since the epoch when the outcome was reported, by the spoke's own clock. */
  readonly completedAt: number;
}

/** Reads what became of an action. */
export function observeOutcome({ metadata, status }: ManagedClusterAction): ActionOutcome {
  const condition = findCondition(status?.conditions, ACTION_COMPLETED);
  return {
    retries: countOf(metadata.annotations?.[Annotation.retries]),
    outcome: condition ? (condition.status === 'True' || isPostConditionMet(condition) ? 'executed' : 'failed') : 'pending',
    message: condition?.message ?? '',
    createdAt: Date.parse(metadata.creationTimestamp ?? '') || 0,
    completedAt: (condition && Date.parse(condition.lastTransitionTime)) || 0,
  };
}

/**
 * When an action ended: a spoke whose clock is ahead must not be waited for, nor one that is behind be asked without a pause.
 * @param now milliseconds since the epoch
 */
export const endedAt = ({ createdAt, completedAt }: ActionOutcome, now: number): number =>
  completedAt > now ? createdAt : Math.max(completedAt, createdAt);

/** Create of what exists, delete of what is gone: refused, and yet what was asked for holds (spec/ocm 1.3). */
function isPostConditionMet({ reason, message }: { reason: string; message: string }): boolean {
  return (
    (reason === ActionReason.createFailed && message.endsWith('already exists')) ||
    (reason === ActionReason.deleteFailed && message.endsWith('not found'))
  );
}

/** The number in an annotation; 0 for anything that is none. */
export function countOf(annotation = '0'): number {
  const count = Number(annotation);
  return Number.isSafeInteger(count) && count >= 0 ? count : 0;
}
