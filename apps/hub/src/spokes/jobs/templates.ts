/** Templates that kinds of jobs share (spec/talm 3.5, 5.1), and folders of the host for images that chroot there. Pure. */
import { Annotation } from '@flotilla/api';
import type { SpokeJobNames, SpokeManifest } from '../transports/port/port.ts';

/** Lets a pod run on the management cores of a partitioned node. */
export const MANAGEMENT_ANNOTATION = { 'target.workload.openshift.io/management': '{"effect":"PreferredDuringScheduling"}' };

/** Builds the namespace of a job. Its upgrade's uid shows a later step whether an earlier attempt left it. */
export const namespaceTemplate = (name: string, upgradeUid: string): SpokeManifest['template'] => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name,
    labels: { 'pod-security.kubernetes.io/enforce': 'privileged' },
    annotations: { 'workload.openshift.io/allowed': 'management', [Annotation.upgradeUid]: upgradeUid },
  },
});

/** Makes a job's account cluster-admin, as the reference's jobs need it. */
export const clusterAdminTemplate = (
  { namespace, clusterRoleBinding }: Pick<SpokeJobNames, 'namespace' | 'clusterRoleBinding'>,
  serviceAccount: string,
): SpokeManifest['template'] => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: clusterRoleBinding },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ kind: 'ServiceAccount', name: serviceAccount, namespace }],
});

/** One path of the host. */
export interface HostMount {
  readonly path: string;
  readonly readOnly?: true;
  /** Default: Directory. */
  readonly type?: 'File' | 'Socket' | 'DirectoryOrCreate';
  /** Name of its volume; default: the path with dashes. */
  readonly name?: string;
}

/** Volume names must not contain a dot. */
const volumeName = ({ path, name }: HostMount): string => name ?? `host${path.replaceAll(/[/.]/g, '-')}`;

/** Builds the empty `/host` and the mounts below it. */
export function mountHost(mounts: readonly HostMount[]): { volumes: Record<string, unknown>[]; volumeMounts: Record<string, unknown>[] } {
  return {
    volumes: [
      { name: 'host', emptyDir: {} },
      ...mounts.map((mount) => ({ name: volumeName(mount), hostPath: { path: mount.path, type: mount.type ?? 'Directory' } })),
    ],
    volumeMounts: [
      { name: 'host', mountPath: '/host' },
      ...mounts.map((mount) => ({
        name: volumeName(mount),
        mountPath: `/host${mount.path}`,
        ...(mount.readOnly && { readOnly: true }),
      })),
    ],
  };
}
