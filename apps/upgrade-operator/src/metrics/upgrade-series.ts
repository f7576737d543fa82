import { UPGRADE_CONFIG_NAME, UpgradeCondition, type UpgradeConfig } from '@flotilla/api/managed';
import { upgradeInForce } from '@flotilla/upgrade';

/** One series of the second endpoint. */
interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What the endpoint is computed from. */
export interface SeriesInput {
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

/** Every metric that `upgradeSeries` may give, with its labels. */
export const SERIES_METRICS: readonly { readonly name: string; readonly labels: readonly string[] }[] = [
  ...[SCHEDULED, STARTED, COMPLETED].map((name) => ({ name, labels: ['version', 'desired_version', 'phase'] })),
  { name: DRAIN, labels: ['version', 'desired_version'] },
  ...Object.values(CONDITION_METRICS).map((name) => ({
    name: `${CONDITION}${name}`,
    labels: ['upgradeconfig_name', 'version', 'desired_version', 'condition'],
  })),
];

/** Series of the upgrade that is asked for. Nothing while there is no history: an empty answer, never a failing one. Pure. */
export function upgradeSeries({ upgradeConfig, completed }: SeriesInput): Series[] {
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
    { name: SCHEDULED, at: spec.upgradeAt },
    { name: STARTED, at: entry.startTime },
    { name: COMPLETED, at: entry.completeTime },
  ].map(({ name, at }) => ({ name, labels: ofPhase, at }));
  const conditions = (entry.conditions ?? []).flatMap(({ type, status: condition, startTime, completeTime }) => {
    const metric = CONDITION_METRICS[type];
    const ofCondition = { upgradeconfig_name: UPGRADE_CONFIG_NAME, ...labels, condition };
    return metric ? [{ name: `${CONDITION}${metric}`, labels: ofCondition, at: condition === 'True' ? completeTime : startTime }] : [];
  });
  const timed = [...moments, ...conditions].flatMap(({ name, labels: own, at }) => {
    const seconds = at === undefined ? Number.NaN : Date.parse(at) / 1000;
    return Number.isNaN(seconds) ? [] : [{ name, labels: own, value: Math.floor(seconds) }];
  });
  return [...timed, { name: DRAIN, labels, value: spec.PDBForceDrainTimeout }];
}

/** The version that runs; once that is the desired one, the completed one before it. */
const sourceVersion = ([current, before]: readonly string[], desired: string): string | undefined =>
  current === desired ? (before ?? current) : current;
