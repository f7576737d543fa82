/** Reports an upgrade for people, on the command line. */
import { NotificationState, UpgradeCondition, type UpgradeConfig, type UpgradeHistory } from '@flotilla/api/managed';
import { conditionOf, skippedWhy } from './history.ts';
import { upgradeInForce } from './in-force.ts';
import { type StepName, stepConditions, stepNames } from './steps.ts';

interface ReportedStep {
  readonly step: StepName;
  /** Done, gone on without, waiting, failing with retries, or not started. */
  readonly state: 'done' | 'skipped' | 'waiting' | 'failing' | 'left';
  /** Time of its completion or of its current state; undefined while it is left. */
  readonly since?: string;
  /** Reason of the wait, or the error. */
  readonly what?: string;
}

/** Report of an upgrade. */
export interface UpgradeReport {
  readonly phase: UpgradeHistory['phase'] | 'unseen';
  readonly from?: string;
  readonly to: string;
  readonly upgradeAt: string;
  /** Obstacles to its start, or problems of the configuration. */
  readonly complaints: readonly string[];
  readonly steps: readonly ReportedStep[];
}

/** Conditions of an upgrade besides its steps'. */
const COMPLAINTS = [
  UpgradeCondition.validated,
  UpgradeCondition.configured,
  UpgradeCondition.clusterVersionFound,
  UpgradeCondition.synced,
  UpgradeCondition.reconciled,
];

/** Reports the running upgrade, else the one that the UpgradeConfig asks for. */
export function reportUpgrade(asked: UpgradeConfig): UpgradeReport {
  const {
    upgradeConfig: { spec },
    entry,
  } = upgradeInForce(asked);
  const version = spec.desired.version ?? '';
  const steps = stepNames(spec.type, entry !== undefined && conditionOf(entry, UpgradeCondition.cacheProven) !== undefined);
  return {
    phase: entry?.phase ?? 'unseen',
    ...(entry?.precedingVersion !== undefined && { from: entry.precedingVersion }),
    to: version || spec.desired.image || '',
    upgradeAt: spec.upgradeAt,
    complaints: entry ? complaintsOf(entry) : [],
    steps: steps.map((step) => reportStep(step, entry)),
  };
}

function complaintsOf(entry: UpgradeHistory): string[] {
  const said = COMPLAINTS.map((type) => conditionOf(entry, type));
  const untold = (entry.notifications ?? []).filter(({ time, message }) => time === undefined && message !== undefined);
  const ended = entry.phase === 'Failed' ? conditionOf(entry, UpgradeCondition.ended)?.message : undefined;
  return [
    ...said.flatMap((condition) => (condition && condition.status !== 'True' && condition.message ? [condition.message] : [])),
    ...untold.map(({ state, message }) => `${state} is still to be told: ${message}`),
    ...(ended === undefined ? [] : [ended]),
  ];
}

function reportStep(step: StepName, entry: UpgradeHistory | undefined): ReportedStep {
  const condition = entry && conditionOf(entry, stepConditions[step]);
  if (!entry || !condition) return { step, state: 'left' };
  // The step shares another's condition and never delays the upgrade.
  if (step === 'report-delay') {
    const told = entry.notifications?.find(({ state }) => state === NotificationState.delayed)?.time;
    return { step, state: 'done', ...(told !== undefined && { since: told, what: 'told of a delay' }) };
  }
  if (condition.status === 'True')
    return { step, state: 'done', ...(condition.completeTime !== undefined && { since: condition.completeTime }) };
  const since = condition.lastTransitionTime ?? condition.startTime;
  const skipped = skippedWhy(entry, stepConditions[step]);
  if (skipped !== undefined) return { step, state: 'skipped', ...(since !== undefined && { since }), what: skipped };
  const isWaiting = condition.waitingFor !== undefined;
  const what = condition.waitingFor ?? condition.message;
  return { step, state: isWaiting ? 'waiting' : 'failing', ...(since !== undefined && { since }), ...(what !== undefined && { what }) };
}
