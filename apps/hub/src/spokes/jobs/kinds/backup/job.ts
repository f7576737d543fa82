/** Backup as a job on spokes, and the objects that it makes there (spec/talm 5.1). */
import { BACKUP_WORK, BackupAction, BackupName, type BackupState, BackupView } from '@flotilla/api/ran';
import { backupJobMachine, importCounts, strictBackupJobMachine } from '@flotilla/rollout';
import type { CleanedJob } from '../../../leftovers.ts';
import type { SpokeJobNames, SpokeManifest } from '../../../transports/port/port.ts';
import type { SpokeJob } from '../../kind.ts';
import type { SpokeJobs } from '../../part.ts';
import { clusterAdminTemplate, type HostMount, MANAGEMENT_ANNOTATION, mountHost, namespaceTemplate } from '../../templates.ts';

/** Inputs of a backup from one upgrade. */
export interface BackupInputs {
  /** Image that takes the backup. */
  readonly image: string;
  /** Number of times that each cluster was imported again: its backup is another machine's. */
  readonly imports?: ReadonlyMap<string, number> | undefined;
}
/** Kind of job that backs up a spoke before its upgrade. */
type BackupJob = SpokeJob<BackupState, BackupInputs>;
/** Engine of all backups. */
export type BackupJobs = SpokeJobs<BackupState, BackupInputs>;

/** Seconds that the hub waits for a verdict beyond the job's own deadline. */
const GRACE_SECONDS = 720;

const { namespace, job, container, clusterRoleBinding, serviceAccount } = BackupName;
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

/** Trusts each view's answer without checking its target, as the reference does. */
const strictNames: SpokeJobNames = {
  ...backupNames,
  views: {
    namespace: { ...backupNames.views.namespace, trusted: true },
    job: { ...backupNames.views.job, trusted: true },
  },
};

/** Creates the kind of job with the settings of this hub. */
export function createBackupJob({
  image: ownImage = '',
  jobViewSeconds,
  talmStrict = false,
}: Partial<BackupSettings> & Pick<BackupSettings, 'jobViewSeconds'>): BackupJob {
  return {
    work: 'backup',
    machine: talmStrict ? strictBackupJobMachine : backupJobMachine,
    cleansFirst: talmStrict,
    names: talmStrict ? strictNames : backupNames,
    words: { work: 'the backup', doing: 'backing up', active: 'running' },
    statesIn: (status) => status?.backup?.status,
    inputsIn: ({ status }) => status?.backup && { image: ownImage, imports: talmStrict ? undefined : importCounts(status) },
    workload: ({ image }, { upgradeUid }) => ({
      manifests: () => backupManifests({ upgradeUid, image }),
      deletions,
      jobViewSeconds,
      patienceMs: (BACKUP_JOB_SECONDS + GRACE_SECONDS) * 1000,
    }),
    ...(!talmStrict && { digest: ({ imports }: BackupInputs, cluster = '') => String(imports?.get(cluster) ?? 0) }),
  };
}

/** Objects to remove when an upgrade ends or is deleted. */
export const backupCleaning = ({ talmStrict }: Pick<BackupSettings, 'talmStrict'> = {}): CleanedJob => ({
  work: 'backup',
  names: backupNames,
  cleansFirst: talmStrict,
  deletions,
  initial: backupJobMachine.initial,
  statesIn: (status) => status?.backup?.status,
});

/** Backup settings of this hub, the same for every upgrade. */
export interface BackupSettings {
  /** Image that takes the backup; empty when none is configured. */
  readonly image: string;
  /** Seconds between a spoke agent's polls of the job; a verdict is at most this late. */
  readonly jobViewSeconds: number;
  /** Delete leftovers of an earlier backup without looking for them first, as the reference does; default false. */
  readonly talmStrict?: boolean;
}

/** Deadline of a backup's Job, in seconds. */
const BACKUP_JOB_SECONDS = 480;

/** The image chroots into the host, reads its tools and writes the copy to `/var/recovery`. Paths and order are the reference's. */
const hostMounts: readonly HostMount[] = [
  { path: '/boot', readOnly: true },
  { path: '/dev/log', type: 'Socket' },
  { path: '/etc' },
  { path: '/proc', readOnly: true },
  { path: '/run' },
  { path: '/sysroot' },
  { path: '/tmp' },
  { path: '/usr/bin', readOnly: true },
  { path: '/usr/lib', readOnly: true },
  { path: '/usr/lib64', readOnly: true },
  { path: '/usr/libexec', readOnly: true },
  { path: '/usr/local', readOnly: true },
  { path: '/usr/share/containers', readOnly: true },
  { path: '/var/lib' },
  { path: '/var/recovery', type: 'DirectoryOrCreate' },
  { path: '/var/tmp' },
  { path: '/sys/fs/cgroup', readOnly: true, name: 'sys-fs-cgroup' },
];

/** All objects of a backup. The first is the namespace, the last is the job. */
function backupManifests({ upgradeUid, image }: { readonly upgradeUid: string; readonly image: string }): SpokeManifest[] {
  return [
    { action: BackupAction.createNamespace, template: namespaceTemplate(namespace, upgradeUid) },
    {
      action: BackupAction.createServiceAccount,
      template: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: serviceAccount, namespace } },
    },
    { action: BackupAction.createClusterRoleBinding, template: clusterAdminTemplate(BackupName, serviceAccount) },
    { action: BackupAction.createJob, template: jobTemplate(image) },
  ];
}

function jobTemplate(image: string): SpokeManifest['template'] {
  const { volumes, volumeMounts } = mountHost(hostMounts);
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: job, namespace, annotations: MANAGEMENT_ANNOTATION },
    spec: {
      activeDeadlineSeconds: BACKUP_JOB_SECONDS,
      backoffLimit: 0,
      template: {
        metadata: { name: job, annotations: MANAGEMENT_ANNOTATION },
        spec: {
          containers: [
            {
              name: container,
              image,
              args: ['launchBackup'],
              resources: {},
              securityContext: { privileged: true, runAsUser: 0 },
              tty: true,
              volumeMounts,
            },
          ],
          restartPolicy: 'Never',
          serviceAccountName: serviceAccount,
          volumes,
        },
      },
    },
  };
}
