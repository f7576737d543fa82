/** Gates that a rollout passes before its start and before each of its batches, in order (spec/talm 2.9). Pure. */

import { refKey } from '@flotilla/api';
import { type ClusterGroupUpgrade, type ConditionReason, explain } from '@flotilla/api/ran';
import { findUnknownAnnotation, WINDOW_KEYS } from '../upgrade/annotations.ts';
import type { Verdict } from '../upgrade/model.ts';
import { failed, type Outcome, waitingForWindow } from '../upgrade/texts.ts';
import { formatSlice } from '../values/formats.ts';
import { type Wait, waitBy } from '../waits/wait.ts';
import type { Blocking } from './blocking.ts';
import { findPause, type Pause, pauseWait } from './pause.ts';
import { type AnnotationProblem, findAnnotationProblem } from './upgrade-annotations.ts';
import { closedMs, judgeWindow, type Window, windowsOf } from './window.ts';

/** A wait that ends by somebody alone, in words of its own. */
export interface Stall {
  readonly reason: ConditionReason;
  readonly message: string;
}

/** Progress of a job on every spoke (pre-caching, backup); the spokes that failed it leave the plan. */
interface JobReport {
  readonly finished: boolean;
  readonly failed: readonly string[];
  /** The job does not get on. */
  readonly stall?: Stall | undefined;
}

/** Input of the gates that are asked again before each batch; a running rollout has passed all others for good. */
export interface BatchGateInput {
  /** The upgrade, whose fields show what is waited for. */
  readonly upgrade: Pick<ClusterGroupUpgrade, 'metadata'>;
  readonly window: Window;
  readonly pause?: Pause | undefined;
  /** Milliseconds between two times in which the rollout's time-out stands still; default none. */
  readonly closedMs?: (from: number, to: number) => number;
  /** Windows of the rollout, the one in force as the last, as its status remembers them; default none. */
  readonly windows?: ReturnType<typeof windowsOf>;
  /** Problem of an annotation, with the fix. */
  readonly annotationProblem?: AnnotationProblem | undefined;
  /** A template that is not what the running rollout began with. */
  readonly otherVersion?: Wait | undefined;
}

/** The same, by the upgrade itself. @param now epoch milliseconds */
export const batchGatesOf = (
  upgrade: ClusterGroupUpgrade,
  { now, talmStrict, areProofsKept }: { now: number; talmStrict: boolean; areProofsKept?: boolean },
): BatchGateInput => ({
  upgrade,
  window: judgeWindow(upgrade, now),
  pause: talmStrict ? undefined : findPause(upgrade),
  closedMs: (from, to) => closedMs(upgrade, from, to),
  windows: talmStrict ? [] : windowsOf(upgrade, now),
  annotationProblem: talmStrict ? undefined : judgeAnnotations(upgrade, areProofsKept),
});

/** A misspelt annotation may be a window or a pause: nothing further starts until it is corrected. */
function judgeAnnotations(upgrade: ClusterGroupUpgrade, areProofsKept: boolean | undefined): AnnotationProblem | undefined {
  const unknown = findUnknownAnnotation(upgrade);
  return unknown === undefined ? findAnnotationProblem(upgrade, areProofsKept, true) : { reason: 'UnknownAnnotation', message: unknown };
}

/** Everything the gates look at. */
export interface GateInput extends BatchGateInput {
  readonly enabled: boolean;
  readonly canaries: readonly string[];
  /** The first batch is there though others still pull. */
  readonly isFirstReady?: boolean;
  /** Clusters of the plan, those that failed a job included. */
  readonly planned: readonly string[];
  /** Undefined when there is nothing to pre-cache. */
  readonly precaching: JobReport | undefined;
  readonly blocking: Blocking;
  /** The upgrade wants a backup first, and its plan has clusters. */
  readonly wantsBackup: boolean;
  /** Undefined before it was begun. */
  readonly backup: JobReport | undefined;
}

/** Names of the gates, in order; the last two are asked of a batch alone. */
type GateName =
  | 'precaching'
  | 'enable'
  | 'annotations'
  | 'version'
  | 'pause'
  | 'window'
  | 'blocking'
  | 'backup'
  | 'filter'
  | 'preparation'
  | 'wave';

/** Why a gate does not let the upgrade pass. `progressing` is absent where the gate's own condition says it all. */
export interface Refusal {
  readonly gate: GateName;
  readonly progressing?: Verdict;
  /** The same as the status says it; absent where the states of the clusters do, or the upgrade has ended. */
  readonly wait?: Wait | undefined;
  /** Nothing but somebody's act ends the wait. */
  readonly stall?: Stall | undefined;
  /** The upgrade has ended here. */
  readonly outcome?: Outcome;
  /** When to look again even if nothing changes, epoch milliseconds. */
  readonly wakeAt?: number | undefined;
}

type Judge<I> = (input: I) => Omit<Refusal, 'gate'> | undefined;
type Gate = Judge<GateInput>;

const no = (reason: ConditionReason, message: string): { readonly progressing: Verdict } => ({
  progressing: { status: 'False', reason, message },
});

/** The same for a wait that ends by somebody alone. */
const stuck = (reason: ConditionReason, message: string) => ({ ...no(reason, message), stall: { reason, message } });

/** A field of the upgrade that shows a wait. */
const shown = ({ upgrade: { metadata } }: BatchGateInput, field: string, value: string): NonNullable<Wait['of']> => ({
  object: `ClusterGroupUpgrade ${refKey(metadata)}`,
  field,
  value,
});

/** The first of these annotations that is set. */
function annotated(input: BatchGateInput, keys: readonly string[]): NonNullable<Wait['of']> {
  const { annotations = {} } = input.upgrade.metadata;
  const key = keys.find((each) => annotations[each] !== undefined) ?? keys[0] ?? '';
  return shown(input, `metadata.annotations[${key}]`, annotations[key] ?? '');
}

/** The clusters that are left after the jobs; `undefined` where the upgrade goes on. */
function judgeJob(
  { planned, canaries }: GateInput,
  report: JobReport,
  job: 'Precaching' | 'Backup',
): { readonly outcome: Outcome } | undefined {
  const lost = new Set(report.failed);
  if (planned.length > 0 && planned.every((cluster) => lost.has(cluster)))
    return { outcome: failed(`No clusters available for remediation (${job} failed)`) };
  if (canaries.some((canary) => lost.has(canary))) return { outcome: failed(`${job} failed on canary clusters`) };
  return undefined;
}

const precached: Gate = (input) => {
  if (!input.precaching) return undefined;
  const mayGoOn = input.precaching.finished || input.isFirstReady === true;
  return mayGoOn ? judgeJob(input, input.precaching, 'Precaching') : {};
};

const enabled: Gate = (input) =>
  input.enabled
    ? undefined
    : {
        ...no('NotEnabled', 'Not enabled'),
        wait: {
          cause: 'gate-enable',
          says: 'the upgrade is not enabled',
          fix: 'set spec.enable to true',
          of: shown(input, 'spec.enable', 'false'),
        },
      };

const windowOpen: Judge<BatchGateInput> = (input) => {
  const { window } = input;
  if (window.kind === 'open') return undefined;
  const of = annotated(input, [WINDOW_KEYS.schedule, ...Object.values(WINDOW_KEYS)]);
  if (window.kind === 'invalid')
    return { ...stuck('InvalidWindow', window.message), wait: { ...waitBy('gate-window', 'InvalidWindow', window.message), of } };
  const progressing = waitingForWindow(window.message);
  const wait: Wait = { cause: 'gate-window', says: window.message, of };
  // A window without a next opening opens never again by itself.
  return window.opensAt === undefined
    ? { progressing, wait: { ...wait, fix: 'move or remove the annotations of the window' }, stall: progressing }
    : { progressing, wait: { ...wait, until: window.opensAt }, wakeAt: window.opensAt };
};

const notPaused: Judge<BatchGateInput> = ({ pause, upgrade }) =>
  pause && { ...(pause.reason === 'InvalidPause' ? stuck : no)(pause.reason, pause.message), wait: pauseWait(upgrade, pause) };

const annotationsKnown: Judge<BatchGateInput> = (input) => {
  const { annotationProblem: problem } = input;
  if (!problem) return undefined;
  const own = Object.entries(input.upgrade.metadata.annotations ?? {}).filter(([key]) => key.startsWith(OWN));
  const of = shown(input, 'metadata.annotations', JSON.stringify(Object.fromEntries(own)));
  const wait: Wait = { cause: 'gate-annotations', says: problem.message, fix: 'correct the annotation, or remove it', of };
  return { ...stuck(problem.reason, problem.message), wait };
};

const OWN = 'flotilla.io/';

const sameVersion: Judge<BatchGateInput> = ({ otherVersion: other }) =>
  other && { ...stuck('TemplateChanged', explain('TemplateChanged', other.says)), wait: other };

const blockersDone: Gate = (input) => {
  const { missing, incomplete, stalled, circle, first } = input.blocking;
  if (missing.length + incomplete.length === 0) return undefined;
  const of = shown(input, 'spec.blockingCRs', first ? refKey(first) : formatSlice([...missing, ...incomplete]));
  const says = `waits for ClusterGroupUpgrade ${of.value}`;
  if (missing.length > 0) {
    const refusal = no('MissingBlockingCR', `Missing blocking CRs: ${formatSlice(missing)}`);
    const wait = { ...waitBy('gate-blocking', 'MissingBlockingCR', `${says}, which does not exist`), of };
    return { ...refusal, wait, stall: explained(refusal.progressing) };
  }
  const refusal = no('IncompleteBlockingCR', `Blocking CRs that are not completed: ${formatSlice(incomplete)}`);
  if (circle) {
    const blocks = circle.map(refKey).join(' blocks ');
    const stall: Stall = { reason: 'IncompleteBlockingCR', message: `${blocks}: ${OUT_OF_CIRCLE}` };
    return { ...refusal, wait: { cause: 'gate-blocking', says: blocks, fix: OUT_OF_CIRCLE, of }, stall };
  }
  const wait: Wait = { cause: 'gate-blocking', says: `${says} to complete`, behind: first, of };
  return stalled.length === 0 ? { ...refusal, wait } : { ...refusal, wait, stall: blockedForGood(stalled) };
};

const OUT_OF_CIRCLE = 'remove one of blockingCRs';

const explained = ({ reason, message }: Verdict): Stall => ({ reason, message: explain(reason, message) });

/** Nothing ends an upgrade anew that has failed, and one that waits for somebody is waited for with it. */
const blockedForGood = (stalled: readonly string[]): Stall => ({
  reason: 'IncompleteBlockingCR',
  message: `Blocking CRs that have failed, or wait for somebody: ${formatSlice(stalled)}; follow their conditions, or take them out of spec.blockingCRs`,
});

const backedUp: Gate = (input) => {
  if (!input.wantsBackup) return undefined;
  if (!input.backup?.finished) {
    const stall = input.backup?.stall;
    return {
      ...no('NotStarted', 'Cluster backup is in progress'),
      wait: stall && waitBy('gate-backup', stall.reason, stall.message),
      stall,
    };
  }
  return judgeJob(input, input.backup, 'Backup');
};

const clustersLeft: Gate = (input) => {
  const { blocking, planned } = input;
  if (!blocking.eligible || planned.length === 0 || remainingClusters(input).length > 0) return undefined;
  return { outcome: failed('No clusters available for remediation after filtering out non-completed clusters from blocking CGUs') };
};

/** Asked at the start, and those of `batch` before each batch as well. */
const gates: readonly (
  | { readonly name: GateName; readonly judge: Gate; readonly batch?: undefined }
  | { readonly name: GateName; readonly batch: Judge<BatchGateInput> }
)[] = [
  { name: 'precaching', judge: precached },
  { name: 'enable', judge: enabled },
  { name: 'annotations', batch: annotationsKnown },
  { name: 'version', batch: sameVersion },
  { name: 'pause', batch: notPaused },
  { name: 'window', batch: windowOpen },
  { name: 'blocking', judge: blockersDone },
  { name: 'backup', judge: backedUp },
  { name: 'filter', judge: clustersLeft },
];

/** The first gate that refuses, or undefined when the rollout may start. */
export function judgeGates(input: GateInput): Refusal | undefined {
  for (const gate of gates) {
    const refusal = gate.batch ? gate.batch(input) : gate.judge(input);
    if (refusal) return { gate: gate.name, ...refusal };
  }
  return undefined;
}

/** The first gate that refuses, or undefined when the next batch of a rollout may start. A running rollout is in progress, whatever it waits for. */
export function judgeBatchGates(input: BatchGateInput): Refusal | undefined {
  for (const gate of gates) {
    const refusal = gate.batch?.(input);
    if (refusal) return { gate: gate.name, ...refusal, progressing: refusal.progressing && { ...refusal.progressing, status: 'True' } };
  }
  return undefined;
}

/** The clusters of the plan that the rollout starts with. */
export function remainingClusters(input: Pick<GateInput, 'planned' | 'precaching' | 'backup' | 'blocking'>): string[] {
  const { planned, precaching, backup, blocking } = input;
  const lost = new Set([...(precaching?.failed ?? []), ...(backup?.failed ?? [])]);
  return planned.filter((cluster) => !lost.has(cluster) && (blocking.eligible?.has(cluster) ?? true));
}
