import { type Condition, conditionTime } from '@flotilla/api';

/** Condition as a caller states it; the time is added here. */
type ConditionUpdate = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/**
 * The conditions after one update, as the reference orders them (spec/talm 2.2): a new type is appended; an existing one
 * keeps its place, except when its status changes and it is not last: then it moves to the end. `lastTransitionTime`
 * moves only with the status. The very same array is returned when nothing changes, so identity tells whether to write.
 */
export function setCondition(conditions: Condition[], update: ConditionUpdate, now: Date): Condition[] {
  const { type, status, reason, message } = update;
  // The API server would cut the milliseconds anyway, and the next comparison would differ.
  const time = conditionTime(now.getTime());
  const index = conditions.findIndex((condition) => condition.type === type);
  const current = conditions[index];
  if (!current) return [...conditions, { type, status, reason, message, lastTransitionTime: time }];
  if (current.status !== status) {
    const changed = { ...current, status, reason, message, lastTransitionTime: time };
    return [...conditions.filter((condition) => condition.type !== type), changed];
  }
  if (current.reason === reason && current.message === message) return conditions;
  return conditions.with(index, { ...current, reason, message });
}
