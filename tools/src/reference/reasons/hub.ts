import type { ReasonRows } from './row.ts';

/** Events of a ClusterGroupUpgrade. */
export const upgradeEventReasons: ReasonRows = {
  CguCreated: ['The hub has found the upgrade and plans it.'],
  CguStarted: ['The rollout, a batch or a cluster has started; the action says which.'],
  CguSuccess: ['The rollout, a batch or a cluster has completed; the action says which.'],
  CguTimedout: [
    'A batch or the whole upgrade has timed out.',
    'see `status.clusters`, then create the upgrade anew or with a longer timeout',
  ],
  CguValidationFailure: ['The upgrade cannot be planned.', 'see condition `Validated`, which names the field and the fix'],
  CguPrecachingStarted: ['Pre-caching has started.'],
  CguPrecachingCompleted: ['Every cluster has the images.'],
  CguPrecachingPartiallyDone: ['Pre-caching failed on some clusters; the others go on.', 'see `status.precaching.messages`'],
  CguPrecachingFailed: ['Pre-caching failed on a cluster, or on all of them; the action says which.', 'see `status.precaching.messages`'],
  CguPrecachingImpeded: ['The hub cannot go on with pre-caching a cluster.', 'mend what the note names; the hub tries again'],
  CguBackupStarted: ['Backups have started.'],
  CguBackupCompleted: ['Every cluster is backed up.'],
  CguBackupPartiallyDone: ['The backup failed on some clusters; the others go on.', 'see `status.backup.messages`'],
  CguBackupFailed: ['The backup failed on a cluster, or on all of them; the action says which.', 'see `status.backup.messages`'],
  CguBackupImpeded: ['The hub cannot go on with the backup of a cluster.', 'mend what the note names; the hub tries again'],
  CguClusterDisappeared: [
    'A cluster is no longer a ManagedCluster and is recorded as failed.',
    'register it again, and upgrade it by another upgrade',
  ],
  CguClusterFailed: ['A cluster is recorded as failed.', 'mend what the note names, and upgrade it by another upgrade'],
  CguHeld: ['An error holds a cluster, or a part of the upgrade.', 'mend what the note names; the hub tries again'],
  CguImportedAgain: [
    'Another ManagedCluster has the name of a member: what was concluded about the one before is taken back; the note names them.',
  ],
  CguPaused: ['Somebody has paused the upgrade: nothing new starts.', 'remove annotation `flotilla.io/paused` to go on'],
  CguResumed: ['The upgrade goes on after a pause.'],
  CguRetried: ['Clusters that failed are tried again, as somebody has asked; the note names them.'],
  CguWaitingForWindow: ['The upgrade waits for its window.', 'wait, or move or remove the annotations of the window'],
};

/** Events of any object that a program of ours reconciles. */
export const programEventReasons: ReasonRows = {
  ReconcileFailed: [
    'A reconcile threw an error; it is tried again with back-off.',
    'read the note; look at the log of the program if it stays',
  ],
};

/** Conditions and events of a ManagedCluster on a hub with `--standalone`. */
export const registrationReasons: ReasonRows = {
  HubClusterAdminAccepted: ['`HubAcceptedManagedCluster`: the cluster is let in.'],
  HubClusterAdminDenied: [
    '`HubAcceptedManagedCluster`: the cluster is not let in, and its access has ended.',
    'set `spec.hubAcceptsClient` to true',
  ],
  Error: [
    '`HubAcceptedManagedCluster`: the name of the ManagedCluster cannot become that of a namespace, or is reserved.',
    'create the ManagedCluster under another name',
  ],
  ManagedClusterJoined: ['`ManagedClusterJoined`: an agent has come.'],
  ManagedClusterAvailable: ['`ManagedClusterConditionAvailable`: the agent answers, and the API server of the cluster is well.'],
  ManagedClusterKubeAPIServerUnavailable: [
    '`ManagedClusterConditionAvailable`: the agent runs, but the API server of its cluster does not answer well.',
    'look at the API server of the cluster',
  ],
  ManagedClusterLeaseUpdateStopped: [
    '`ManagedClusterConditionAvailable`: the agent has not renewed its lease.',
    'see whether the cluster and its agent run (namespace `flotilla`), and whether its token has run out; then run `flotilla join` again',
  ],
  PinsLeft: [
    'Event: pins of an ended upgrade may be left on nodes of a cluster, because the job that removes them failed.',
    'none is needed: every pull on the node removes pins that are older than seven days; by hand `ctr -n k8s.io images ls -q` and `rm` of the names with `precache.invalid/`',
  ],
  CguNotCreated: [
    'Event: an imported cluster gets no first upgrade, because the wave of a policy cannot be read.',
    'set annotation `ran.openshift.io/ztp-deploy-wave` of the parent policy to a whole number',
  ],
};

/** Reasons of the placement controller that `Progressing` repeats under `WaitingForPlacement`. */
export const placementReasons: ReasonRows = {
  NoManagedClusterSetBindings: [
    'The namespace of the Placement has no ManagedClusterSetBinding.',
    'make the clusters members of a ManagedClusterSet that is bound to the namespace of the policies',
  ],
  NoIntersection: [
    'The cluster sets that the Placement names are not bound to its namespace.',
    'bind one of them with a ManagedClusterSetBinding',
  ],
  AllManagedClusterSetsEmpty: [
    'The bound cluster sets have no members.',
    'label the clusters `cluster.open-cluster-management.io/clusterset`',
  ],
  NoManagedClusterMatched: [
    'No cluster of the bound sets matches.',
    'see that each ManagedCluster has its own name in the label `name`, and no taint but those of a cluster that is away',
  ],
  PlacementMisconfigured: ['The Placement is wrong in itself.', 'mend what the message names'],
};

/** Conditions of actions, views and works, as an agent writes them. */
export const agentReasons: ReasonRows = {
  ActionDone: ['`Completed` of a ManagedClusterAction: it was carried out.'],
  ActionTypeInvalid: [
    '`Completed`: the action asks for nothing that an agent does.',
    'make a new action of type Create, Update or Delete with `kube`',
  ],
  CreateResourceFailed: [
    '`Completed`: the API server of the cluster refused to create the object.',
    'read the message; often the rights of the agent',
  ],
  UpdateResourceFailed: [
    '`Completed`: the API server of the cluster refused to update the object.',
    'read the message; often the rights of the agent',
  ],
  DeleteResourceFailed: [
    '`Completed`: the API server of the cluster refused to delete the object.',
    'read the message; often the rights of the agent',
  ],
  GetResourceProcessing: ['`Processing` of a ManagedClusterView: the object is read.'],
  GetResourceFailed: ['`Processing`: the object is not there, or may not be read.', 'read the message'],
  ResourceNameInvalid: ['`Processing`: the view names no object.', 'set `spec.scope.name`'],
  ResourceTypeInvalid: ['`Processing`: the view names no kind.', 'set `spec.scope.kind` or `spec.scope.resource`'],
  ResourceGVKInvalid: ['`Processing`: the cluster does not serve the kind.', 'correct group, version and kind, or install its CRD'],
  AppliedManifestWorkComplete: ['`Applied` of a ManifestWork: every manifest is applied.'],
  AppliedManifestWorkFailed: [
    '`Applied`: a manifest could not be applied.',
    'see the conditions of the manifests in `status.resourceStatus`',
  ],
  AppliedManifestComplete: ['`Applied` of a manifest: it is applied.'],
  AppliedManifestFailed: [
    '`Applied` of a manifest: the API server of the cluster refused it.',
    'read the message; often `works.rules` of the chart of the agent',
  ],
  AppliedManifestSSAIgnoreFieldError: ['`Applied`: `serverSideApply.ignoreFields` is not understood.', 'read the message, and correct it'],
  ResourcesAvailable: ['`Available` of a ManifestWork: every object is there.'],
  ResourcesNotAvailable: ['`Available`: some objects are not there.', 'see the conditions of the manifests'],
  ResourcesStatusUnknown: ['`Available`: some objects could not be read.', 'see the conditions of the manifests'],
  ResourceAvailable: ['`Available` of a manifest: the object is there.'],
  ResourceNotAvailable: ['`Available` of a manifest: the object is not there.', 'see condition `Applied` of the manifest'],
  FetchingResourceFailed: ['`Available` of a manifest: the object could not be read.', 'read the message'],
  IncompleteResourceMeta: ['`Available` of a manifest: it names no object.', 'give it apiVersion, kind and metadata.name'],
  StatusFeedbackSynced: ['`StatusFeedbackSynced`: the values are read back.'],
  NoStatusFeedbackSynced: ['`StatusFeedbackSynced`: no values are asked for.'],
  StatusFeedbackSyncFailed: [
    '`StatusFeedbackSynced`: some values cannot be read back.',
    'correct the JSON path, or wait until the controller has seen the latest spec',
  ],
  ResourcesRemaining: [
    '`Deleting` of a ManifestWork: objects of the work are still there.',
    'see what the message names; often a finalizer on the cluster',
  ],
};
