/** Builds the conditions of a ClusterGroupUpgrade: their order, their words, and the generation that they were set by. Pure. */
import { type Condition, conditionTime, findCondition } from '@flotilla/api';
import { ClusterGroupUpgradeCondition, type ConditionReason, conditionMessage } from '@flotilla/api/ran';
import type { Pause } from '@flotilla/rollout';

/** Time and wording of conditions. */
export interface Wording {
  readonly now: Date;
  /** Keep the reference's messages without our fix. */
  readonly talmStrict: boolean;
  /** Generation that the pass has read; absent with `--talm-strict`, because the reference states none. */
  readonly generation?: number | undefined;
}

/** Reason and message of a condition. */
export interface ConditionText {
  readonly reason: ConditionReason;
  readonly message: string;
}

/** Conditions under construction; `setCondition` decides their order. Each message gets the fix of its reason. */
export class Conditions {
  all: Condition[];
  readonly #wording: Wording;

  constructor(conditions: Condition[], wording: Wording) {
    this.all = conditions;
    this.#wording = wording;
  }

  /** Sets a condition by what was judged for the generation of this pass. */
  set(type: string, isTrue: boolean, text: ConditionText): void {
    this.carry(type, isTrue, text);
    const { generation } = this.#wording;
    if (generation !== undefined) this.all = withGeneration(this.all, type, generation);
  }

  /** Sets a condition by what was judged for the generation that it names already, because nothing was for the one of this pass. */
  carry(type: string, isTrue: boolean, { reason, message }: ConditionText): void {
    const { now, talmStrict } = this.#wording;
    const text = conditionMessage(reason, message, talmStrict);
    this.all = setCondition(this.all, { type, status: isTrue ? 'True' : 'False', reason, message: text }, now);
  }

  /** Condition Paused stands last while it lasts: `kubectl get` shows the last one. */
  setPaused(pause: Pause | undefined): void {
    const type = ClusterGroupUpgradeCondition.paused;
    if (pause) this.set(type, true, pause);
    const found = findCondition(this.all, type);
    this.all = [...this.all.filter((condition) => condition !== found), ...(pause && found ? [found] : [])];
  }
}

const withGeneration = (conditions: Condition[], type: string, observedGeneration: number): Condition[] =>
  conditions.map((condition) => (condition.type === type ? { ...condition, observedGeneration } : condition));

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
