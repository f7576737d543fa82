/** Shared templates of all kinds of jobs (spec/talm 3.5, 5.1). Pure. */
import { Annotation } from '@flotilla/api';
import type { SpokeJobNames, SpokeManifest } from '../transports/port/workload.ts';

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
