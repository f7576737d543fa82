/** Names around UpgradeConfig that other programs rely on (spec/muo 0, 1.5, 8.1). */

/** Name of the only UpgradeConfig that takes effect. */
export const UPGRADE_CONFIG_NAME = 'managed-upgrade-config';
/** Default namespace of the operator, its configuration and its UpgradeConfig. */
export const OPERATOR_NAMESPACE = 'openshift-managed-upgrade-operator';
/** Name of the operator; also `createdBy` of its silences. */
export const OPERATOR_NAME = 'managed-upgrade-operator';
/** ConfigMap of the operator's configuration, and its key. */
export const OPERATOR_CONFIG_MAP = { name: 'managed-upgrade-operator-config', key: 'config.yaml' } as const;
/** Lease of the operator's leader election. */
export const OPERATOR_LEASE = 'managed-upgrade-operator-lock';

/** Condition types of a history entry: those of the steps, and some about the whole upgrade. */
export const UpgradeCondition = {
  startedNotificationSent: 'StartedNotificationSent',
  isClusterUpgradable: 'IsClusterUpgradable',
  healthyBefore: 'ClusterHealthyBeforeUpgrade',
  dependenciesAvailable: 'ExternalDependenciesAvailable',
  /** Flotilla: every node is proven to have the images of the release; only where the configuration asks for it. */
  cacheProven: 'CacheProven',
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
  /** The upgrade was given up before any change. */
  failed: 'FailedUpgrade',
  /** Flotilla: the UpgradeConfig is valid; otherwise the message has the fix. */
  validated: 'Validated',
  /** Flotilla: the operator's ConfigMap is valid; set from the first time it was not. */
  configured: 'OperatorConfigured',
  /** Flotilla: the cluster has the required ClusterVersion; set from the first time it had none. */
  clusterVersionFound: 'ClusterVersionFound',
  /** Flotilla: the upgrade is still the wanted one; set from the first time it was not, or the provider did not answer. */
  synced: 'SpecSynced',
  /** Flotilla: nothing kept the last pass from its end; otherwise the message says what, and of which object. Set from the first time something did. */
  reconciled: 'Reconciled',
  /** Flotilla: this attempt has ended; the message has the cause and the start of the next attempt. */
  ended: 'UpgradeEnded',
} as const;
export type UpgradeCondition = (typeof UpgradeCondition)[keyof typeof UpgradeCondition];

/** Flotilla: condition types of the status as a whole, for tools that know nothing of upgrades. */
export const UpgradeConfigCondition = {
  /** The upgrade of the spec is done. */
  ready: 'Ready',
  /** Somebody has to act; absent otherwise. */
  stalled: 'Stalled',
} as const;

/** Reasons of the condition `UpgradeEnded`. */
export const EndReason = {
  done: 'Done',
  /** The window ended before any change. */
  givenUp: 'GivenUp',
  /** Another upgrade, or none, was wanted before any change. */
  withdrawn: 'Withdrawn',
} as const;
export type EndReason = (typeof EndReason)[keyof typeof EndReason];

/**
 * Flotilla: annotation of a ClusterVersion whose channel an upgrade has changed before its start. It holds the previous channel, a space, and the new
 * one.
 */
export const CHANNEL_ANNOTATION = 'flotilla.io/channel-before-upgrade';

/** Flotilla: annotation of a MachineSet of extra workers. It holds the version of the upgrade that they are for. */
export const VERSION_ANNOTATION = 'flotilla.io/upgrade-version';

/** Notifications to owners of a cluster (spec/muo 8.1). */
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
  /**
   * Flotilla: withdrawn before any change, after its start was reported. OCM's policies lack such a state of the operator, so it is a service log.
   */
  cancelled: 'StateCancelledSL',
} as const;
export type NotificationState = (typeof NotificationState)[keyof typeof NotificationState];

/** Features that the configuration must enable (spec/muo 4.7). */
export const FeatureGateName = { preHealthCheck: 'PreHealthCheck', serviceLog: 'ServiceLogNotification' } as const;
