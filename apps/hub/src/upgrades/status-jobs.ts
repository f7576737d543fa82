/** Writes what pre-caching, proofs and backups came to into the status of a ClusterGroupUpgrade. Pure. */
import { isDeepStrictEqual } from 'node:util';
import {
  type CacheProof,
  ClusterGroupUpgradeCondition,
  type ClusterGroupUpgradeStatus,
  cutInMiddle,
  hasFailedPrecache,
  isFinalPrecacheState,
  MAX_FAILED_NODES,
  type NodesProgress,
  type PinWay,
  type PrecacheNodes,
  type PrecacheProgress,
  type PrecacheState,
  summarizeTrouble,
  textInStatus,
} from '@flotilla/api/ran';
import { RecordState, type Refusal, saidOf, strongerPins, type UpgradePlan, without } from '@flotilla/rollout';
import { figuresOf, type JudgedSpoke } from '../spokes/jobs/judge.ts';
import { type BackupReport, describeBackup } from '../spokes/jobs/kinds/backup/report.ts';
import type { RollUp } from '../spokes/jobs/status.ts';
import { orAbsent } from './status-budget.ts';
import type { Conditions, ConditionText, Wording } from './status-conditions.ts';

const { backupSucceeded, precachingSucceeded } = ClusterGroupUpgradeCondition;

/** Most entries of `precaching.progress`. */
const PROGRESS_LIMIT = 1000;

/** Pre-caching of an upgrade, as far as it is known. */
export interface PrecachingReport {
  readonly rollUp: RollUp;
  /** Clusters of the plan, and those that left it while under way. */
  readonly clusters: readonly string[];
  readonly spokes: ReadonlyMap<string, JudgedSpoke<PrecacheState>>;
  /** Number of tries on demand beyond the first, by cluster. */
  readonly retries: Readonly<Record<string, number>>;
  /** Jobs that prove or restore what was pulled. */
  readonly proofs?: readonly CacheProof[] | undefined;
  /** Pulled images are pinned; default false. */
  readonly pins?: PinWay | undefined;
  /** When it may differ without any event, milliseconds since the epoch. */
  readonly at?: number | undefined;
}

/** Proofs of a running rollout, and jobs of clusters that left its plan. */
export interface RolloutJobs {
  /** Absent: they stay as they are. */
  readonly proofs: readonly CacheProof[] | undefined;
  /** Clusters with a job, or with objects of one. */
  readonly clusters: readonly string[];
  readonly spokes: ReadonlyMap<string, JudgedSpoke<PrecacheState>>;
  /** States have changed that are not stored yet. */
  readonly isNews: boolean;
  /** When it may differ without any event, milliseconds since the epoch. */
  readonly at?: number | undefined;
}

/** Pulls of clusters that came to a rollout that runs. */
export type LatePulls = Omit<PrecachingReport, 'retries'>;

/** Adds the pulls of late clusters to the status that a pass of the rollout goes by: one that failed leaves its cluster out. */
export function describeLatePulls(before: ClusterGroupUpgradeStatus, pulls: LatePulls | undefined): ClusterGroupUpgradeStatus {
  if (!pulls) return before;
  const status = withSpokes(before, pulls, 'NotStarted');
  const failed = pulls.clusters.filter((cluster) => hasFailedPrecache(status.precaching.status[cluster] ?? 'NotStarted'));
  if (failed.length > 0) recordFailed(status, failed);
  return status;
}

/** Adds backups of a running rollout to the status that its pass goes by: one that failed leaves its cluster out. */
export function describeLateBackups(
  before: ClusterGroupUpgradeStatus,
  report: BackupReport | undefined,
  wording: Pick<Wording, 'now'>,
): ClusterGroupUpgradeStatus {
  if (!report) return before;
  const status = { ...before, backup: describeBackup(before.backup, report, wording) };
  if (report.rollUp.failed.length > 0) recordFailed(status, report.rollUp.failed);
  forgetPulls(status, { mayComeAgain: true });
  return status;
}

/**
 * Takes the pulls of clusters that are left out before they have begun out of the status of a rollout: nobody makes them any more.
 * @param of `mayComeAgain`: a retry takes them up again, whose pull is still to come; only what it waits for is no wait
 */
export function forgetPulls(status: ClusterGroupUpgradeStatus, { mayComeAgain }: { readonly mayComeAgain: boolean }): void {
  const { status: states, messages } = status.precaching ?? {};
  const failed = (status.clusters ?? []).flatMap(({ name, state }) => (state === RecordState.failed ? [name] : []));
  const unbegun = new Set(failed.filter((cluster) => states?.[cluster] === 'NotStarted'));
  if (unbegun.size === 0) return;
  const isLeft = (cluster: string) => unbegun.has(cluster);
  status.precaching = {
    ...status.precaching,
    status: mayComeAgain ? states : without(states, isLeft),
    messages: orAbsent(without(messages, isLeft) ?? {}),
  };
}

/** The status with states and messages of these clusters' jobs instead of those that it had. @param initial of one that is not known */
function withSpokes(before: ClusterGroupUpgradeStatus, report: Pick<PrecachingReport, 'clusters' | 'spokes'>, initial?: PrecacheState) {
  const [states, messages] = [{ ...before.precaching?.status }, { ...before.precaching?.messages }];
  for (const cluster of report.clusters) {
    const state = report.spokes.get(cluster)?.state ?? initial;
    if (state !== undefined) states[cluster] = state;
    delete messages[cluster];
  }
  const status = { ...before, precaching: { ...before.precaching, status: states } };
  describeSpokes(status, report);
  status.precaching.messages = orAbsent({ ...messages, ...status.precaching.messages });
  return status;
}

/** Adds the proofs of a rollout and other jobs to its status: the states of proofs replace those of the pull. */
export function describeRolloutJobs(status: ClusterGroupUpgradeStatus, report: RolloutJobs | undefined): ClusterGroupUpgradeStatus {
  if (!report) return status;
  const next = withSpokes(status, report);
  return report.proofs ? { ...next, precaching: { ...next.precaching, proofs: orAbsent([...report.proofs]) } } : next;
}

/** Adds pre-caching to a status: its condition, states and bytes; once it is over, the record of clusters that failed. */
export function describePrecaching(
  status: ClusterGroupUpgradeStatus,
  conditions: Conditions,
  { rollUp, clusters, spokes, retries, proofs, pins }: PrecachingReport,
  { plan, refusal, talmStrict }: { readonly plan: UpgradePlan; readonly refusal: Refusal | undefined; readonly talmStrict: boolean },
): void {
  const content = talmStrict ? rollUp : withTrouble(rollUp, spokes, 'status.precaching.messages');
  // Under a refused plan the jobs of an earlier generation go on. Pre-caching that is not wanted any more keeps its last condition.
  if (plan.stopped !== undefined) conditions.carry(precachingSucceeded, rollUp.status === 'True', content);
  else if (plan.precaching !== undefined) conditions.set(precachingSucceeded, rollUp.status === 'True', content);
  const states: Record<string, PrecacheState> = {};
  const sum = { imagesDone: 0, imagesTotal: 0, bytesDone: 0, bytesTotal: 0 };
  let reported = 0;
  for (const cluster of clusters) {
    const spoke = spokes.get(cluster);
    if (!spoke) continue;
    states[cluster] = spoke.state;
    if (!spoke.progress) continue;
    for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += spoke.progress[key];
    reported += 1;
  }
  const summary = reported > 0 ? sum : undefined;
  status.precaching = {
    ...status.precaching,
    status: states,
    messages: undefined,
    summary,
    nodes: sumNodes(clusters, spokes) ?? status.precaching?.nodes,
    retries: orAbsent(retries),
    proofs: proofs && orAbsent([...proofs]),
    // Pins that were made are removed at the end, even if nobody asks for more.
    pins: strongerPins(status.precaching?.pins, pins),
  };
  // A rollout may start while others still pull.
  const isStart = plan.stopped === undefined && refusal === undefined;
  if (rollUp.finished || isStart) recordFailed(status, rollUp.failed);
}

/** Adds the backup to a status: its condition and states; once it is over, the record of clusters that failed. */
export function describeBackUp(
  status: ClusterGroupUpgradeStatus,
  conditions: Conditions,
  report: BackupReport,
  { now, talmStrict }: Pick<Wording, 'now' | 'talmStrict'>,
): void {
  const { rollUp, spokes, isPartial = false } = report;
  const content = talmStrict ? rollUp : withTrouble(rollUp, spokes, 'status.backup.messages');
  if (isPartial) conditions.carry(backupSucceeded, rollUp.status === 'True', content);
  else conditions.set(backupSucceeded, rollUp.status === 'True', content);
  status.backup = describeBackup(status.backup, report, { now });
  if (rollUp.finished) recordFailed(status, rollUp.failed);
}

/** Adds trouble to the condition of a running job, because `kubectl get` shows nothing else. */
function withTrouble<R extends ConditionText & { readonly finished: boolean }>(
  rollUp: R,
  spokes: ReadonlyMap<string, { readonly message: string | undefined }>,
  where: string,
): R {
  if (rollUp.finished) return rollUp;
  const messages = Object.fromEntries(
    [...spokes].flatMap(([cluster, { message }]) => (message ? [[cluster, cutInMiddle(saidOf(message))]] : [])),
  );
  const trouble = summarizeTrouble(messages, where);
  return trouble === undefined ? rollUp : { ...rollUp, message: `${rollUp.message} (${trouble})` };
}

function recordFailed(status: ClusterGroupUpgradeStatus, failed: readonly string[]): void {
  const ended = new Map((status.clusters ?? []).map((cluster) => [cluster.name, cluster]));
  for (const name of failed) if (!ended.has(name)) ended.set(name, { name, state: RecordState.failed });
  status.clusters = orAbsent([...ended.values()]);
}

/** Adds messages of clusters that ended or wait, and progress of those that pull. @param status has the progress that is stored */
export function describeSpokes(
  status: ClusterGroupUpgradeStatus,
  { clusters, spokes }: Pick<PrecachingReport, 'clusters' | 'spokes'>,
): void {
  const messages: Record<string, string> = {};
  const progress: [string, PrecacheProgress][] = [];
  const stored = status.precaching?.progress ?? {};
  for (const cluster of clusters) {
    const spoke = spokes.get(cluster);
    if (spoke?.message) messages[cluster] = textInStatus(spoke.message, isFinalPrecacheState(spoke.state));
    if (spoke?.progress && !isFinalPrecacheState(spoke.state)) progress.push([cluster, reportedFirst(stored[cluster], spoke.progress)]);
  }
  const pulling = Object.fromEntries(progress.slice(0, PROGRESS_LIMIT));
  status.precaching = { ...status.precaching, messages: orAbsent(messages), progress: orAbsent(pulling) };
}

/** A later report of the same figures writes no status. */
const reportedFirst = (stored: PrecacheProgress | undefined, next: PrecacheProgress): PrecacheProgress =>
  stored && isDeepStrictEqual(figuresOf(stored), figuresOf(next)) ? stored : next;

/** Sums the nodes of clusters, in bounds: counts, the slowest and some that failed. Undefined where no cluster has more than one. */
function sumNodes(
  clusters: readonly string[],
  spokes: ReadonlyMap<string, { readonly nodes?: NodesProgress | undefined }>,
): PrecacheNodes | undefined {
  const known = clusters.flatMap((cluster) => {
    const nodes = spokes.get(cluster)?.nodes;
    return nodes ? [{ cluster, nodes }] : [];
  });
  if (known.length === 0) return undefined;
  const count = (field: 'total' | 'done' | 'failed' | 'absent'): number => known.reduce((sum, { nodes }) => sum + nodes[field], 0);
  const slow = known.flatMap(({ cluster, nodes: { slowest } }) => (slowest ? [{ cluster, ...slowest }] : []));
  const slowest = slow.reduce<(typeof slow)[number] | undefined>(
    (most, each) => (most && left(most) >= left(each) ? most : each),
    undefined,
  );
  const problems = known.flatMap(({ cluster, nodes }) => (nodes.problems ?? []).map((problem) => ({ cluster, ...problem })));
  return {
    total: count('total'),
    done: count('done'),
    failed: count('failed'),
    absent: count('absent'),
    ...(slowest && { slowest }),
    ...(problems.length > 0 && { problems: problems.slice(0, MAX_FAILED_NODES) }),
  };
}

const left = ({ bytesDone, bytesTotal }: { readonly bytesDone: number; readonly bytesTotal: number }): number => bytesTotal - bytesDone;
