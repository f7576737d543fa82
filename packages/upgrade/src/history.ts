/** The status of an UpgradeConfig, changed without touching the one that was read (spec/muo 1.4 to 1.7). */
import { conditionTime } from '@flotilla/api';
import type { StepCondition, UpgradeConfig, UpgradeHistory } from '@flotilla/api/managed';

/** Upgrades of an UpgradeConfig, the newest first; none before anybody looked at it. */
export const historyOf = ({ status }: UpgradeConfig): readonly UpgradeHistory[] => status?.history ?? [];

/** The newest entry of a version; that of an image whose version is not known has none. */
export const findEntry = (history: readonly UpgradeHistory[], version: string): UpgradeHistory | undefined =>
  history.find((entry) => (entry.version ?? '') === version);

/** The newest entry, of an image whose version has become known, is that version's from now on. */
export function withResolvedVersion(history: readonly UpgradeHistory[], version: string): readonly UpgradeHistory[] {
  const [newest, ...older] = history;
  return newest && version !== '' && (newest.version ?? '') === '' ? [{ ...newest, version }, ...older] : history;
}

/** What is said under a type; undefined when nothing is. */
export const conditionOf = ({ conditions }: UpgradeHistory, type: string): StepCondition | undefined =>
  conditions?.find((condition) => condition.type === type);

/** Whether that is so; what nobody said is not. */
export const isTrue = (entry: UpgradeHistory, type: string): boolean => conditionOf(entry, type)?.status === 'True';

/** What is said of a condition; its times follow from what was said before. */
type ConditionSaid = Pick<StepCondition, 'type' | 'status' | 'reason' | 'message' | 'waitingFor'> & {
  /** When it was begun; default: as before, or now. */
  readonly startTime?: string;
};

/**
 * Sets a condition: in its place, or before all others when it is new. Times move only with what they are the time of, so that saying
 * the same again is no change: `lastProbeTime` with anything, `lastTransitionTime` with the status, `completeTime` when it becomes True.
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

/** How a step ended. */
export type StepEnd =
  | { readonly kind: 'done' }
  | { readonly kind: 'waiting'; readonly reason: string }
  | { readonly kind: 'failed'; readonly message: string };

/** The entry after a step, in the words of the reference (spec/muo 5.2). A step that was done once keeps its reason, whatever comes. */
export function withStepEnd(entry: UpgradeHistory, type: string, end: StepEnd, nowMs: number): UpgradeHistory {
  const reason = conditionOf(entry, type)?.reason ?? `${type} not done`;
  if (end.kind === 'done')
    return withStepCondition(entry, { type, status: 'True', reason: `${type} done`, message: `${type} is completed` }, nowMs);
  if (end.kind === 'waiting')
    return withStepCondition(entry, { type, status: 'False', reason, message: `${type} still in progress`, waitingFor: end.reason }, nowMs);
  return withStepCondition(entry, { type, status: 'False', reason, message: end.message }, nowMs);
}
