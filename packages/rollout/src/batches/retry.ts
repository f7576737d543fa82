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
import { planBatches } from './batches.ts';

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
 * A running rollout whose failed clusters of batches that have begun come again in last batches, as many at a time as a batch has. The plan keeps
 * what was; a cluster leaves the batch that runs. Those that failed before the rollout, as in pre-caching, are not in its plan and stay as they are.
 */
export function retryInRollout(status: ClusterGroupUpgradeStatus, { at, isMeant }: Retry): ClusterGroupUpgradeStatus {
  const { remediationPlan: plan = [], clusters: records = [], status: times } = status;
  const planned = new Set(plan.flat());
  const failed = records.flatMap(({ name, state }) => (state !== RecordState.complete && planned.has(name) && isMeant(name) ? [name] : []));
  if (failed.length === 0) return { ...status, lastHandledRetryAt: at };
  const again = new Set(failed);
  const isNotAgain = (cluster: string) => !again.has(cluster);
  const { currentBatch = 0, currentBatchStartedAt, currentBatchRemediationProgress: progress = {} } = times;
  const begun = currentBatchStartedAt === undefined ? Math.max(currentBatch - 1, 0) : currentBatch;
  const ahead = new Set(plan.slice(begun).flat());
  const late = failed.filter((cluster) => !ahead.has(cluster));
  const kept = plan.map((batch, index) => (index === begun - 1 && begun === currentBatch ? batch.filter(isNotAgain) : batch));
  const maxConcurrency = status.computedMaxConcurrency ?? late.length;
  const { batches } = planBatches({ clusters: late, maxConcurrency, isCompliant: () => false });
  const left = Object.fromEntries(Object.entries(progress).filter(([cluster]) => isNotAgain(cluster)));
  return {
    ...status,
    lastHandledRetryAt: at,
    remediationPlan: [...kept, ...batches],
    clusters: records.filter(({ name }) => isNotAgain(name)),
    status: { ...times, currentBatchRemediationProgress: left },
  };
}
