/** Kinds that every API server serves, by group; `*` for groups of servers of their own, whose kinds are not listed here. */
const builtIn: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    '': [
      'ConfigMap',
      'Endpoints',
      'Event',
      'LimitRange',
      'Namespace',
      'Node',
      'PersistentVolume',
      'PersistentVolumeClaim',
      'Pod',
      'PodTemplate',
      'ReplicationController',
      'ResourceQuota',
      'Secret',
      'Service',
      'ServiceAccount',
    ],
    'admissionregistration.k8s.io': [
      'MutatingAdmissionPolicy',
      'MutatingAdmissionPolicyBinding',
      'MutatingWebhookConfiguration',
      'ValidatingAdmissionPolicy',
      'ValidatingAdmissionPolicyBinding',
      'ValidatingWebhookConfiguration',
    ],
    'apiextensions.k8s.io': ['CustomResourceDefinition'],
    'apiregistration.k8s.io': ['APIService'],
    apps: ['ControllerRevision', 'DaemonSet', 'Deployment', 'ReplicaSet', 'StatefulSet'],
    autoscaling: ['HorizontalPodAutoscaler'],
    batch: ['CronJob', 'Job'],
    'certificates.k8s.io': ['CertificateSigningRequest', 'ClusterTrustBundle'],
    'coordination.k8s.io': ['Lease', 'LeaseCandidate'],
    'discovery.k8s.io': ['EndpointSlice'],
    'events.k8s.io': ['Event'],
    'flowcontrol.apiserver.k8s.io': ['FlowSchema', 'PriorityLevelConfiguration'],
    'networking.k8s.io': ['IPAddress', 'Ingress', 'IngressClass', 'NetworkPolicy', 'ServiceCIDR'],
    'node.k8s.io': ['RuntimeClass'],
    policy: ['PodDisruptionBudget'],
    'rbac.authorization.k8s.io': ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'],
    'resource.k8s.io': ['DeviceClass', 'ResourceClaim', 'ResourceClaimTemplate', 'ResourceSlice'],
    'scheduling.k8s.io': ['PriorityClass'],
    'storage.k8s.io': ['CSIDriver', 'CSINode', 'CSIStorageCapacity', 'StorageClass', 'VolumeAttachment', 'VolumeAttributesClass'],
    'storagemigration.k8s.io': ['StorageVersionMigration'],
    ...Object.fromEntries(
      ['apps', 'authorization', 'build', 'image', 'oauth', 'project', 'quota', 'route', 'security', 'template', 'user'].map((name) => [
        `${name}.openshift.io`,
        ['*'],
      ]),
    ),
  }),
);

/** Built-in kinds that have no namespace. */
const clusterScoped: ReadonlySet<string> = new Set([
  'APIService',
  'CSIDriver',
  'CSINode',
  'CertificateSigningRequest',
  'ClusterRole',
  'ClusterRoleBinding',
  'ClusterTrustBundle',
  'CustomResourceDefinition',
  'DeviceClass',
  'FlowSchema',
  'IPAddress',
  'IngressClass',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionPolicyBinding',
  'MutatingWebhookConfiguration',
  'Namespace',
  'Node',
  'PersistentVolume',
  'PriorityClass',
  'PriorityLevelConfiguration',
  'ResourceSlice',
  'RuntimeClass',
  'ServiceCIDR',
  'StorageClass',
  'StorageVersionMigration',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'ValidatingWebhookConfiguration',
  'VolumeAttachment',
  'VolumeAttributesClass',
]);

/** What is known of a kind without asking a server: in a namespace, in none, served but no more is known, or nothing at all. */
export function builtInScope(group: string, kind: string): 'Namespaced' | 'Cluster' | 'served' | undefined {
  const kinds = builtIn.get(group);
  if (kinds?.includes('*')) return 'served';
  if (!kinds?.includes(kind)) return undefined;
  return clusterScoped.has(kind) ? 'Cluster' : 'Namespaced';
}
