/** The objects a backup puts on a spoke, in the order they must be created (spec/talm 5.1). Pure. */
import { Annotation, BackupAction, BackupName } from '@flotilla/api';
import type { SpokeManifest } from '../spoke-job/definition.ts';
import { type HostMount, mountHost } from '../spoke-job/host-mounts.ts';
import { MANAGEMENT_ANNOTATION } from '../spoke-job/management.ts';

/** Seconds a backup may run. */
export const BACKUP_JOB_SECONDS = 480;

/** The image works in a chroot on the host: it reads the tools and writes the copy to `/var/recovery`. */
const hostMounts: readonly HostMount[] = [
  { path: '/boot', readOnly: true },
  { path: '/lib64', readOnly: true },
  { path: '/proc', readOnly: true },
  { path: '/usr/bin', readOnly: true },
  { path: '/usr/lib', readOnly: true },
  { path: '/usr/lib64', readOnly: true },
  { path: '/usr/libexec', readOnly: true },
  { path: '/usr/share/containers', readOnly: true },
  { path: '/dev/log', type: 'Socket' },
  { path: '/etc' },
  { path: '/run' },
  { path: '/sysroot' },
  { path: '/tmp' },
  { path: '/var/lib' },
  { path: '/var/recovery', type: 'DirectoryOrCreate' },
  { path: '/var/tmp' },
];

const { namespace, job, container, serviceAccount, clusterRoleBinding } = BackupName;

/** All objects of a backup. The first is the namespace, the last is the job. */
export function backupManifests({ upgradeUid, image }: { readonly upgradeUid: string; readonly image: string }): SpokeManifest[] {
  return [
    { action: BackupAction.createNamespace, template: namespaceTemplate(upgradeUid) },
    {
      action: BackupAction.createServiceAccount,
      template: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: serviceAccount, namespace } },
    },
    {
      action: BackupAction.createClusterRoleBinding,
      template: {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: clusterRoleBinding },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
        subjects: [{ kind: 'ServiceAccount', name: serviceAccount, namespace }],
      },
    },
    { action: BackupAction.createJob, template: jobTemplate(image) },
  ];
}

function namespaceTemplate(upgradeUid: string): SpokeManifest['template'] {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: namespace,
      labels: { 'pod-security.kubernetes.io/enforce': 'privileged' },
      annotations: { 'workload.openshift.io/allowed': 'management', [Annotation.upgradeUid]: upgradeUid },
    },
  };
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
