/** Which passes of a rollout are stored at once: those that everybody waits for. Pure. */

import { findCondition } from '@flotilla/api';
import { ClusterGroupUpgradeCondition, type ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { ProgressState } from '../upgrade/model.ts';

/**
 * True when the next status hands over to another batch, starts it, ends or pauses the rollout, takes a retry up, or says of the last cluster
 * of a batch that it is done. No cluster is at work then, so each moment until it is stored is lost. There are a few of these per batch, however many clusters.
 */
export function isTurningPoint(before: ClusterGroupUpgradeStatus, after: ClusterGroupUpgradeStatus): boolean {
  const ends = !hasEnded(before) && hasEnded(after);
  const handsOver =
    before.status.currentBatch !== after.status.currentBatch || before.status.currentBatchStartedAt !== after.status.currentBatchStartedAt;
  const isPaused = (status: ClusterGroupUpgradeStatus) =>
    findCondition(status.conditions, ClusterGroupUpgradeCondition.paused) !== undefined;
  const isRetried = before.lastHandledRetryAt !== after.lastHandledRetryAt;
  return ends || handsOver || isRetried || isPaused(before) !== isPaused(after) || (isAtWork(before) && !isAtWork(after));
}

const hasEnded = ({ conditions }: ClusterGroupUpgradeStatus): boolean =>
  findCondition(conditions, ClusterGroupUpgradeCondition.succeeded) !== undefined;

/** Some cluster of the current batch is under way; who is recorded as timed out or failed is not waited for any more. */
function isAtWork({ status, clusters = [] }: ClusterGroupUpgradeStatus): boolean {
  const recorded = new Set(clusters.map(({ name }) => name));
  return Object.entries(status.currentBatchRemediationProgress ?? {}).some(
    ([cluster, { state }]) => state === ProgressState.inProgress && !recorded.has(cluster),
  );
}
