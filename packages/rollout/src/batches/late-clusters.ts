/** Clusters that come to the plan of a rollout that runs: tried again after a failure, or by their membership. Pure. */
import { type ClusterGroupUpgradeStatus, isFinalPrecacheState } from '@flotilla/api/ran';
import { importCounts } from '../clusters/imports.ts';
import { planBatches } from './batches.ts';

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
  const { remediationPlan = [], clusters = [], status: times } = status;
  const { currentBatch = 0, currentBatchRemediationProgress: progress = {} } = times;
  if (counts.size === 0 || currentBatch === 0) return [];
  const begun = new Set([...clusters.map(({ name }) => name), ...Object.keys(progress)]);
  return remediationPlan
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

/** The status with these pre-caches to be begun. */
export function withPulls(status: ClusterGroupUpgradeStatus, clusters: readonly string[]): ClusterGroupUpgradeStatus {
  const { precaching } = status;
  if (!precaching?.spec || clusters.length === 0) return status;
  const states = { ...precaching.status, ...Object.fromEntries(clusters.map((cluster) => [cluster, 'NotStarted' as const])) };
  return { ...status, precaching: { ...precaching, status: states } };
}
