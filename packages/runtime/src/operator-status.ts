import { type Condition, withCondition } from '@flotilla/api';
import type { ClusterOperatorStatus, ConfigCondition, OperandVersion, RelatedObject } from '@flotilla/api/config';

/** Report of an operator about one condition. Reason and message are given when all is well, too (`AsExpected`). */
export interface ReportedCondition {
  readonly status: Condition['status'];
  /** In CamelCase. */
  readonly reason: string;
  /** Begins with a capital. */
  readonly message: string;
}

/** A workload that the operator runs, under the versions that its replicas have now. */
interface OperandReport {
  readonly name: string;
  readonly wanted: string;
  /** Versions found running; none when nothing runs. */
  readonly running: readonly string[];
}

/** All that an operator says of itself at one moment; it is written together, because it holds only together. */
export interface OperatorReport {
  /** Version of the release that the operator belongs to. */
  readonly version: string;
  readonly conditions: {
    readonly Available: ReportedCondition;
    readonly Progressing: ReportedCondition;
    readonly Degraded: ReportedCondition;
    /** Left out where the operator has nothing to say about updates: that allows them. */
    readonly Upgradeable?: ReportedCondition;
  };
  readonly operands: readonly OperandReport[];
  /** Objects of the operator: its namespace and its own kinds at least. */
  readonly relatedObjects: readonly RelatedObject[];
}

type ConditionName = keyof OperatorReport['conditions'];

/** For how long a bad state is reported before it is told, by condition, milliseconds; one that passes sooner is never told. */
export type Inertia = Readonly<Partial<Record<ConditionName, number>>>;

/** Since when each bad state is reported without a break. */
export type ReporterMemory = ReadonlyMap<string, number>;

/** Status that makes a condition bad; any other is reported at once. */
const isBad: Readonly<Record<ConditionName, (status: Condition['status']) => boolean>> = {
  Available: (status) => status !== 'True',
  Degraded: (status) => status !== 'False',
  Progressing: () => false,
  Upgradeable: (status) => status === 'False',
};

/** The status that follows a report, and when to look again because of what is not told yet. */
interface NextOperatorStatus {
  readonly status: Readonly<Record<string, unknown>>;
  readonly memory: ReporterMemory;
  readonly afterMs: number | undefined;
}

/**
 * Works out a ClusterOperator's status from the one it has and what its operator reports. Pure.
 *
 * - A version is told when everything runs it: while operands are mixed, or Progressing is True, the version from before stays.
 * - Available is not True before the first roll-out is complete.
 * - A condition becomes bad only after its inertia; `lastTransitionTime` moves with its status alone.
 * - Conditions of other writers stay, in their places.
 */
export function nextOperatorStatus(
  before: ClusterOperatorStatus | undefined,
  report: OperatorReport,
  { inertia, memory, nowMs }: { readonly inertia: Inertia; readonly memory: ReporterMemory; readonly nowMs: number },
): NextOperatorStatus {
  const versions = versionsAfter(before?.versions ?? [], report);
  const told = settled(report, versions);
  const since = new Map<string, number>();
  let conditions: readonly ConfigCondition[] = before?.conditions ?? [];
  let afterMs: number | undefined;
  for (const type of conditionNames) {
    const next = told[type];
    if (!next) continue;
    const now = conditions.find((one) => one.type === type);
    if (isBad[type](next.status)) {
      const from = memory.get(type) ?? nowMs;
      since.set(type, from);
      const waitMs = from + (inertia[type] ?? 0) - nowMs;
      if (waitMs > 0 && now && !isBad[type](now.status)) {
        afterMs = Math.min(afterMs ?? waitMs, waitMs);
        continue;
      }
    }
    conditions = withCondition(conditions.map(toCondition), { type, ...next }, nowMs);
  }
  const status = { ...before, conditions, versions, relatedObjects: inOrder(report.relatedObjects) };
  return { status, memory: since, afterMs };
}

const conditionNames: readonly ConditionName[] = ['Available', 'Progressing', 'Degraded', 'Upgradeable'];

const toCondition = ({ type, status, reason, message, lastTransitionTime }: ConfigCondition): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime,
});

/** Versions as they are told: what is not reached yet keeps the one from before. */
function versionsAfter(before: readonly OperandVersion[], { version, operands, conditions }: OperatorReport): OperandVersion[] {
  const isReached = ({ running, wanted }: OperandReport): boolean => running.length > 0 && running.every((one) => one === wanted);
  const told = (name: string, reached: string | undefined): OperandVersion[] => {
    const next = reached ?? before.find((one) => one.name === name)?.version;
    return next === undefined ? [] : [{ name, version: next }];
  };
  const isDone = conditions.Progressing.status !== 'True' && operands.every(isReached);
  return [
    ...told('operator', isDone ? version : undefined),
    ...operands.flatMap((operand) => told(operand.name, isReached(operand) ? operand.wanted : undefined)),
  ];
}

/** Available waits for the first roll-out. */
function settled({ conditions, version }: OperatorReport, versions: readonly OperandVersion[]): OperatorReport['conditions'] {
  if (conditions.Available.status !== 'True' || versions.some(({ name }) => name === 'operator')) return conditions;
  return {
    ...conditions,
    Available: { status: 'False', reason: 'RollingOut', message: `The first roll-out, to ${version}, is not complete` },
  };
}

/** The same list for the same objects, in whatever order they are reported. */
function inOrder(objects: readonly RelatedObject[]): RelatedObject[] {
  const keyOf = ({ group, resource, namespace = '', name }: RelatedObject): string => [group, resource, namespace, name].join('\0');
  const byKey = new Map(objects.map((object) => [keyOf(object), object]));
  return [...byKey].sort(([a], [b]) => Number(a > b) - Number(a < b)).map(([, object]) => object);
}
