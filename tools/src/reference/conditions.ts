import type { UpgradeCondition, UpgradeConfigCondition } from '@flotilla/api/managed';
import { ACTION_COMPLETED, CLUSTER_AVAILABLE, HUB_ACCEPTED, VIEW_PROCESSING, WORK_APPLIED } from '@flotilla/api/ocm';
import type { ClusterGroupUpgradeCondition } from '@flotilla/api/ran';

/** Type of a condition → when it is True. */
type Conditions = Readonly<Record<string, string>>;

/** Conditions of a kind, and what its page says of where they stand. */
interface KindConditions {
  readonly where: string;
  readonly types: Conditions;
}

const upgrade: Readonly<Record<(typeof ClusterGroupUpgradeCondition)[keyof typeof ClusterGroupUpgradeCondition], string>> = {
  Ready: 'The upgrade has succeeded on every cluster, and its spec has no edit that came too late.',
  Stalled: 'Somebody has to act: it has failed, is refused, or waits for what does not come by itself. Absent otherwise.',
  EditsIgnored: 'Fields of the spec were edited too late to count; the message names them. Absent otherwise.',
  ClustersSelected: 'Every cluster of the upgrade is known.',
  Validated: 'The upgrade can be planned: policies, templates and annotations can be used.',
  PrecacheSpecValid: 'It is known which images to pull.',
  PrecachingSuceeded: 'Every cluster has the images. Spelt as TALM spells it.',
  BackupSuceeded: 'Every cluster is backed up. Spelt as TALM spells it.',
  Progressing: 'The rollout runs; else the reason says what it waits for.',
  Succeeded: 'The rollout has ended on every cluster; False with the reason once it has ended otherwise.',
  Paused: 'The upgrade is paused; stands last, and is removed with the pause.',
};

const managed: Readonly<Record<UpgradeCondition | (typeof UpgradeConfigCondition)[keyof typeof UpgradeConfigCondition], string>> = {
  Ready: 'Of the status as a whole: the upgrade of the spec is done.',
  Stalled: 'Of the status as a whole: somebody has to act. Absent otherwise.',
  StartedNotificationSent: 'Owners were told that the upgrade has begun.',
  IsClusterUpgradable: 'The cluster says that it may be upgraded to the version.',
  ClusterHealthyBeforeUpgrade: 'The cluster was healthy before anything was changed.',
  ExternalDependenciesAvailable: 'Addresses that the upgrade needs answer.',
  CacheProven: 'Every node is proven to have the images of the release; only where the configuration asks for it.',
  ComputeCapacityReserved: 'The extra workers are ready.',
  ControlPlaneMaintenanceWindowCreated: 'Alerts are silenced for the control plane.',
  UpgradeCommenced: 'The ClusterVersion has the new version.',
  ControlPlaneUpgraded: 'The control plane has the new version.',
  ControlPlaneMaintenanceWindowRemoved: 'The silence of the control plane is gone.',
  WorkersMaintenanceWindowCreated: 'Alerts are silenced for the workers.',
  WorkerNodesUpgraded: 'All workers have the new version; else the message says how many are left and what holds them.',
  ComputeCapacityRemoved: 'The extra workers are gone.',
  WorkersMaintenanceWindowRemoved: 'The silence of the workers is gone.',
  ClusterHealthyAfterUpgrade: 'The cluster is healthy after the upgrade.',
  PostUpgradeTasksCompleted: 'Work after the upgrade is done.',
  CompletedNotificationSent: 'Owners were told that the upgrade has ended.',
  FailedUpgrade: 'The upgrade was given up before any change.',
  Validated: 'The UpgradeConfig is valid; otherwise the message has the fix.',
  OperatorConfigured: "The operator's ConfigMap can be used; set from the first time that it could not.",
  ClusterVersionFound: 'The cluster has its ClusterVersion; set from the first time that it had none.',
  SpecSynced: 'The upgrade is still the one that is asked for; set from the first time that it was not.',
  Reconciled:
    'Nothing kept the operator from its work; otherwise the message names the object. Set from the first time that something did.',
  UpgradeEnded: 'This attempt has ended; the message has the cause, and what begins another.',
};

/** Kind → its conditions. A kind without an entry has none of which a user reads. */
export const kindConditions: Readonly<Record<string, KindConditions>> = {
  ClusterGroupUpgrade: { where: 'The last one is the current state, which `kubectl get` shows.', types: upgrade },
  UpgradeConfig: { where: 'But for the first two they stand in the entry of `status.history` of their version.', types: managed },
  ClusterVersion: {
    where: 'The version operator writes them as the reference does.',
    types: {
      Available: 'A release has been applied as a whole.',
      Progressing: 'A release is being applied; the message says how far it is and what it waits for.',
      Failing: 'The release cannot be applied as things are; the message says why.',
      ReleaseAccepted: 'The wanted release was fetched, verified and may be applied.',
      RetrievedUpdates: 'The update service has answered; False with why it has not.',
      Upgradeable: 'Absent where nothing objects. False: updates to another minor version are held, with what objects.',
      Invalid: 'A field of the spec cannot be used and is left out. Absent otherwise.',
      ImplicitlyEnabledCapabilities: 'Capabilities stay on that the spec no longer names, because the cluster has them.',
    },
  },
  ClusterOperator: {
    where: 'Each operator of the cluster writes them of itself.',
    types: {
      Available: 'The operator works.',
      Progressing: 'It rolls out a change.',
      Degraded: 'It works, but not as it should; the message says why.',
      Upgradeable: 'False: it objects to the next minor version.',
    },
  },
  ManagedCluster: {
    where: 'The hub with `standalone`, or RHACM, writes them.',
    types: {
      [HUB_ACCEPTED]: 'The hub lets the cluster in (`spec.hubAcceptsClient`).',
      ManagedClusterJoined: 'Its agent has come once.',
      [CLUSTER_AVAILABLE]: 'Its agent renews its Lease. Unknown: it has been silent.',
    },
  },
  ManagedClusterAction: {
    where: 'The agent writes it.',
    types: { [ACTION_COMPLETED]: 'The action was carried out; False: the cluster refused it.' },
  },
  ManagedClusterView: { where: 'The agent writes it.', types: { [VIEW_PROCESSING]: 'The object was read; False with why it was not.' } },
  ManifestWork: {
    where: 'The agent writes them, of the work and of each manifest.',
    types: { [WORK_APPLIED]: 'Every object was applied; False with the first that was not.', Available: 'Every object is on the cluster.' },
  },
};
