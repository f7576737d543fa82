/**
 * Clusters that come to the plan of a rollout that runs: selected after its start, tried again after a failure, or imported again; and why a batch of
 * them does not start. Pure.
 */
import { Annotation } from '@flotilla/api';
import {
  type ClusterGroupUpgrade,
  type ClusterGroupUpgradeStatus,
  cutAtWord,
  hasFailedPrecache,
  isFinalPrecacheState,
  type PrecacheState,
} from '@flotilla/api/ran';
import { importCounts } from '../clusters/imports.ts';
import type { Refusal } from '../gates/gates.ts';
import { rememberMeant } from '../policies/meant.ts';
import { RecordState, type RolloutObservation } from '../upgrade/model.ts';
import { begunClusters } from '../upgrade/stage.ts';
import { planBatches } from './batches.ts';
import { firstPending } from './cluster-machine.ts';

/** Batches that have started, from the first. */
export const startedBatches = ({ currentBatch = 0, currentBatchStartedAt }: ClusterGroupUpgradeStatus['status']): number =>
  currentBatchStartedAt === undefined ? Math.max(currentBatch - 1, 0) : currentBatch;

/** Clusters of batches that came after the start and have not started themselves: they may lack their first edits and their images. */
export function lateClusters({ remediationPlan = [], batchesAtStart, status }: ClusterGroupUpgradeStatus): readonly string[] {
  return batchesAtStart === undefined ? [] : remediationPlan.slice(Math.max(batchesAtStart, startedBatches(status))).flat();
}

/** Members that were imported again and whose part has not begun, in a rollout whose batches have. */
export function newcomers(status: ClusterGroupUpgradeStatus): string[] {
  const counts = importCounts(status);
  const { currentBatch = 0 } = status.status;
  if (counts.size === 0 || currentBatch === 0) return [];
  const begun = begunClusters(status);
  return (status.remediationPlan ?? [])
    .slice(currentBatch - 1)
    .flat()
    .filter((cluster) => counts.has(cluster) && !begun.has(cluster));
}

/** Late clusters and newcomers whose images are waited for. */
export function latePulls(status: ClusterGroupUpgradeStatus): string[] {
  const recorded = new Set((status.clusters ?? []).map(({ name }) => name));
  const states = status.precaching?.status ?? {};
  return [...new Set([...lateClusters(status), ...newcomers(status)])].filter((cluster) => {
    const state = states[cluster];
    return state !== undefined && !isFinalPrecacheState(state) && !recorded.has(cluster);
  });
}

/** The status with clusters in last batches of its plan, as many at a time as a batch has; late batches that have not started are filled up. */
export function appendClusters(status: ClusterGroupUpgradeStatus, clusters: readonly string[]): ClusterGroupUpgradeStatus {
  if (clusters.length === 0) return status;
  const { remediationPlan: plan = [], batchesAtStart = plan.length } = status;
  const kept = plan.slice(0, Math.max(batchesAtStart, Math.min(startedBatches(status.status), plan.length)));
  const late = [...plan.slice(kept.length).flat(), ...clusters];
  const maxConcurrency = status.computedMaxConcurrency ?? late.length;
  const { batches } = planBatches({ clusters: late, maxConcurrency, isCompliant: () => false });
  return { ...status, batchesAtStart, remediationPlan: [...kept, ...batches] };
}

/** Entries by cluster without those of some. */
export const without = <T>(
  entries: Readonly<Record<string, T>> | undefined,
  isLeftOut: (cluster: string) => boolean,
): Record<string, T> | undefined => entries && Object.fromEntries(Object.entries(entries).filter(([cluster]) => !isLeftOut(cluster)));

/** The status without the part that some clusters had so far. */
export const withoutParts = (status: ClusterGroupUpgradeStatus, isLeftOut: (cluster: string) => boolean): ClusterGroupUpgradeStatus => ({
  ...status,
  clusters: (status.clusters ?? []).filter(({ name }) => !isLeftOut(name)),
  status: { ...status.status, currentBatchRemediationProgress: without(status.status.currentBatchRemediationProgress ?? {}, isLeftOut) },
});

/** The status with these pre-caches to be begun. */
export function withPulls(status: ClusterGroupUpgradeStatus, clusters: readonly string[]): ClusterGroupUpgradeStatus {
  const { precaching } = status;
  if (!precaching?.spec || clusters.length === 0) return status;
  const states = { ...precaching.status, ...Object.fromEntries(clusters.map((cluster) => [cluster, 'NotStarted' as const])) };
  return { ...status, precaching: { ...precaching, status: states } };
}

/** Candidates for a rollout, and what is seen of them. */
interface JoinInput extends Pick<RolloutObservation, 'mode' | 'exists'> {
  /** Clusters that the spec selects now. */
  readonly selected: readonly string[];
  /** Clusters that the blocking upgrades let pass; undefined: all. */
  readonly eligible: ReadonlySet<string> | undefined;
  readonly preCaching: boolean;
}

/** A rollout with the clusters that are selected, have something to do, and were never part of it. A cluster that was and has gone does not come back. */
export function joinRollout(status: ClusterGroupUpgradeStatus, input: JoinInput): ClusterGroupUpgradeStatus {
  const { selected, eligible, mode, exists, preCaching } = input;
  const known = new Set([...(status.remediationPlan ?? []).flat(), ...begunClusters(status)]);
  const isNew = (cluster: string) => !known.has(cluster) && exists(cluster) && (eligible?.has(cluster) ?? true);
  const joining = selected.filter((cluster) => isNew(cluster) && firstPending(mode, cluster) !== undefined);
  return withPulls(appendClusters(rememberMeant(status, mode, joining), joining), preCaching ? joining : []);
}

/** Request to try failed clusters again. */
interface Retry {
  /** Value of the annotation; the status confirms it. */
  readonly at: string;
  readonly isMeant: (cluster: string) => boolean;
}

/** Finds a request that no status has confirmed yet. Any new value of the annotation is one, as with Flux's `requestedAt`. */
export function findRetry({ metadata: { annotations = {} }, status }: Pick<ClusterGroupUpgrade, 'metadata' | 'status'>): Retry | undefined {
  const at = cutAtWord(annotations[Annotation.retryAt]?.trim() ?? '');
  if (at === '' || at === status?.lastHandledRetryAt) return undefined;
  const named = annotations[Annotation.retryClusters]?.split(',').map((name) => name.trim());
  // An empty value, as of a template without its value, means nobody.
  return { at, isMeant: (cluster) => named === undefined || named.includes(cluster) };
}

/** Clusters of a pre-caching that failed it and are meant. */
export const retriedPrecaches = (states: Readonly<Record<string, PrecacheState>> | undefined, { isMeant }: Retry): string[] =>
  Object.entries(states ?? {}).flatMap(([cluster, state]) => (hasFailedPrecache(state) && isMeant(cluster) ? [cluster] : []));

/**
 * A running rollout whose failed clusters come again in last batches, as many at a time as a batch has. The plan keeps what was; a cluster leaves the
 * batch that runs. Those that failed pre-caching pull first. Those that failed a backup are not in the plan and stay out, and those that are not
 * there keep their record.
 */
export function retryInRollout(
  before: ClusterGroupUpgradeStatus,
  { at, isMeant }: Retry,
  exists: RolloutObservation['exists'],
): ClusterGroupUpgradeStatus {
  const { remediationPlan: plan = [], clusters: records = [], status: times, precaching } = before;
  const planned = new Set(plan.flat());
  const unpulled = new Set(retriedPrecaches(precaching?.status, { at, isMeant }));
  const failed = records.flatMap(({ name, state }) =>
    state !== RecordState.complete && isMeant(name) && exists(name) && (planned.has(name) || unpulled.has(name)) ? [name] : [],
  );
  if (failed.length === 0) return { ...before, lastHandledRetryAt: at };
  const again = new Set(failed);
  const isAgain = (cluster: string) => again.has(cluster);
  const begun = startedBatches(times);
  const ahead = new Set(plan.slice(begun).flat());
  const kept = plan.map((batch, index) =>
    index === begun - 1 && begun === times.currentBatch ? batch.filter((cluster) => !isAgain(cluster)) : batch,
  );
  const pulls = failed.filter((cluster) => unpulled.has(cluster));
  const status = {
    ...withoutParts(before, isAgain),
    lastHandledRetryAt: at,
    remediationPlan: kept,
    ...(precaching && { precaching: { ...precaching, retries: countRetries(precaching.retries, pulls) } }),
  };
  const late = failed.filter((cluster) => !ahead.has(cluster));
  return withPulls(appendClusters(status, late), pulls);
}

/** Number of retries of each cluster, with those in `again` counted. */
export const countRetries = (before: Readonly<Record<string, number>> = {}, again: readonly string[]): Record<string, number> => ({
  ...before,
  ...Object.fromEntries(again.map((cluster) => [cluster, (before[cluster] ?? 0) + 1])),
});

/** The batch that comes next. */
interface BatchAhead {
  /** Its number. */
  readonly batch: number;
  readonly current: readonly string[];
  /** Clusters that came after the start. */
  readonly late: ReadonlySet<string>;
  readonly pulling: ReadonlySet<string>;
  readonly isRecorded: (cluster: string) => boolean;
}

/** Judges the batch that comes next. An edit that the server refuses holds no other cluster up. */
export function judgeLate(clusters: BatchAhead, { exists, isPrepared, problem }: RolloutObservation): Refusal | undefined {
  const open = clusters.current.filter((cluster) => clusters.late.has(cluster) && !clusters.isRecorded(cluster) && exists(cluster));
  const pulling = open.filter((cluster) => clusters.pulling.has(cluster));
  if (pulling.length > 0)
    return refuse('precaching', clusters, `${pulling.length} of ${clusters.current.length} clusters pull their images`);
  const isUnedited = (cluster: string) => !isPrepared(cluster) && problem(cluster)?.isRefused !== true;
  const unedited = open.filter(isUnedited);
  if (unedited.length > 0)
    return {
      ...refuse('preparation', clusters, `${unedited.length} of ${clusters.current.length} clusters get their first edits`),
      wait: { cause: 'edits', says: `clusters that came after the start get their first edits, as ${unedited[0]}` },
    };
  return undefined;
}

const refuse = (gate: Refusal['gate'], { batch }: BatchAhead, why: string): Refusal => ({
  gate,
  progressing: { status: 'True', reason: 'InProgress', message: `Batch ${batch} waits: ${why}` },
});
