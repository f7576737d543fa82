/** Builds the objects of a backup on a spoke, in the order of their creation (spec/talm 5.1). Pure. */
import { BackupAction, BackupName } from '@flotilla/api/ran';
import type { SpokeManifest } from '../../../transports/port/port.ts';
import { clusterAdminTemplate, type HostMount, MANAGEMENT_ANNOTATION, mountHost, namespaceTemplate } from '../../templates.ts';

/** Deadline of a backup's Job, in seconds. */
export const BACKUP_JOB_SECONDS = 480;

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

const { namespace, job, container, serviceAccount } = BackupName;

/** All objects of a backup. The first is the namespace, the last is the job. */
export function backupManifests({ upgradeUid, image }: { readonly upgradeUid: string; readonly image: string }): SpokeManifest[] {
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
