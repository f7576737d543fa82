/** The upgrade in four values, for the columns of `kubectl get -o wide`: a column can only show a field. Pure. */
import { conditionTime } from '@flotilla/api';
import type { ClusterGroupUpgrade, ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { estimateEnd, isEnding, lastBatch, RecordState } from '@flotilla/rollout';

/** The status with its summary; without one before there is a plan. None of its values changes more often than the states it is made of. */
export function withSummary(upgrade: ClusterGroupUpgrade, status: ClusterGroupUpgradeStatus): ClusterGroupUpgradeStatus {
  const { remediationPlan: batches = [], precaching, clusters = [] } = status;
  const states = Object.values(precaching?.status ?? {});
  if (batches.length === 0 && states.length === 0) return { ...status, summary: undefined };
  const end = isEnding({ ...upgrade, status }) ? undefined : estimateEnd({ ...upgrade, status });
  return {
    ...status,
    summary: {
      cached: states.length > 0 ? `${states.filter((state) => state === 'Succeeded').length}/${states.length}` : undefined,
      batch: batches.length > 0 ? `${lastBatch(status)}/${batches.length}` : undefined,
      failed: clusters.filter(({ state }) => state !== RecordState.complete).length,
      eta: end === undefined ? undefined : conditionTime(end),
    },
  };
}
