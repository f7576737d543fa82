/** Rules of lint about kinds: which of them a server knows, in which versions, and which live in a namespace. */
import { namesOf } from '../errors.ts';
import { objectAt, objectsAt } from '../json-values.ts';
import type { Manifest } from '../payload/manifest.ts';
import { definedKind } from './order.ts';
import { type Finding, findingAt, type LintSource } from './source.ts';

interface BroughtKind {
  scope: string;
  readonly versions: Set<string>;
}

/** Kinds that no server will know, versions that are not served, and objects without the namespace they need, or with one that they do not have. */
export function* checkKinds(source: LintSource): Generator<Finding> {
  const brought = broughtKinds(source.manifests);
  for (const manifest of source.manifests) {
    const { group, kind, version, namespace } = manifest;
    const own = brought.get(`${group}/${kind}`);
    const scope = own?.scope ?? builtInScope(group, kind);
    const near = ['kind:', '"kind"'];
    if (scope === undefined)
      yield findingAt(source, manifest, {
        level: 'warning',
        rule: 'kind',
        message: `neither Kubernetes nor a CustomResourceDefinition of the payload knows ${kind} of ${group || 'the core group'}`,
        near,
      });
    else if (own && !own.versions.has(version))
      yield findingAt(source, manifest, {
        rule: 'kind',
        message: `the payload's CustomResourceDefinition serves ${namesOf(own.versions)}, not ${version}`,
        near: ['apiVersion'],
      });
    const gone = own ? undefined : goneSince(group, version, kind);
    if (gone)
      yield findingAt(source, manifest, {
        rule: 'version',
        message: `Kubernetes has not served ${group}/${version} of it since ${gone.since}; use ${gone.instead}`,
        near: ['apiVersion'],
      });
    if (scope === 'Namespaced' && namespace === '')
      yield findingAt(source, manifest, { rule: 'kind', message: 'has no metadata.namespace, which its kind needs', near: ['metadata'] });
    if (scope === 'Cluster' && namespace !== '')
      yield findingAt(source, manifest, {
        level: 'warning',
        rule: 'kind',
        message: `has metadata.namespace ${namespace}, which a kind without namespaces ignores; leave it out`,
        near: ['namespace:', '"namespace"'],
      });
  }
}

/** Kinds by group and name; of several definitions, one per feature set, what any of them serves. */
function broughtKinds(manifests: readonly Manifest[]): ReadonlyMap<string, BroughtKind> {
  const kinds = new Map<string, BroughtKind>();
  for (const manifest of manifests) {
    const key = definedKind(manifest);
    if (key === undefined) continue;
    const spec = objectAt(manifest.object.spec);
    const known = kinds.get(key) ?? { scope: String(spec.scope), versions: new Set<string>() };
    for (const { name, served } of objectsAt(spec.versions)) if (served === true) known.versions.add(String(name));
    kinds.set(key, known);
  }
  return kinds;
}

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
function goneSince(group: string, version: string, kind: string): { readonly since: string; readonly instead: string } | undefined {
  const found = gone.find(([api, kinds]) => api === `${group}/${version}` && (kinds.length === 0 || kinds.includes(kind)));
  return found && { since: found[2], instead: found[3] };
}

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
function builtInScope(group: string, kind: string): 'Namespaced' | 'Cluster' | 'served' | undefined {
  if (OPENSHIFT_GROUP.test(group)) return 'served';
  const [namespaced = '', cluster = ''] = builtIn.get(group) ?? [];
  if (namespaced.split(' ').includes(kind)) return 'Namespaced';
  return cluster.split(' ').includes(kind) ? 'Cluster' : undefined;
}
