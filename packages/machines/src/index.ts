export { backupJobMachine, strictBackupJobMachine } from './backup.ts';
export { stateDiagram } from './diagram.ts';
export { advanceUpgrade, type ManagedUpgradeLook, managedUpgradeMachine } from './managed-upgrade.ts';
export { type ManifestLook, ManifestState, manifestMachine, stateOfManifest } from './manifest.ts';
export { advancePayloadWork, type PayloadWorkEvent, type PayloadWorkState, payloadWorkMachine } from './payload-work.ts';
export { precacheJobMachine } from './precache.ts';
export { nextRolloutState, type RolloutLook, RolloutState, rolloutMachine } from './rollout.ts';
export { advanceCluster, type RolloutClusterLook, RolloutClusterState, rolloutClusterMachine } from './rollout-cluster.ts';
export type { SpokeJobEffect, SpokeJobEvent, SpokeJobMachine } from './spoke-job.ts';
