import type { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';

/** Number of the batch that an upgrade is at, or was at last; 0 before the first. The end takes it from the status: the summary keeps it. */
export const lastBatch = ({ status, summary }: ClusterGroupUpgradeStatus): number =>
  status.currentBatch ?? (status.completedAt === undefined ? 0 : Number.parseInt(summary?.batch ?? '0', 10));
