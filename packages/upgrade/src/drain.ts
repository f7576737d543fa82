/** Plans steps against a drain that takes too long (spec/muo 7.6). */
import type { LabelSelector } from '@flotilla/api';
import type { Node, Pod, PodDisruptionBudget } from '@flotilla/api/core';
import { MachineConfigAnnotation, MachineConfigState, MachineLabel, UNSCHEDULABLE_TAINT } from '@flotilla/api/machine';

/** Limits of a drain, in minutes. */
export interface DrainSettings {
  readonly timeOut: number;
  readonly expectedDrainTime: number;
  /** `PDBForceDrainTimeout` of the UpgradeConfig. */
  readonly forceDrainTimeout: number;
  /** Remove nothing; a drain may still be late. */
  readonly disabled: boolean;
  readonly ignoredNamespaces: readonly Pick<RegExp, 'test'>[];
}

/** Act on a pod. */
type DrainAction = 'delete' | 'clear-finalizers';

interface Strategy {
  readonly name: string;
  /** True for pods with a disruption budget, false for the others. */
  readonly budget: boolean;
  readonly action: DrainAction;
  /** Selects the strategy's pods. */
  readonly concerns: (pod: Pod) => boolean;
  /** Selects the pods to act on now; the strategy waits for the rest. */
  readonly actsOn: (pod: Pod) => boolean;
}

const isTerminating = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;
const hasFinalizers = ({ metadata }: Pod): boolean => (metadata.finalizers ?? []).length > 0;
const isStuck = (pod: Pod): boolean => isTerminating(pod) && !hasFinalizers(pod);
const always = (): boolean => true;

/** Methods in the order of their use, each with its names for pods without and with a budget. */
const METHODS: readonly (Omit<Strategy, 'name' | 'budget'> & { readonly names: readonly [plain: string, guarded: string] })[] = [
  { names: ['DELETE', 'PDB-DELETE'], action: 'delete', concerns: always, actsOn: (pod) => !isTerminating(pod) },
  { names: ['DEFAULT-FINALIZER', 'PDB-FINALIZER'], action: 'clear-finalizers', concerns: hasFinalizers, actsOn: always },
  { names: ['POD-STUCK-TERMINATING', 'PDB-STUCK-TERMINATING'], action: 'delete', concerns: isStuck, actsOn: always },
];
/** Strategies for pods without a budget come first. */
const STRATEGIES: readonly Strategy[] = [false, true].flatMap((budget) =>
  METHODS.map(({ names: [plain, guarded], ...method }): Strategy => ({ ...method, budget, name: budget ? guarded : plain })),
);

/** One act on a pod. */
export interface DrainStep {
  readonly strategy: string;
  readonly action: DrainAction;
  readonly pod: Pod;
}

/** Steps for a node, and whether its drain is late. */
interface DrainPlan {
  readonly steps: readonly DrainStep[];
  /** Some pods of the steps have a disruption budget. */
  readonly forcesBudgets: boolean;
  readonly isLate: boolean;
}

const MINUTE = 60_000;
const waitOf = ({ budget }: Strategy, settings: DrainSettings): number =>
  (budget ? settings.forceDrainTimeout + settings.expectedDrainTime : settings.timeOut) * MINUTE;

/** Times at which a plan may change without any event, for a node cordoned at `sinceMs`; in order. */
export function drainMoments(sinceMs: number, settings: DrainSettings): number[] {
  const waits = settings.disabled ? [] : STRATEGIES.map((strategy) => waitOf(strategy, settings));
  const ends = waits.map((wait) => wait + settings.expectedDrainTime * MINUTE);
  return [...new Set([...waits, ...ends, settings.timeOut * MINUTE])].map((wait) => sinceMs + wait).toSorted((a, b) => a - b);
}

/** True when pods must be read: the first strategy's time has come. */
export const isDrainDue = (sinceMs: number, settings: DrainSettings, nowMs: number): boolean =>
  (drainMoments(sinceMs, settings)[0] ?? Number.POSITIVE_INFINITY) < nowMs;

/**
 * Plans the steps for a node by its pods.
 * @param pods on the node
 * @param budgets of the cluster
 */
export function planDrain(
  sinceMs: number,
  pods: readonly Pod[],
  budgets: readonly PodDisruptionBudget[],
  settings: DrainSettings,
  nowMs: number,
): DrainPlan {
  if (settings.disabled) return { steps: [], forcesBudgets: false, isLate: sinceMs + settings.timeOut * MINUTE < nowMs };
  const removable = pods.filter((pod) => isRemovable(pod, settings));
  const isProtected = (pod: Pod) => budgets.some((budget) => protects(budget, pod));
  const [guarded, plain] = [removable.filter(isProtected), removable.filter((pod) => !isProtected(pod))];
  const podsOf = (strategy: Strategy) => (strategy.budget ? guarded : plain).filter(strategy.concerns);
  const isDue = (strategy: Strategy) => sinceMs + waitOf(strategy, settings) < nowMs;
  const steps = STRATEGIES.filter(isDue).flatMap((strategy) =>
    podsOf(strategy)
      .filter(strategy.actsOn)
      .map((pod): DrainStep => ({ strategy: strategy.name, action: strategy.action, pod })),
  );
  const isPending = STRATEGIES.some((strategy) => !isDue(strategy) && podsOf(strategy).length > 0);
  return {
    steps,
    forcesBudgets: steps.some(({ strategy }) => strategy === 'PDB-DELETE'),
    isLate: !isPending && lateFrom(sinceMs, STRATEGIES.filter(isDue), settings) < nowMs,
  };
}

/** Time from which a drain is late: the last strategy gets the expected time of a drain. */
function lateFrom(sinceMs: number, tried: readonly Strategy[], settings: DrainSettings): number {
  const timeOut = settings.timeOut * MINUTE;
  const last = Math.max(...tried.map((strategy) => waitOf(strategy, settings))) + settings.expectedDrainTime * MINUTE;
  return sinceMs + (tried.length > 0 && last > timeOut ? last : timeOut);
}

/** True for a pod that a drain removes. */
const isRemovable = (pod: Pod, { ignoredNamespaces }: DrainSettings): boolean =>
  !isOfNode(pod) && !ignoredNamespaces.some((pattern) => pattern.test(pod.metadata.namespace ?? ''));

/** True for pods of DaemonSets and of the node itself, which no drain removes. */
export const isOfNode = ({ metadata }: Pod): boolean =>
  metadata.ownerReferences?.some(({ kind }) => kind === 'DaemonSet') === true ||
  metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined;

/** Cordon of a node and its start; `unknown` when the taint has no time. */
type Cordon = { readonly sinceMs: number } | 'unknown' | undefined;

/** Reads the cordon: the node is unschedulable and has the taint for it (spec/muo 2.3). */
export function cordonOf({ spec }: Node): Cordon {
  const taint = spec?.taints?.find(({ key, effect }) => key === UNSCHEDULABLE_TAINT && effect === 'NoSchedule');
  if (!spec?.unschedulable || !taint) return undefined;
  const sinceMs = Date.parse(taint.timeAdded ?? '');
  return Number.isNaN(sinceMs) ? 'unknown' : { sinceMs };
}

/** A daemon that gave a drain up is Degraded, while the cordoned node still waits for its pods to go. */
const CHANGING: ReadonlySet<string | undefined> = new Set([
  MachineConfigState.working,
  MachineConfigState.degraded,
  MachineConfigState.unreconcilable,
]);

/** True when the node's configuration changes, or is about to: its cordon serves that (spec/muo 12, 7). */
export function isBeingConfigured({ metadata: { annotations = {} } }: Node): boolean {
  const { state, current, desired } = MachineConfigAnnotation;
  return CHANGING.has(annotations[state]) || (annotations[desired] !== undefined && annotations[desired] !== annotations[current]);
}

/** True for a node of the control plane, which the cluster version operator waits for. */
export const isControlPlaneNode = ({ metadata: { labels = {} } }: Node): boolean =>
  labels[MachineLabel.master] !== undefined || labels[MachineLabel.controlPlane] !== undefined;

/** True when a budget covers a pod: same namespace, all labels and expressions. No selector selects nothing, an empty one everything. */
export function protects({ metadata, spec }: PodDisruptionBudget, pod: Pod): boolean {
  if (metadata.namespace !== pod.metadata.namespace || !spec?.selector) return false;
  return selects(spec.selector, pod.metadata.labels ?? {});
}

function selects({ matchLabels = {}, matchExpressions = [] }: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => holds(operator, labels[key], values))
  );
}

function holds(operator: string, value: string | undefined, values: readonly string[]): boolean {
  if (operator === 'Exists') return value !== undefined;
  if (operator === 'DoesNotExist') return value === undefined;
  const isIn = value !== undefined && values.includes(value);
  if (operator === 'In') return isIn;
  return operator === 'NotIn' && !isIn;
}
