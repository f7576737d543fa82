/** Changes an UpgradeConfig's status without mutation of the original (spec/muo 1.4 to 1.7). */
import { conditionTime } from '@flotilla/api';
import type { StepCondition, UpgradeConfig, UpgradeHistory } from '@flotilla/api/managed';

/** History of an UpgradeConfig, the newest upgrade first; empty before its first reconcile. */
export const historyOf = ({ status }: UpgradeConfig): readonly UpgradeHistory[] => status?.history ?? [];

/** Finds the newest entry of a version; an image of unknown version has none. */
export const findEntry = (history: readonly UpgradeHistory[], version: string): UpgradeHistory | undefined =>
  history.find((entry) => (entry.version ?? '') === version);

/** Gives the newest entry its image's version once that is known. */
export function withResolvedVersion(history: readonly UpgradeHistory[], version: string): readonly UpgradeHistory[] {
  const [newest, ...older] = history;
  return newest && version !== '' && (newest.version ?? '') === '' ? [{ ...newest, version }, ...older] : history;
}

/** Finds a condition by type. */
export const conditionOf = ({ conditions }: UpgradeHistory, type: string): StepCondition | undefined =>
  conditions?.find((condition) => condition.type === type);

/** True for a True condition; a missing one is not. */
export const isTrue = (entry: UpgradeHistory, type: string): boolean => conditionOf(entry, type)?.status === 'True';

/** New content of a condition; its times follow from the previous one. */
type ConditionSaid = Pick<StepCondition, 'type' | 'status' | 'reason' | 'message' | 'waitingFor'> & {
  /** Start time; default: the previous one, or now. */
  readonly startTime?: string;
};

/**
 * Sets a condition in its place, or a new one before all others. Times move only with their subject, so an equal condition changes nothing.
 * `lastProbeTime` moves with any change, `lastTransitionTime` with the status, `completeTime` when it becomes True.
 */
export function withStepCondition(entry: UpgradeHistory, said: ConditionSaid, nowMs: number): UpgradeHistory {
  const conditions = entry.conditions ?? [];
  const old = conditions.find(({ type }) => type === said.type);
  if (old && isSameSaid(old, said)) return entry;
  const now = conditionTime(nowMs);
  const isDone = said.status === 'True';
  const condition: StepCondition = {
    type: said.type,
    status: said.status,
    reason: said.reason,
    message: said.message,
    ...(said.waitingFor !== undefined && { waitingFor: said.waitingFor }),
    lastProbeTime: now,
    lastTransitionTime: old?.status === said.status ? (old.lastTransitionTime ?? now) : now,
    startTime: old?.startTime ?? said.startTime ?? now,
    ...(isDone && { completeTime: old?.completeTime ?? now }),
  };
  return { ...entry, conditions: old ? conditions.map((other) => (other === old ? condition : other)) : [condition, ...conditions] };
}

const isSameSaid = (old: StepCondition, said: ConditionSaid): boolean =>
  old.status === said.status && old.reason === said.reason && old.message === said.message && old.waitingFor === said.waitingFor;

/** End of a step's run. */
export type StepEnd =
  | { readonly kind: 'done' }
  /** The upgrade goes on without what the step is for. */
  | { readonly kind: 'skipped'; readonly reason: string }
  | { readonly kind: 'waiting'; readonly reason: string }
  | { readonly kind: 'failed'; readonly message: string };

const skipped = (type: string): string => `${type} skipped`;
const SAYS = ' was skipped: ';

/** Why the step of a condition was skipped; undefined of any other end. */
export function skippedWhy(entry: UpgradeHistory, type: string): string | undefined {
  const condition = conditionOf(entry, type);
  return condition?.reason === skipped(type) ? condition.message?.slice(type.length + SAYS.length) : undefined;
}

/** Records the end of a step in the reference's words (spec/muo 5.2). A completed step keeps its reason. */
export function withStepEnd(entry: UpgradeHistory, type: string, end: StepEnd, nowMs: number): UpgradeHistory {
  if (end.kind === 'skipped')
    return withStepCondition(entry, { type, status: 'False', reason: skipped(type), message: `${type}${SAYS}${end.reason}` }, nowMs);
  const before = conditionOf(entry, type)?.reason;
  const reason = before === undefined || before === skipped(type) ? `${type} not done` : before;
  if (end.kind === 'done')
    return withStepCondition(entry, { type, status: 'True', reason: `${type} done`, message: `${type} is completed` }, nowMs);
  if (end.kind === 'waiting')
    return withStepCondition(entry, { type, status: 'False', reason, message: `${type} still in progress`, waitingFor: end.reason }, nowMs);
  return withStepCondition(entry, { type, status: 'False', reason, message: end.message }, nowMs);
}
