/** What is done about a node whose drain takes too long (spec/muo 7.6). */
import type { Pod, PodDisruptionBudget } from '@flotilla/api/core';
import { protects } from './selector.ts';

/** How long a drain may take; minutes. */
export interface DrainSettings {
  readonly timeOut: number;
  readonly expectedDrainTime: number;
  /** `PDBForceDrainTimeout` of the UpgradeConfig. */
  readonly forceDrainTimeout: number;
  /** Nothing is removed; a drain may be late all the same. */
  readonly disabled: boolean;
  readonly ignoredNamespaces: readonly Pick<RegExp, 'test'>[];
}

/** What is done to a pod. */
type DrainAction = 'delete' | 'clear-finalizers';

interface Strategy {
  readonly name: string;
  /** About pods with a disruption budget, or about the others. */
  readonly budget: boolean;
  readonly action: DrainAction;
  /** Which pods it is about. */
  readonly concerns: (pod: Pod) => boolean;
  /** Which of them it acts on now; the rest it waits for. */
  readonly actsOn: (pod: Pod) => boolean;
}

const isTerminating = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;
const hasFinalizers = ({ metadata }: Pod): boolean => (metadata.finalizers ?? []).length > 0;
const isStuck = (pod: Pod): boolean => isTerminating(pod) && !hasFinalizers(pod);
const any = (): boolean => true;

/** In the order they are carried out, each under the name it has for pods without a budget and for those with one. */
const METHODS: readonly (Omit<Strategy, 'name' | 'budget'> & { readonly names: readonly [plain: string, guarded: string] })[] = [
  { names: ['DELETE', 'PDB-DELETE'], action: 'delete', concerns: any, actsOn: (pod) => !isTerminating(pod) },
  { names: ['DEFAULT-FINALIZER', 'PDB-FINALIZER'], action: 'clear-finalizers', concerns: hasFinalizers, actsOn: any },
  { names: ['POD-STUCK-TERMINATING', 'PDB-STUCK-TERMINATING'], action: 'delete', concerns: isStuck, actsOn: any },
];
/** Those for pods without a budget first. */
const STRATEGIES: readonly Strategy[] = [false, true].flatMap((budget) =>
  METHODS.map(({ names: [plain, guarded], ...method }): Strategy => ({ ...method, budget, name: budget ? guarded : plain })),
);

/** One thing to do. */
export interface DrainStep {
  readonly strategy: string;
  readonly action: DrainAction;
  readonly pod: Pod;
}

/** What is to be done about a node, and whether its drain is late. */
interface DrainPlan {
  readonly steps: readonly DrainStep[];
  /** Pods with a disruption budget are among them. */
  readonly forcesBudgets: boolean;
  readonly isLate: boolean;
}

const MINUTE = 60_000;
const waitOf = ({ budget }: Strategy, settings: DrainSettings): number =>
  (budget ? settings.forceDrainTimeout + settings.expectedDrainTime : settings.timeOut) * MINUTE;

/** Moments at which something may change for a node that was cordoned then, without anything happening; in order. */
export function drainMoments(sinceMs: number, settings: DrainSettings): number[] {
  const waits = settings.disabled ? [] : STRATEGIES.map((strategy) => waitOf(strategy, settings));
  const ends = waits.map((wait) => wait + settings.expectedDrainTime * MINUTE);
  return [...new Set([...waits, ...ends, settings.timeOut * MINUTE])].map((wait) => sinceMs + wait).toSorted((a, b) => a - b);
}

/** Whether pods have to be looked at: no strategy's time has come before. */
export const isDrainDue = (sinceMs: number, settings: DrainSettings, nowMs: number): boolean =>
  (drainMoments(sinceMs, settings)[0] ?? Number.POSITIVE_INFINITY) < nowMs;

/**
 * Judges a node by its pods.
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

/** When a drain is late, given what was tried: what was tried last gets the time that a drain is expected to take. */
function lateFrom(sinceMs: number, tried: readonly Strategy[], settings: DrainSettings): number {
  const timeOut = settings.timeOut * MINUTE;
  const last = Math.max(...tried.map((strategy) => waitOf(strategy, settings))) + settings.expectedDrainTime * MINUTE;
  return sinceMs + (tried.length > 0 && last > timeOut ? last : timeOut);
}

/** A pod that leaves with its node's drain: none that its DaemonSet or the node itself keeps there. */
function isRemovable({ metadata }: Pod, { ignoredNamespaces }: DrainSettings): boolean {
  if (metadata.ownerReferences?.some(({ kind }) => kind === 'DaemonSet')) return false;
  if (metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined) return false;
  return !ignoredNamespaces.some((pattern) => pattern.test(metadata.namespace ?? ''));
}
