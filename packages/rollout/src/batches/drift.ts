/**
 * Clusters that were complete and do not comply any more, as after an edit of a policy. The status tells them at once where that lasts; their
 * policy is enforced again with the last batch, on as many clusters at a time as a batch has, on canaries first and one by one. Pure.
 */
import { type ClusterGroupUpgradeStatus, isFinalPrecacheState } from '@flotilla/api/ran';
import { rememberMeant } from '../policies/meant.ts';
import { RecordState, type RolloutObservation } from '../upgrade/model.ts';
import { firstOpen, firstPending } from './cluster-machine.ts';
import type { ClustersUnderWay } from './clusters-under-way.ts';
import { appendClusters, withoutParts, withPulls } from './late-clusters.ts';

/** A policy that is not enforced on a cluster any more is judged anew there, and may be without a verdict meanwhile. */
const PATIENCE_MS = 10_000;

/** A cluster that was complete and does not comply. */
export interface Drift {
  readonly cluster: string;
  /** Index of the first policy that it does not comply with. */
  readonly policy: number;
  /** Since when, milliseconds since the epoch. */
  readonly since: number;
}

/**
 * In the order of the plan. One that was told has to be seen to comply: that its policy leaves it mends nothing. None by ManifestWorks: those of
 * earlier batches are gone.
 */
export function findDrift(clusters: ClustersUnderWay, { mode, exists, drift }: RolloutObservation): Drift[] {
  if (mode.kind !== 'policy' || !drift) return [];
  return clusters.completed.flatMap((cluster) => {
    const first = clusters.hasFallen(cluster) ? firstOpen : firstPending;
    const policy = exists(cluster) ? first(mode, cluster) : undefined;
    return policy === undefined ? [] : [{ cluster, policy, since: drift.since(cluster) }];
  });
}

/** When a drift lasts long enough to be told, milliseconds since the epoch. */
export const toldAt = ({ since }: Pick<Drift, 'since'>): number => since + PATIENCE_MS;

/**
 * Chooses the clusters to enforce again now; a canary goes first and alone.
 * @param drift those whose drift lasts
 * @param size clusters of a batch
 */
export function chooseAgain(
  clusters: ClustersUnderWay,
  drift: readonly Drift[],
  { size, forbids }: { readonly size: number; readonly forbids: RolloutObservation['forbids'] },
): Drift[] {
  const isOpen = (cluster: string): boolean => !clusters.isRecorded(cluster);
  const busy = new Set([...clusters.current, ...clusters.again].filter(isOpen));
  // One that pulled first is in the batch itself.
  if (!busy.isDisjointFrom(clusters.canaries)) return [];
  const allowed = drift.filter(({ cluster }) => forbids?.(cluster) === undefined);
  const canary = allowed.find(({ cluster }) => clusters.canaries.has(cluster));
  if (canary) return clusters.again.some(isOpen) ? [] : [canary];
  return allowed.slice(0, Math.max(size - busy.size, 0));
}

/**
 * A rollout whose clusters come again in last batches, and pull first, that complied from the beginning and do not any more: nobody has pulled for
 * them. Others that fell back are enforced again as they are.
 * @param now milliseconds since the epoch
 */
export function pullForFallen(
  status: ClusterGroupUpgradeStatus,
  { mode, exists, drift }: Pick<RolloutObservation, 'mode' | 'exists' | 'drift'>,
  now: number,
): ClusterGroupUpgradeStatus {
  const { remediationPlan = [], clusters = [], precaching } = status;
  if (mode.kind !== 'policy' || !precaching?.spec || !drift) return status;
  const planned = new Set(remediationPlan.flat());
  const hasFallen = (cluster: string): boolean => {
    // The question itself would remember one that complies again.
    const since = exists(cluster) && firstPending(mode, cluster) !== undefined ? drift.known(cluster) : undefined;
    return since !== undefined && now >= toldAt({ since });
  };
  const fallen = new Set(
    clusters.flatMap(({ name, state }) => {
      const pull = precaching.status?.[name];
      const isUnpulled = !planned.has(name) && (pull === undefined || !isFinalPrecacheState(pull));
      return state === RecordState.complete && isUnpulled && hasFallen(name) ? [name] : [];
    }),
  );
  if (fallen.size === 0) return status;
  return withPulls(
    appendClusters(
      rememberMeant(
        withoutParts(status, (cluster) => fallen.has(cluster)),
        mode,
        [...fallen],
      ),
      [...fallen],
    ),
    [...fallen],
  );
}
