/** Names around UpgradeConfig that other programs rely on (spec/muo 0, 1.5, 8.1). */

/** Name of the only UpgradeConfig that is acted upon. */
export const UPGRADE_CONFIG_NAME = 'managed-upgrade-config';
/** Namespace of the operator, its configuration and its UpgradeConfig, unless told otherwise. */
export const OPERATOR_NAMESPACE = 'openshift-managed-upgrade-operator';
/** Name of the operator; also `createdBy` of its silences. */
export const OPERATOR_NAME = 'managed-upgrade-operator';
/** ConfigMap of the operator's configuration, and its key. */
export const OPERATOR_CONFIG_MAP = { name: 'managed-upgrade-operator-config', key: 'config.yaml' } as const;
/** Lease of the operator's leader election. */
export const OPERATOR_LEASE = 'managed-upgrade-operator-lock';

/** Condition types of a history entry: those of the steps, and some that are about the upgrade as a whole. */
export const UpgradeCondition = {
  startedNotificationSent: 'StartedNotificationSent',
  isClusterUpgradable: 'IsClusterUpgradable',
  healthyBefore: 'ClusterHealthyBeforeUpgrade',
  dependenciesAvailable: 'ExternalDependenciesAvailable',
  capacityReserved: 'ComputeCapacityReserved',
  controlPlaneWindowCreated: 'ControlPlaneMaintenanceWindowCreated',
  commenced: 'UpgradeCommenced',
  controlPlaneUpgraded: 'ControlPlaneUpgraded',
  controlPlaneWindowRemoved: 'ControlPlaneMaintenanceWindowRemoved',
  workersWindowCreated: 'WorkersMaintenanceWindowCreated',
  workersUpgraded: 'WorkerNodesUpgraded',
  capacityRemoved: 'ComputeCapacityRemoved',
  workersWindowRemoved: 'WorkersMaintenanceWindowRemoved',
  healthyAfter: 'ClusterHealthyAfterUpgrade',
  postUpgradeTasks: 'PostUpgradeTasksCompleted',
  completedNotificationSent: 'CompletedNotificationSent',
  /** The upgrade was given up before it changed anything. */
  failed: 'FailedUpgrade',
  /** Flotilla: whether the UpgradeConfig can be carried out, and what is to be mended when not. */
  validated: 'Validated',
  /** Flotilla: whether the operator's ConfigMap can be used; said once it could not. */
  configured: 'OperatorConfigured',
  /** Flotilla: whether the cluster has the ClusterVersion that an upgrade goes by; said once it had none. */
  clusterVersionFound: 'ClusterVersionFound',
  /** Flotilla: whether the upgrade is the one that is asked for by now; said once it was not, or nobody could be asked. */
  synced: 'SpecSynced',
  /** Flotilla: this attempt has ended, why, and what begins another one. */
  ended: 'UpgradeEnded',
} as const;
export type UpgradeCondition = (typeof UpgradeCondition)[keyof typeof UpgradeCondition];

/** Reasons of the condition `UpgradeEnded`. */
export const EndReason = {
  done: 'Done',
  /** Its window ended before anything was changed. */
  givenUp: 'GivenUp',
  /** Another upgrade, or none, was asked for before anything was changed. */
  withdrawn: 'Withdrawn',
} as const;
export type EndReason = (typeof EndReason)[keyof typeof EndReason];

/** Flotilla: annotation of a ClusterVersion whose channel an upgrade has changed and that was not sent yet: the channel before, a space, the one since. */
export const CHANNEL_ANNOTATION = 'flotilla.io/channel-before-upgrade';

/** What owners of a cluster are told of (spec/muo 8.1). */
export const NotificationState = {
  started: 'StateStarted',
  delayed: 'StateDelayed',
  scaleSkipped: 'StateScaleSkipped',
  skipped: 'StateSkipped',
  completed: 'StateCompleted',
  failed: 'StateFailed',
  controlPlaneStarted: 'StateControlPlaneStartedSL',
  controlPlaneFinished: 'StateControlPlaneFinishedSL',
  workersFinished: 'StateWorkerPlaneFinishedSL',
  healthCheck: 'StateHealthCheckSL',
  preHealthCheck: 'StatePreHealthCheckSL',
  /** Flotilla: withdrawn after its start was told, before it changed anything. OCM's policies have no such word of the operator: a service log. */
  cancelled: 'StateCancelledSL',
} as const;
export type NotificationState = (typeof NotificationState)[keyof typeof NotificationState];

/** Features that are off unless the configuration enables them (spec/muo 4.7). */
export const FeatureGateName = { preHealthCheck: 'PreHealthCheck', serviceLog: 'ServiceLogNotification' } as const;
