/** Kinds that every API server serves, by group: those in a namespace, then those in none. */
const builtIn: ReadonlyMap<string, readonly [namespaced: string, cluster: string]> = new Map([
  [
    '',
    [
      'ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount',
      'Namespace Node PersistentVolume',
    ],
  ],
  [
    'admissionregistration.k8s.io',
    [
      '',
      'MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration',
    ],
  ],
  ['apiextensions.k8s.io', ['', 'CustomResourceDefinition']],
  ['apiregistration.k8s.io', ['', 'APIService']],
  ['apps', ['ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet', '']],
  ['autoscaling', ['HorizontalPodAutoscaler', '']],
  ['batch', ['CronJob Job', '']],
  ['certificates.k8s.io', ['', 'CertificateSigningRequest ClusterTrustBundle']],
  ['coordination.k8s.io', ['Lease LeaseCandidate', '']],
  ['discovery.k8s.io', ['EndpointSlice', '']],
  ['events.k8s.io', ['Event', '']],
  ['flowcontrol.apiserver.k8s.io', ['', 'FlowSchema PriorityLevelConfiguration']],
  ['networking.k8s.io', ['Ingress NetworkPolicy', 'IPAddress IngressClass ServiceCIDR']],
  ['node.k8s.io', ['', 'RuntimeClass']],
  ['policy', ['PodDisruptionBudget', '']],
  ['rbac.authorization.k8s.io', ['Role RoleBinding', 'ClusterRole ClusterRoleBinding']],
  ['resource.k8s.io', ['ResourceClaim ResourceClaimTemplate', 'DeviceClass ResourceSlice']],
  ['scheduling.k8s.io', ['', 'PriorityClass']],
  ['storage.k8s.io', ['CSIStorageCapacity', 'CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass']],
  ['storagemigration.k8s.io', ['', 'StorageVersionMigration']],
]);
/** Groups of servers of their own, whose kinds are not listed here. */
const OPENSHIFT_GROUP = /^(?:apps|authorization|build|image|oauth|project|quota|route|security|template|user)\.openshift\.io$/;

/** Scope of a kind as far as it is known without a server; `served` when only that is known, undefined when nothing is. */
export function builtInScope(group: string, kind: string): 'Namespaced' | 'Cluster' | 'served' | undefined {
  if (OPENSHIFT_GROUP.test(group)) return 'served';
  const [namespaced = '', cluster = ''] = builtIn.get(group) ?? [];
  if (namespaced.split(' ').includes(kind)) return 'Namespaced';
  return cluster.split(' ').includes(kind) ? 'Cluster' : undefined;
}
