/** Failed clusters that are tried again on demand: who, and what becomes of their verdicts. Pure. */
import { Annotation } from '@flotilla/api';
import {
  type ClusterGroupUpgrade,
  type ClusterGroupUpgradeStatus,
  cutAtWord,
  hasFailedPrecache,
  type PrecacheState,
} from '@flotilla/api/ran';
import { RecordState } from '../upgrade/model.ts';
import { appendClusters, startedBatches, withPulls } from './late-clusters.ts';

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
  const names = new Set(named?.filter((name) => name !== ''));
  return { at, isMeant: (cluster) => names.size === 0 || names.has(cluster) };
}

/** Clusters of a pre-caching that failed it and are meant. */
export const retriedPrecaches = (states: Readonly<Record<string, PrecacheState>> | undefined, { isMeant }: Retry): string[] =>
  Object.entries(states ?? {}).flatMap(([cluster, state]) => (hasFailedPrecache(state) && isMeant(cluster) ? [cluster] : []));

/**
 * A running rollout whose failed clusters come again in last batches, as many at a time as a batch has. The plan keeps what was; a cluster leaves the
 * batch that runs. Those that failed pre-caching pull first. Those that failed a backup are not in the plan and stay out.
 */
export function retryInRollout(before: ClusterGroupUpgradeStatus, { at, isMeant }: Retry): ClusterGroupUpgradeStatus {
  const { remediationPlan: plan = [], clusters: records = [], status: times, precaching } = before;
  const planned = new Set(plan.flat());
  const unpulled = new Set(retriedPrecaches(precaching?.status, { at, isMeant }));
  const failed = records.flatMap(({ name, state }) =>
    state !== RecordState.complete && isMeant(name) && (planned.has(name) || unpulled.has(name)) ? [name] : [],
  );
  if (failed.length === 0) return { ...before, lastHandledRetryAt: at };
  const again = new Set(failed);
  const isNotAgain = (cluster: string) => !again.has(cluster);
  const { currentBatch = 0, currentBatchRemediationProgress: progress = {} } = times;
  const begun = startedBatches(times);
  const ahead = new Set(plan.slice(begun).flat());
  const kept = plan.map((batch, index) => (index === begun - 1 && begun === currentBatch ? batch.filter(isNotAgain) : batch));
  const left = Object.fromEntries(Object.entries(progress).filter(([cluster]) => isNotAgain(cluster)));
  const pulls = failed.filter((cluster) => unpulled.has(cluster));
  const status = {
    ...before,
    lastHandledRetryAt: at,
    remediationPlan: kept,
    clusters: records.filter(({ name }) => isNotAgain(name)),
    status: { ...times, currentBatchRemediationProgress: left },
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
