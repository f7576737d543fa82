import {
  NotificationState,
  UPGRADE_CONFIG_NAME,
  UpgradeCondition,
  type UpgradeConfigSpec,
  type UpgradeHistory,
} from '@flotilla/api/managed';
import { conditionOf, isTrue, skippedWhy } from '@flotilla/upgrade';
import { Gauge, type Registry } from 'prom-client';
import type { HealthReason } from '../health/checks.ts';
import type { UpgradeMetrics, UpgradeMoment } from '../ports.ts';

/** The operator's metrics, with what only health checks and the sync say (spec/muo 10.1). */
export interface OperatorMetrics extends UpgradeMetrics, Disposable {
  readonly healthCheck: (
    labels: { readonly state: string; readonly version: string; readonly reason: HealthReason },
    failed: boolean,
  ) => void;
  /** The provider was asked, at that moment. */
  synced(atMs: number): void;
}

const CONFIG = { upgradeconfig_name: UPGRADE_CONFIG_NAME };

/** Gauges with the reference's names and labels. None has a series before it was first set. */
export function createOperatorMetrics(registry: Registry, clusterId: () => string | undefined): OperatorMetrics {
  const names: string[] = [];
  const gauges = createGauges(registry, names);
  const { moments } = gauges;
  const ofFailure = [
    gauges.validationFailed,
    gauges.scalingFailed,
    gauges.controlPlaneTimeout,
    gauges.healthCheckFailed,
    gauges.workerTimeout,
    gauges.drainTimeout,
    gauges.notification,
    gauges.notificationFailed,
    moments.upgrade_started,
  ];
  const ofConfig = [...ofFailure, gauges.windowBreached, gauges.syncTimestamp, ...Object.values(moments)];
  return {
    validationFailed: (failed) => gauges.validationFailed.set(CONFIG, Number(failed)),
    scalingFailed: (failed) => gauges.scalingFailed.set(CONFIG, Number(failed)),
    windowBreached: (breached) => gauges.windowBreached.set(CONFIG, Number(breached)),
    controlPlaneTimeout: (version, late) => gauges.controlPlaneTimeout.set({ ...CONFIG, version }, Number(late)),
    workerTimeout: (version, late) => gauges.workerTimeout.set({ ...CONFIG, version }, Number(late)),
    drainTimeout: (node, late) => gauges.drainTimeout.set({ node_name: node }, Number(late)),
    clearDrainTimeouts: () => gauges.drainTimeout.reset(),
    notificationFailed: (event, failed) => gauges.notificationFailed.set({ ...CONFIG, event }, Number(failed)),
    notificationSent: (event: NotificationState, version) => gauges.notification.set({ ...CONFIG, event, version }, 1),
    moment: (moment, version, atMs) => moments[moment].set({ ...CONFIG, _id: clusterId() ?? 'unknown', version }, Math.floor(atMs / 1000)),
    result({ precedingVersion, version, stream, alerts }) {
      const labels = { ...CONFIG, preceding_version: precedingVersion, stream, version, alerts: alerts.join(',') };
      gauges.result.reset();
      gauges.result.set(labels, alerts.length === 0 ? 1 : 0);
    },
    resetAll() {
      for (const gauge of ofConfig) gauge.reset();
    },
    resetFailed() {
      for (const gauge of ofFailure) gauge.reset();
    },
    healthCheck: (labels, failed) => gauges.healthCheckFailed.set({ ...CONFIG, ...labels }, Number(failed)),
    synced: (atMs) => gauges.syncTimestamp.set(CONFIG, Math.floor(atMs / 1000)),
    [Symbol.dispose]() {
      for (const name of names) registry.removeSingleMetric(name);
    },
  };
}

function createGauges(registry: Registry, names: string[]) {
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[]) => {
    names.push(name);
    return new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] });
  };
  const ofConfig = ['upgradeconfig_name'] as const;
  const ofVersion = ['upgradeconfig_name', 'version'] as const;
  const moment = (name: UpgradeMoment) =>
    gauge(`upgradeoperator_${name}_timestamp`, 'When it happened, seconds since the epoch', ['_id', ...ofVersion]);
  return {
    validationFailed: gauge('upgradeoperator_upgradeconfig_validation_failed', '1 when the UpgradeConfig is refused', ofConfig),
    scalingFailed: gauge('upgradeoperator_scaling_failed', '1 when extra workers did not become ready', ofConfig),
    windowBreached: gauge('upgradeoperator_upgrade_window_breached', '1 when the upgrade did not begin within its window', ofConfig),
    controlPlaneTimeout: gauge('upgradeoperator_controlplane_timeout', '1 when the control plane takes longer than its window', ofVersion),
    workerTimeout: gauge('upgradeoperator_worker_timeout', '1 when the workers take longer than their window', ofVersion),
    healthCheckFailed: gauge('upgradeoperator_healthcheck_failed', '1 when a check of the cluster failed', [
      'upgradeconfig_name',
      'state',
      'version',
      'reason',
    ]),
    drainTimeout: gauge('upgradeoperator_node_drain_timeout', '1 when a node takes longer to drain than it may', ['node_name']),
    notification: gauge('upgradeoperator_upgrade_notification', '1 when owners were told', ['upgradeconfig_name', 'event', 'version']),
    notificationFailed: gauge('upgrade_notification_failed', '1 when owners could not be told', ['upgradeconfig_name', 'event']),
    syncTimestamp: gauge('upgradeoperator_upgradeconfig_sync_timestamp', 'When the provider was asked, seconds since the epoch', ofConfig),
    moments: {
      upgrade_started: moment('upgrade_started'),
      upgrade_completed: moment('upgrade_completed'),
      controlplane_upgrade_started: moment('controlplane_upgrade_started'),
      controlplane_upgrade_completed: moment('controlplane_upgrade_completed'),
      workernode_upgrade_started: moment('workernode_upgrade_started'),
      workernode_upgrade_completed: moment('workernode_upgrade_completed'),
    },
    result: gauge('upgradeoperator_upgrade_result', '1 when nothing paged during the upgrade, else 0', [
      'upgradeconfig_name',
      'preceding_version',
      'stream',
      'version',
      'alerts',
    ]),
  };
}

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
