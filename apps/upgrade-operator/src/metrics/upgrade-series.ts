import { CLUSTER_VERSION_NAME } from '@flotilla/api/config';
import { UPGRADE_CONFIG_NAME, UpgradeCondition, type UpgradeConfig } from '@flotilla/api/managed';
import type { MetricTable, Sample } from '@flotilla/runtime';
import { completedVersions, upgradeInForce } from '@flotilla/upgrade';
import type { Caches } from '../caches.ts';

/** Input for the metrics of the second endpoint. */
interface SeriesInput {
  readonly upgradeConfig: UpgradeConfig | undefined;
  /** Versions the cluster has had, the one it has now first. */
  readonly completed: readonly string[];
}

const SCHEDULED = 'managed_upgrade_upgrade_scheduled';
const STARTED = 'managed_upgrade_upgrade_start_timestamp';
const COMPLETED = 'managed_upgrade_upgrade_complete_timestamp';
const DRAIN = 'managed_upgrade_upgrade_pdb_timeout_minutes';
const CONDITION = 'managed_upgrade_condition_';

/** Metric of each condition that has one (spec/muo 10.2). */
const CONDITION_METRICS: Readonly<Partial<Record<string, string>>> = {
  [UpgradeCondition.startedNotificationSent]: 'notification_start_timestamp',
  [UpgradeCondition.healthyBefore]: 'health_check_timestamp',
  [UpgradeCondition.dependenciesAvailable]: 'external_dep_check_timestamp',
  [UpgradeCondition.capacityReserved]: 'capacity_added_timestamp',
  [UpgradeCondition.controlPlaneWindowCreated]: 'control_plane_maint_start_timestamp',
  [UpgradeCondition.commenced]: 'control_plane_upgrade_start_timestamp',
  [UpgradeCondition.controlPlaneUpgraded]: 'control_plane_completion_timestamp',
  [UpgradeCondition.controlPlaneWindowRemoved]: 'control_plane_maint_removed_timestamp',
  [UpgradeCondition.workersWindowCreated]: 'workers_maint_start_timestamp',
  [UpgradeCondition.workersUpgraded]: 'workers_upgraded_timestamp',
  [UpgradeCondition.capacityRemoved]: 'capacity_removed_timestamp',
  [UpgradeCondition.workersWindowRemoved]: 'workers_maint_removed_timestamp',
  [UpgradeCondition.healthyAfter]: 'post_upgrade_healthcheck_timestamp',
  [UpgradeCondition.completedNotificationSent]: 'notification_complete_timestamp',
};

const help = 'Of the upgrade that is asked for; a time in seconds since the epoch, or minutes where the name says so';
const VERSIONS = ['version', 'desired_version'];

/** Every metric that `upgradeSeries` may give, with its labels. */
export const SERIES_METRICS: MetricTable = {
  ...Object.fromEntries([SCHEDULED, STARTED, COMPLETED].map((name) => [name, { help, labels: [...VERSIONS, 'phase'] }])),
  [DRAIN]: { help, labels: VERSIONS },
  ...Object.fromEntries(
    Object.values(CONDITION_METRICS).map((name) => [
      `${CONDITION}${name}`,
      { help, labels: ['upgradeconfig_name', ...VERSIONS, 'condition'] },
    ]),
  ),
};

/** Series of the upgrade that is asked for, from what is watched anyway (spec/muo 10.2): a scrape costs no request. */
export const seriesOf = ({ upgradeConfigs, clusterVersions }: Caches, namespace: string): Sample[] => {
  const clusterVersion = clusterVersions.get({ name: CLUSTER_VERSION_NAME });
  return upgradeSeries({
    upgradeConfig: upgradeConfigs.get({ namespace, name: UPGRADE_CONFIG_NAME }),
    completed: clusterVersion ? completedVersions(clusterVersion) : [],
  });
};

/** Nothing while there is no history: an empty answer, never a failing one. Pure. */
export function upgradeSeries({ upgradeConfig, completed }: SeriesInput): Sample[] {
  if (!upgradeConfig) return [];
  const {
    upgradeConfig: { spec },
    entry,
  } = upgradeInForce(upgradeConfig);
  const desired = spec.desired.version ?? '';
  const version = sourceVersion(completed, desired);
  if (!entry || version === undefined) return [];
  const labels = { version, desired_version: desired };
  const ofPhase = { ...labels, phase: entry.phase };
  const moments = [
    { metric: SCHEDULED, at: spec.upgradeAt },
    { metric: STARTED, at: entry.startTime },
    { metric: COMPLETED, at: entry.completeTime },
  ].map((moment) => ({ ...moment, labels: ofPhase }));
  const conditions = (entry.conditions ?? []).flatMap(({ type, status: condition, startTime, completeTime }) => {
    const name = CONDITION_METRICS[type];
    const ofCondition = { upgradeconfig_name: UPGRADE_CONFIG_NAME, ...labels, condition };
    return name ? [{ metric: `${CONDITION}${name}`, labels: ofCondition, at: condition === 'True' ? completeTime : startTime }] : [];
  });
  const timed = [...moments, ...conditions].flatMap(({ at = '', ...series }) => {
    const seconds = Date.parse(at) / 1000;
    return Number.isNaN(seconds) ? [] : [{ ...series, value: Math.floor(seconds) }];
  });
  return [...timed, { metric: DRAIN, labels, value: spec.PDBForceDrainTimeout }];
}

/** The version that runs; once that is the desired one, the completed one before it. */
const sourceVersion = ([current, before]: readonly string[], desired: string): string | undefined =>
  current === desired ? (before ?? current) : current;
