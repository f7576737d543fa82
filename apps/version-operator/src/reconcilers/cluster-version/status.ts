import type { ClusterVersion } from '@flotilla/api/config';
import { type ClusterVersionJudgement, clusterVersionStatus, type KnownUpdates, storedDeletions, type WorkReport } from '@flotilla/release';
import type { VersionCaches } from './observe.ts';

/** Inputs of the status of a ClusterVersion, beside the caches. */
export interface StatusParts {
  readonly work: WorkReport | undefined;
  readonly updates?: KnownUpdates | undefined;
  /** Objects whose deletion is asked for and not confirmed; undefined before they were looked for. */
  readonly pendingDeletions: readonly string[] | undefined;
}

/** The status of a ClusterVersion, with what else of the cluster it tells. */
export function statusOf(
  object: ClusterVersion,
  { work, updates, pendingDeletions }: StatusParts,
  { operators, adminGates, adminAcks }: VersionCaches,
  nowMs: number,
): ClusterVersionJudgement {
  const risks = {
    pendingDeletions: pendingDeletions ?? storedDeletions(object),
    operators: operators.list(),
    adminGates: adminGates.list()[0]?.data ?? undefined,
    adminAcks: adminAcks.list()[0]?.data ?? undefined,
  };
  return clusterVersionStatus({ object, work, updates, risks }, nowMs);
}
