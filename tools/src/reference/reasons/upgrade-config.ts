import type { ReasonRows } from './row.ts';

/** Conditions of an UpgradeConfig's history beside those of the steps, and the events about them. */
export const upgradeConditionReasons: ReasonRows = {
  Valid: ['`Validated`: the UpgradeConfig can be carried out.'],
  ValidationFailed: ['`Validated`: the UpgradeConfig cannot be carried out.', 'correct what the message names'],
  ValidationPending: [
    '`Validated`: something needed to judge it could not be looked up yet.',
    'wait; if it stays, see that the update graph and the registry answer',
  ],
  NameNotActedUpon: ['`Validated`: only the UpgradeConfig `managed-upgrade-config` is carried out.', 'create it under that name'],
  ConfigurationValid: ['`OperatorConfigured`: the ConfigMap of the operator can be used.'],
  ConfigurationInvalid: ['`OperatorConfigured`: the ConfigMap of the operator cannot be used.', 'correct the key that the message names'],
  ConfigurationHasUnknownKeys: ['`OperatorConfigured`: some keys of the ConfigMap count for nothing.', 'remove or correct them'],
  ClusterVersionFound: ['`ClusterVersionFound`: the cluster has its ClusterVersion.'],
  ClusterVersionMissing: [
    '`ClusterVersionFound`: there is no ClusterVersion to upgrade by.',
    'run a version operator on the cluster; the upgrade begins once there is one',
  ],
  Synced: ['`SpecSynced`: the upgrade is the one that is asked for.'],
  ChangeHeld: ['`SpecSynced`: a change waits for the end of the running upgrade.', 'wait; it is made at the end'],
  ProviderUnavailable: ['`SpecSynced`: OCM cannot be asked.', 'see that OCM answers and that the pull secret is valid'],
  PolicyUnreadable: ['`SpecSynced`: an upgrade policy of OCM cannot be read and is passed over.', 'correct the policy'],
  Reconciled: ['`Reconciled`: nothing keeps the operator from its work.'],
  PassFailed: ['`Reconciled`: a pass was broken off; it is made again.', 'mend what the message names, such as a right or a webhook'],
  LeftoversRemain: [
    '`Reconciled`: extra workers, a channel or silences of an ended upgrade cannot be taken back yet.',
    'mend what the message names',
  ],
  GiveUpFailed: ['`Reconciled`: the window is over, and the upgrade cannot be given up yet.', 'mend what the message names'],
  DrainFailed: ['`Reconciled`: pods that hold up the drain of a node cannot be removed.', 'mend what the message names'],
  Done: ['`UpgradeEnded`: all steps are done.'],
  GivenUp: ['`UpgradeEnded`: the window ended before anything was changed.', 'set another `spec.upgradeAt` for another attempt'],
  Withdrawn: ['`UpgradeEnded`: another upgrade, or none, was asked for before anything was changed.'],
  'Upgrade failed': [
    '`FailedUpgrade`: the upgrade was given up.',
    'see the newest conditions that are False, and set another `spec.upgradeAt`',
  ],
};

/** A step's condition says this of its type, such as `ControlPlaneUpgraded done`. */
export const stepReasons: ReasonRows = {
  '<step> done': ['The step is done.'],
  '<step> not done': [
    'The step waits (`waitingFor` says for what), or fails (`message` says why).',
    'see the message of the condition; `flotilla upgrade status` lists all steps',
  ],
};

/** Events of an UpgradeConfig. */
export const upgradeEvents: ReasonRows = {
  UpgradeNew: ['The upgrade was taken up.'],
  UpgradePending: ['The upgrade waits for its time.'],
  UpgradeUnderWay: ['The upgrade has begun.'],
  UpgradeDone: ['The upgrade is done.'],
  UpgradeGivenUp: ['The window ended before anything was changed.', 'set another `spec.upgradeAt`'],
  UpgradeWithdrawn: ['The upgrade ended before it changed anything, because another or none was asked for.'],
  UpgradeConfigDeleted: [
    'The UpgradeConfig was deleted in mid-upgrade; the cluster goes on without it.',
    'create it again to have the remaining steps taken',
  ],
  UpgradeStepSkipped: [
    'The upgrade goes on without what a step is for.',
    'mend what the note names, if the cluster is to have it all the same',
  ],
  UpgradeStepFailed: ['A step fails, or fails for another reason.', 'mend what the note names; the step is tried again'],
  UpgradeStarted: ['Owners were told that the upgrade starts.'],
  UpgradeDelayed: ['Owners were told that the upgrade is late.'],
  UpgradeScaleSkipped: ['Owners were told that no extra workers were added.'],
  UpgradeSkipped: ['Owners were told that the upgrade is skipped.'],
  UpgradeCompleted: ['Owners were told that the upgrade is complete.'],
  UpgradeFailed: [
    'Owners were told that the upgrade was given up. As reason of the ClusterOperator: the last upgrade was given up.',
    'see the conditions of the UpgradeConfig',
  ],
  UpgradeControlPlaneStarted: ['Owners were told that the control plane changes.'],
  UpgradeControlPlaneFinished: ['Owners were told that the control plane is done.'],
  UpgradeWorkerPlaneFinished: ['Owners were told that the workers are done.'],
  UpgradeHealthCheck: ['Owners were told that the cluster is not healthy enough.'],
  UpgradePreHealthCheck: ['Owners were told ahead that the cluster is not healthy enough.'],
  UpgradeCancelled: ['Owners were told that the upgrade was withdrawn.'],
};

/** Conditions of the ClusterOperator by which the upgrade operator reports itself. */
export const selfReasons: ReasonRows = {
  AsExpected: ['All is well.'],
  RollingOut: ['The first roll-out of the operator is not complete.', 'wait; if it stays, see its pods'],
  OperatorNotConfigured: ['The ConfigMap of the operator cannot be used.', 'correct what the message names'],
  UpgradeConfigInvalid: ['The UpgradeConfig cannot be carried out.', 'correct what the message names'],
};
