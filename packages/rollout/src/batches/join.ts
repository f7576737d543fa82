/** Clusters that join a rollout that runs, since they are selected after its start. Pure. */
import type { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { rememberMeant } from '../policies/meant.ts';
import type { RolloutObservation } from '../upgrade/model.ts';
import { firstPending } from './drift.ts';
import { appendClusters, withPulls } from './late-clusters.ts';

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
  const known = new Set([
    ...(status.remediationPlan ?? []).flat(),
    ...(status.clusters ?? []).map(({ name }) => name),
    ...Object.keys(status.status.currentBatchRemediationProgress ?? {}),
  ]);
  const isNew = (cluster: string) => !known.has(cluster) && exists(cluster) && (eligible?.has(cluster) ?? true);
  const joining = selected.filter((cluster) => isNew(cluster) && firstPending(mode, cluster) !== undefined);
  return withPulls(appendClusters(rememberMeant(status, mode, joining), joining), preCaching ? joining : []);
}
