import { z } from 'zod';

/** Backup states as stored in status (spec/talm 5.1). A cluster without a state has not started. */
export const BackupState = z.enum(['PreparingToStart', 'Starting', 'Active', 'Succeeded', 'BackupTimeout', 'UnrecoverableError']);
export type BackupState = z.output<typeof BackupState>;

/** True for states that end a cluster's backup. */
export const isFinalBackupState = (state: BackupState): boolean =>
  state === 'Succeeded' || state === 'BackupTimeout' || state === 'UnrecoverableError';

/** Objects of a backup on a spoke. */
export const BackupName = {
  namespace: 'openshift-talo-backup',
  job: 'backup-agent',
  container: 'container-image',
  serviceAccount: 'backup-agent',
  clusterRoleBinding: 'backup-agent',
} as const;

/** ManagedClusterActions of a backup, in the hub namespace of the spoke. */
export const BackupAction = {
  deleteNamespace: 'backup-ns-delete',
  deleteClusterRoleBinding: 'backup-crb-delete',
  createNamespace: 'backup-ns-create',
  createServiceAccount: 'backup-sa-create',
  createClusterRoleBinding: 'backup-crb-create',
  createJob: 'backup-job-create',
} as const;
export type BackupAction = (typeof BackupAction)[keyof typeof BackupAction];

/** ManifestWork of a backup, in the hub namespace of the spoke. */
export const BACKUP_WORK = 'backup-work';

/** ManagedClusterViews of a backup, in the hub namespace of the spoke. */
export const BackupView = {
  namespace: 'view-backup-namespace',
  job: 'view-backup-job',
} as const;
export type BackupView = (typeof BackupView)[keyof typeof BackupView];
