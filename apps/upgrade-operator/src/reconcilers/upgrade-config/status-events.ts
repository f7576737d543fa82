/** Derives events from a status that was written: phases, and failures in them. */
import { UpgradeCondition, type UpgradeHistory, type UpgradePhase } from '@flotilla/api/managed';
import type { EventToRecord } from '@flotilla/runtime';
import { conditionOf, isWithdrawn, skippedWhy, stepConditions } from '@flotilla/upgrade';

type Type = EventToRecord['type'];
type Told = Pick<EventToRecord, 'type' | 'reason' | 'action' | 'note'>;

const PHASES: Readonly<Record<UpgradePhase, { readonly type: Type; readonly reason: string; readonly what: string }>> = {
  New: { type: 'Normal', reason: 'UpgradeNew', what: 'was taken up' },
  Pending: { type: 'Normal', reason: 'UpgradePending', what: 'waits for its time' },
  Upgrading: { type: 'Normal', reason: 'UpgradeUnderWay', what: 'has begun' },
  Upgraded: { type: 'Normal', reason: 'UpgradeDone', what: 'is done' },
  Failed: { type: 'Warning', reason: 'UpgradeGivenUp', what: 'was given up: its window ended before anything was changed' },
};
/** Reason of the event about a failed step; a waiting step is no news. */
const STEP_FAILED = 'UpgradeStepFailed';
/** Reason of the event about a step that the upgrade goes on without. */
const STEP_SKIPPED = 'UpgradeStepSkipped';

const STEPS: ReadonlySet<string> = new Set(Object.values(stepConditions));
/** Conditions beside those of steps, whose reasons are events' too. */
const CONCERNS: ReadonlySet<string> = new Set([
  UpgradeCondition.validated,
  UpgradeCondition.configured,
  UpgradeCondition.clusterVersionFound,
  UpgradeCondition.synced,
]);

/** Events between two histories, in the order of the entries: new ones come before all others, and none goes. Pure. */
export function statusEvents(before: readonly UpgradeHistory[], after: readonly UpgradeHistory[]): Told[] {
  const added = after.length - before.length;
  return after.flatMap((entry, index) => {
    const old = before[index - added];
    return [...phaseEvents(old, entry), ...conditionEvents(old, entry)];
  });
}

function phaseEvents(old: UpgradeHistory | undefined, entry: UpgradeHistory): Told[] {
  const { phase, version } = entry;
  if (old?.phase === phase) return [];
  if (isWithdrawn(entry)) {
    const note = conditionOf(entry, UpgradeCondition.ended)?.message ?? '';
    return [{ type: 'Normal', reason: 'UpgradeWithdrawn', action: 'EnterPhase', note }];
  }
  const { type, reason, what } = PHASES[phase];
  return [{ type, reason, action: 'EnterPhase', note: `The upgrade${version === undefined ? '' : ` to ${version}`} ${what}` }];
}

function conditionEvents(old: UpgradeHistory | undefined, entry: UpgradeHistory): Told[] {
  return (entry.conditions ?? []).flatMap(({ type, status, reason = '', message = '', waitingFor }): Told[] => {
    const was = old?.conditions?.find((condition) => condition.type === type);
    if (was?.status === status && was.message === message) return [];
    if (skippedWhy(entry, type) !== undefined) return [{ type: 'Warning', reason: STEP_SKIPPED, action: 'TakeStep', note: message }];
    if (STEPS.has(type))
      return status === 'False' && waitingFor === undefined
        ? [{ type: 'Warning', reason: STEP_FAILED, action: 'TakeStep', note: `${type}: ${message}` }]
        : [];
    // A condition that was never wrong needs no event when it is right.
    if (!CONCERNS.has(type) || (status === 'True' && !was)) return [];
    const isWarning = status !== 'True' && reason !== 'ChangeHeld';
    return [{ type: isWarning ? 'Warning' : 'Normal', reason, action: 'Judge', note: message }];
  });
}
