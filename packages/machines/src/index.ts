export { backupJobMachine, strictBackupJobMachine } from './backup.ts';
export { stateDiagram } from './diagram.ts';
export { advanceUpgrade, type ManagedUpgradeLook, managedUpgradeMachine } from './managed-upgrade.ts';
export { precacheJobMachine } from './precache.ts';
export { nextRolloutState, type RolloutLook, RolloutState, rolloutMachine } from './rollout.ts';
export { advanceCluster, type RolloutClusterLook, RolloutClusterState, rolloutClusterMachine } from './rollout-cluster.ts';
export type { SpokeJobEffect, SpokeJobEvent, SpokeJobMachine } from './spoke-job.ts';
