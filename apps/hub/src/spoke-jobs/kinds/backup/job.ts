/** Backup as a job on spokes (spec/talm 5.1). */
import { BACKUP_WORK, BackupAction, BackupName, BackupState, BackupView } from '@flotilla/api/ran';
import { backupJobMachine, strictBackupJobMachine } from '@flotilla/rollout';
import type { SpokeJobNames } from '../../../spokes/port/workload.ts';
import type { SpokeJob } from '../../kind.ts';
import type { SpokeJobs } from '../../reconciler.ts';
import type { TeardownJob } from '../../teardown.ts';
import { BACKUP_JOB_SECONDS, backupManifests } from './manifests.ts';
import type { BackupSettings } from './settings.ts';

/** How one upgrade wants its clusters backed up. */
export interface BackupInputs {
  /** Image that takes the backup. */
  readonly image: string;
}
/** Backing up a spoke before its upgrade, as a kind of job. */
type BackupJob = SpokeJob<BackupState, BackupInputs>;
/** Runs backups and remembers their states. */
export type BackupJobs = SpokeJobs<BackupState, BackupInputs>;

/** Seconds the hub waits for a verdict beyond the job's own deadline. */
const GRACE_SECONDS = 720;

/** As in pre-caching: a spoke that can get its job goes first, cleaning up has all the time there is. */
const priorities: Record<BackupState, number> = {
  PreparingToStart: 1,
  Starting: 3,
  Active: 4,
  Succeeded: 5,
  BackupTimeout: 5,
  UnrecoverableError: 5,
};

const { namespace, job, clusterRoleBinding } = BackupName;
const deletions = [BackupAction.deleteNamespace, BackupAction.deleteClusterRoleBinding];

/** Names of a backup on spoke and hub. */
export const backupNames: SpokeJobNames = {
  namespace,
  job,
  clusterRoleBinding,
  manifestWork: BACKUP_WORK,
  actions: {
    deleteNamespace: BackupAction.deleteNamespace,
    deleteClusterRoleBinding: BackupAction.deleteClusterRoleBinding,
    createJob: BackupAction.createJob,
  },
  views: {
    namespace: { name: BackupView.namespace, resource: 'namespaces', target: { kind: 'Namespace', name: namespace } },
    job: { name: BackupView.job, resource: 'jobs', target: { kind: 'Job', name: job, namespace } },
  },
};

/** The same, where a view is taken at its word as the reference takes it. */
const strictNames: SpokeJobNames = {
  ...backupNames,
  views: {
    namespace: { ...backupNames.views.namespace, trusted: true },
    job: { ...backupNames.views.job, trusted: true },
  },
};

/** The job with the settings of this hub. */
export function createBackupJob({
  image: ownImage = '',
  jobViewSeconds,
  talmStrict = false,
}: Partial<BackupSettings> & Pick<BackupSettings, 'jobViewSeconds'>): BackupJob {
  return {
    work: 'backup',
    machine: talmStrict ? strictBackupJobMachine : backupJobMachine,
    cleansFirst: talmStrict,
    states: BackupState,
    names: talmStrict ? strictNames : backupNames,
    words: { work: 'the backup', doing: 'backing up', active: 'running' },
    priorities,
    statesIn: (status) => status?.backup?.status,
    inputsIn: ({ status }) => status?.backup && { image: ownImage },
    workload: ({ image }, { upgradeUid }) => ({
      manifests: () => backupManifests({ upgradeUid, image }),
      deletions,
      jobViewSeconds,
      patienceMs: (BACKUP_JOB_SECONDS + GRACE_SECONDS) * 1000,
    }),
  };
}

/** What has to be removed when an upgrade ends or is deleted. */
export const backupTeardown = ({ talmStrict }: Pick<BackupSettings, 'talmStrict'> = {}): TeardownJob => ({
  work: 'backup',
  names: backupNames,
  cleansFirst: talmStrict,
  deletions,
  initial: backupJobMachine.initial,
});
