/** Decides from an upgrade's status and the cluster alone, without asking any service. */
import { conditionTime } from '@flotilla/api';
import { UpgradeCondition, type UpgradeHistory } from '@flotilla/api/managed';
import { conditionOf, hasCompleted, type ObservedCluster, poolConfigurations, type Upgrader, workerPools } from '@flotilla/upgrade';
import type { OperatorConfig } from '../../operator-config/schema.ts';
import type { UpgradeMoment } from '../../ports.ts';

const MINUTE = 60_000;

/** Time at which the upgrade is given up unless the cluster was sent by then (spec/muo 5.6); undefined for never. */
export function givesUpAt(
  { startTime }: UpgradeHistory,
  { upgradeWindow }: OperatorConfig,
  upgrader: Upgrader,
  isCommenced: boolean,
): number | undefined {
  if (isCommenced || !upgrader.failsOutsideWindow || upgradeWindow.timeOut <= 0 || startTime === undefined) return undefined;
  return Date.parse(startTime) + upgradeWindow.timeOut * MINUTE;
}

/** Facts of the entry that follow from the pools: their configurations before the cluster is sent, and when workers began and were done. */
export function poolFacts(
  entry: UpgradeHistory,
  { pools, clusterVersion }: ObservedCluster,
  isCommenced: boolean,
  nowMs: number,
): Partial<UpgradeHistory> {
  // A cluster that an UpgradeConfig before this one has sent is where pools have their configuration from before, too, until the version is applied.
  const isUnknown = entry.poolConfigurations === undefined && !hasCompleted(clusterVersion, entry.version ?? '');
  if (!isCommenced || isUnknown) {
    const before = poolConfigurations(pools);
    return Object.keys(before).length > 0 ? { poolConfigurations: before } : {};
  }
  const { isUpgrading, untouched } = workerPools(pools, entry.poolConfigurations);
  const now = conditionTime(nowMs);
  const wasSeen = entry.workerStartTime !== undefined;
  if (isUpgrading) return wasSeen ? {} : { workerStartTime: now };
  return wasSeen && untouched.length === 0 && entry.workerCompleteTime === undefined ? { workerCompleteTime: now } : {};
}

/** Moments of an upgrade, as its status has them; one that was given up has none any more (spec/muo 10.3). */
export function momentsOf(entry: UpgradeHistory): readonly (readonly [UpgradeMoment, number])[] {
  if (entry.phase === 'Failed') return [];
  const completed = (type: UpgradeCondition) => conditionOf(entry, type)?.completeTime;
  const moments: readonly (readonly [UpgradeMoment, string | undefined])[] = [
    ['upgrade_started', entry.startTime],
    ['controlplane_upgrade_started', completed(UpgradeCondition.commenced)],
    ['controlplane_upgrade_completed', completed(UpgradeCondition.controlPlaneUpgraded)],
    ['workernode_upgrade_started', completed(UpgradeCondition.controlPlaneUpgraded)],
    ['workernode_upgrade_completed', completed(UpgradeCondition.workersUpgraded)],
    ['upgrade_completed', entry.completeTime],
  ];
  return moments.flatMap(([moment, time]) => (time === undefined ? [] : [[moment, Date.parse(time)] as const]));
}
