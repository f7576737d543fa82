/** How far an upgrade is, for people: what the command line shows. */
import { NotificationState, UpgradeCondition, type UpgradeConfig, type UpgradeHistory } from '@flotilla/api/managed';
import { conditionOf } from './history.ts';
import { upgradeInForce } from './in-force.ts';
import { type StepName, stepConditions, upgraders } from './steps.ts';

/** A step as it is told of. */
interface ReportedStep {
  readonly step: StepName;
  /** Done, waiting for something, failing and tried again, or not begun. */
  readonly state: 'done' | 'waiting' | 'failing' | 'left';
  /** When it was done, or since when it is as it is; undefined while it is left. */
  readonly since?: string;
  /** What is waited for, or what is wrong. */
  readonly what?: string;
}

/** An upgrade as it is told of. */
export interface UpgradeReport {
  readonly phase: UpgradeHistory['phase'] | 'unseen';
  readonly from?: string;
  readonly to: string;
  readonly upgradeAt: string;
  /** Why it does not begin, or what is wrong with the configuration. */
  readonly complaints: readonly string[];
  readonly steps: readonly ReportedStep[];
}

/** What is said of an upgrade beside its steps. */
const COMPLAINTS = [UpgradeCondition.validated, UpgradeCondition.configured, UpgradeCondition.clusterVersionFound, UpgradeCondition.synced];

/** Tells of the upgrade that is under way, else of the one that an UpgradeConfig asks for. */
export function reportUpgrade(asked: UpgradeConfig): UpgradeReport {
  const {
    upgradeConfig: { spec },
    entry,
  } = upgradeInForce(asked);
  const version = spec.desired.version ?? '';
  const { steps } = upgraders[spec.type];
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
  // It has no condition of its own, and never holds anything up.
  if (step === 'report-delay') {
    const told = entry.notifications?.find(({ state }) => state === NotificationState.delayed)?.time;
    return { step, state: 'done', ...(told !== undefined && { since: told, what: 'told of a delay' }) };
  }
  if (condition.status === 'True')
    return { step, state: 'done', ...(condition.completeTime !== undefined && { since: condition.completeTime }) };
  const since = condition.lastTransitionTime ?? condition.startTime;
  const isWaiting = condition.waitingFor !== undefined;
  const what = condition.waitingFor ?? condition.message;
  return { step, state: isWaiting ? 'waiting' : 'failing', ...(since !== undefined && { since }), ...(what !== undefined && { what }) };
}
