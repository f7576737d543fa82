/** Builds the conditions of a ClusterGroupUpgrade: their order, their words, and the generation that they were set by. Pure. */
import { type Condition, findCondition } from '@flotilla/api';
import { ClusterGroupUpgradeCondition, type ConditionReason, conditionMessage } from '@flotilla/api/ran';
import { type Pause, setCondition } from '@flotilla/rollout';

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

  set(type: string, isTrue: boolean, { reason, message }: ConditionText): void {
    const { now, talmStrict, generation } = this.#wording;
    const text = conditionMessage(reason, message, talmStrict);
    const set = setCondition(this.all, { type, status: isTrue ? 'True' : 'False', reason, message: text }, now);
    this.all = generation === undefined ? set : withGeneration(set, type, generation);
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
