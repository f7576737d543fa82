/** Versions of Kubernetes' own APIs that it no longer serves, by `group/version`; an empty list of kinds stands for all. */
const gone: readonly (readonly [api: string, kinds: readonly string[], since: string, instead: string])[] = [
  ['extensions/v1beta1', ['DaemonSet', 'Deployment', 'ReplicaSet'], '1.16', 'apps/v1'],
  ['extensions/v1beta1', ['NetworkPolicy'], '1.16', 'networking.k8s.io/v1'],
  ['extensions/v1beta1', ['PodSecurityPolicy'], '1.16', 'pod security admission'],
  ['extensions/v1beta1', ['Ingress'], '1.22', 'networking.k8s.io/v1'],
  ['apps/v1beta1', [], '1.16', 'apps/v1'],
  ['apps/v1beta2', [], '1.16', 'apps/v1'],
  ['admissionregistration.k8s.io/v1beta1', ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'], '1.22', 'v1'],
  ['apiextensions.k8s.io/v1beta1', [], '1.22', 'v1'],
  ['apiregistration.k8s.io/v1beta1', [], '1.22', 'v1'],
  ['certificates.k8s.io/v1beta1', ['CertificateSigningRequest'], '1.22', 'v1'],
  ['coordination.k8s.io/v1beta1', ['Lease'], '1.22', 'v1'],
  ['networking.k8s.io/v1beta1', ['Ingress', 'IngressClass'], '1.22', 'v1'],
  ['rbac.authorization.k8s.io/v1alpha1', [], '1.22', 'v1'],
  ['rbac.authorization.k8s.io/v1beta1', [], '1.22', 'v1'],
  ['scheduling.k8s.io/v1alpha1', ['PriorityClass'], '1.22', 'v1'],
  ['scheduling.k8s.io/v1beta1', ['PriorityClass'], '1.22', 'v1'],
  ['storage.k8s.io/v1beta1', ['CSIDriver', 'CSINode', 'StorageClass', 'VolumeAttachment'], '1.22', 'v1'],
  ['storage.k8s.io/v1beta1', ['CSIStorageCapacity'], '1.27', 'v1'],
  ['autoscaling/v2beta1', [], '1.25', 'v2'],
  ['autoscaling/v2beta2', [], '1.26', 'v2'],
  ['batch/v1beta1', ['CronJob'], '1.25', 'v1'],
  ['discovery.k8s.io/v1beta1', [], '1.25', 'v1'],
  ['events.k8s.io/v1beta1', [], '1.25', 'v1'],
  ['node.k8s.io/v1beta1', [], '1.25', 'v1'],
  ['policy/v1beta1', ['PodDisruptionBudget'], '1.25', 'v1'],
  ['policy/v1beta1', ['PodSecurityPolicy'], '1.25', 'pod security admission'],
  ['flowcontrol.apiserver.k8s.io/v1beta1', [], '1.26', 'v1'],
  ['flowcontrol.apiserver.k8s.io/v1beta2', [], '1.29', 'v1'],
  ['flowcontrol.apiserver.k8s.io/v1beta3', [], '1.32', 'v1'],
];

/** Since when Kubernetes no longer serves a kind in a version, and what stands in its place; undefined for what may be served. */
export function goneSince(group: string, version: string, kind: string): { readonly since: string; readonly instead: string } | undefined {
  const found = gone.find(([api, kinds]) => api === `${group}/${version}` && (kinds.length === 0 || kinds.includes(kind)));
  return found && { since: found[2], instead: found[3] };
}
