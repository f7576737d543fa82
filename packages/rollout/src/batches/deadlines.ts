/** When an upgrade and its batches time out (spec/talm 2.11). Pure. */

/** Times are milliseconds since the epoch. */
interface BatchTimes {
  readonly upgradeStartedAt: number;
  readonly batchStartedAt: number;
  /** Length of the whole upgrade. */
  readonly timeoutMs: number;
  /** From 1. */
  readonly batch: number;
  readonly batches: number;
}

/** When the whole upgrade times out. */
export const upgradeDeadline = ({ upgradeStartedAt, timeoutMs }: Pick<BatchTimes, 'upgradeStartedAt' | 'timeoutMs'>): number =>
  upgradeStartedAt + timeoutMs;

/** When a batch times out: what is left of the time when it starts, divided among the batches that are left; the last has all of it. */
export function batchDeadline({ upgradeStartedAt, batchStartedAt, timeoutMs, batch, batches }: BatchTimes): number {
  const left = timeoutMs - (batchStartedAt - upgradeStartedAt);
  return batchStartedAt + left / Math.max(batches - (batch - 1), 1);
}
