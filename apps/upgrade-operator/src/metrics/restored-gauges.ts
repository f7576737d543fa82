import { NotificationState, UpgradeCondition, type UpgradeConfigSpec, type UpgradeHistory } from '@flotilla/api/managed';
import { conditionOf, isTrue, skippedWhy } from '@flotilla/upgrade';
import type { UpgradeMetrics } from '../ports.ts';

interface GaugedUpgrade {
  readonly spec: Pick<UpgradeConfigSpec, 'capacityReservation'>;
  readonly entry: UpgradeHistory;
}

/**
 * Sets the gauges that follow from the status. After a restart they would be missing until the same happens again, and alerts on them would end.
 * The steps of a pass set their gauges after it.
 */
export function restoreGauges(upgrade: GaugedUpgrade, metrics: UpgradeMetrics): void {
  restoreNotifications(upgrade.entry, metrics);
  const { phase, version = '' } = upgrade.entry;
  // A failure has reset the others (spec/muo 10.3).
  if (phase === 'Failed') return metrics.windowBreached(true);
  const validated = conditionOf(upgrade.entry, UpgradeCondition.validated);
  if (validated) metrics.validationFailed(validated.status !== 'True');
  restoreScaling(upgrade, metrics);
  if (isTrue(upgrade.entry, UpgradeCondition.commenced)) metrics.windowBreached(false);
  if (isTrue(upgrade.entry, UpgradeCondition.controlPlaneUpgraded)) metrics.controlPlaneTimeout(version, false);
  const { workersUpgraded } = UpgradeCondition;
  if (isTrue(upgrade.entry, workersUpgraded) || skippedWhy(upgrade.entry, workersUpgraded) !== undefined)
    metrics.workerTimeout(version, false);
}

function restoreNotifications({ phase, version = '', notifications = [] }: UpgradeHistory, metrics: UpgradeMetrics): void {
  for (const { state, time, message } of notifications) {
    const known = Object.values(NotificationState).find((each) => each === state);
    if (!known) continue;
    if (time === undefined) {
      if (message !== undefined) metrics.notificationFailed(known, true);
    } else if (phase !== 'Failed') {
      metrics.notificationSent(known, version);
      metrics.notificationFailed(known, false);
    }
  }
}

/** An upgrade that goes on without extra workers because they came too late has told of it. */
function restoreScaling({ spec, entry }: GaugedUpgrade, metrics: UpgradeMetrics): void {
  const states = entry.notifications?.map(({ state }) => state) ?? [];
  if (states.includes(NotificationState.skipped)) metrics.scalingFailed(true);
  else if (spec.capacityReservation && isTrue(entry, UpgradeCondition.capacityReserved) && !states.includes(NotificationState.scaleSkipped))
    metrics.scalingFailed(false);
}
