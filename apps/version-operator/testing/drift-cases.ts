/** Objects of every kind that has rules of its own, and of some that have none, with what somebody else does to them. */

import { buildOpenDefinition, type OpenKind } from '@flotilla/api/testing';

type Json = Readonly<Record<string, unknown>>;

/** An object of a release and a change that is to be undone. */
export interface DriftCase {
  readonly object: Json & { readonly metadata: Json & { readonly name: string; readonly namespace?: string } };
  readonly plural: string;
  /** Merge patch of somebody else. */
  readonly drift: Json;
  /** Part of the change that stays, as a merge patch; default: the label that everybody's change adds. */
  readonly stays?: Json;
  /** Cannot be deleted where no controllers run. */
  readonly isLasting?: boolean;
}

/** Namespace of all that is in one. */
export const DRIFT_NAMESPACE = 'openshift-drift';

const named = (apiVersion: string, kind: string, fields: Json = {}, name = kind.toLowerCase()) => ({
  apiVersion,
  kind,
  metadata: { name, namespace: DRIFT_NAMESPACE, labels: { kept: 'yes' } },
  ...fields,
});
const clusterWide = (apiVersion: string, kind: string, fields: Json = {}, name = `drift-${kind.toLowerCase()}`) => ({
  apiVersion,
  kind,
  metadata: { name, labels: { kept: 'yes' } },
  ...fields,
});

/** With a default that the server fills in. */
const definition = (group: string, kind: string, plural: string, scope: OpenKind['scope']) => {
  const colour = { colour: { type: 'string', default: 'white' } };
  const properties = { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: colour } };
  const built = buildOpenDefinition({ group, kind, plural, scope, properties });
  return { ...built, metadata: { ...built.metadata, labels: { kept: 'yes' } } };
};

const labels = { app: 'drift' };
const pod = {
  metadata: { labels },
  spec: {
    containers: [{ name: 'main', image: 'i:1', args: ['a'], resources: { requests: { cpu: '1000m' } }, env: [{ name: 'A', value: '1' }] }],
  },
};
const otherImage = { spec: { template: { spec: { containers: [{ name: 'main', image: 'other:1' }] } } } };
const webhook = {
  name: 'drift.flotilla.io',
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  failurePolicy: 'Ignore',
  clientConfig: { service: { name: 's', namespace: DRIFT_NAMESPACE } },
  rules: [{ apiGroups: ['drift.flotilla.io'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nothings'] }],
};
const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }];
const more = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];
const subjects = [{ kind: 'ServiceAccount', name: 'serviceaccount', namespace: DRIFT_NAMESPACE }];
const stranger = [{ kind: 'User', name: 'mallory', apiGroup: 'rbac.authorization.k8s.io' }];
const roleRef = (kind: string, name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name });
const RBAC = 'rbac.authorization.k8s.io/v1';
const ADMISSION = 'admissionregistration.k8s.io/v1';

/** In the order of a release: a definition before its objects. */
export const driftCases: readonly DriftCase[] = [
  {
    object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: DRIFT_NAMESPACE, labels: { kept: 'yes' } } },
    plural: 'namespaces',
    drift: { metadata: { labels: { kept: 'no' } } },
    isLasting: true,
  },
  {
    object: definition('drift.flotilla.io', 'Boat', 'boats', 'Namespaced'),
    plural: 'customresourcedefinitions',
    drift: { spec: { names: { shortNames: ['bo'] } } },
  },
  {
    object: definition('security.openshift.io', 'SecurityContextConstraints', 'securitycontextconstraints', 'Cluster'),
    plural: 'customresourcedefinitions',
    drift: { spec: { preserveUnknownFields: false, names: { categories: ['all'] } } },
  },
  {
    object: definition('image.openshift.io', 'ImageStream', 'imagestreams', 'Namespaced'),
    plural: 'customresourcedefinitions',
    drift: { metadata: { labels: { kept: null } } },
  },
  {
    object: definition('operators.coreos.com', 'OperatorGroup', 'operatorgroups', 'Namespaced'),
    plural: 'customresourcedefinitions',
    drift: { metadata: { labels: { kept: null } } },
  },
  { object: named('v1', 'ServiceAccount'), plural: 'serviceaccounts', drift: { automountServiceAccountToken: false } },
  {
    object: named('v1', 'ConfigMap', { data: { a: '1', b: '2' } }),
    plural: 'configmaps',
    drift: { data: { a: 'x', b: null, c: 'theirs' } },
    stays: { data: { c: 'theirs' } },
  },
  {
    object: named('v1', 'Service', { spec: { ports: [{ name: 'http', port: 80 }], selector: labels } }),
    plural: 'services',
    drift: { spec: { ports: [{ name: 'http', port: 81 }], selector: { app: 'other', more: 'x' } } },
  },
  { object: clusterWide(RBAC, 'ClusterRole', { rules }), plural: 'clusterroles', drift: { rules: more } },
  {
    object: clusterWide(RBAC, 'ClusterRoleBinding', { subjects, roleRef: roleRef('ClusterRole', 'drift-clusterrole') }),
    plural: 'clusterrolebindings',
    drift: { subjects: stranger },
  },
  { object: named(RBAC, 'Role', { rules }), plural: 'roles', drift: { rules: more } },
  {
    object: named(RBAC, 'RoleBinding', { subjects, roleRef: roleRef('Role', 'role') }),
    plural: 'rolebindings',
    drift: { subjects: stranger },
  },
  {
    object: clusterWide(ADMISSION, 'ValidatingWebhookConfiguration', { webhooks: [webhook] }),
    plural: 'validatingwebhookconfigurations',
    drift: { webhooks: [{ ...webhook, failurePolicy: 'Fail', timeoutSeconds: 1 }] },
  },
  {
    object: clusterWide(ADMISSION, 'MutatingWebhookConfiguration', { webhooks: [webhook] }),
    plural: 'mutatingwebhookconfigurations',
    drift: { webhooks: null },
  },
  {
    object: clusterWide('security.openshift.io/v1', 'SecurityContextConstraints', {
      allowPrivilegedContainer: false,
      runAsUser: { type: 'MustRunAsRange' },
      seLinuxContext: { type: 'MustRunAs' },
      users: ['system:admin'],
      volumes: ['configMap'],
    }),
    plural: 'securitycontextconstraints',
    drift: { allowPrivilegedContainer: true, users: ['mallory'], allowHostPID: true },
  },
  {
    object: named('image.openshift.io/v1', 'ImageStream', { spec: { tags: [{ name: 'a', from: { kind: 'DockerImage', name: 'i:1' } }] } }),
    plural: 'imagestreams',
    drift: { spec: { tags: [{ name: 'a', from: { kind: 'DockerImage', name: 'other:1' } }] } },
  },
  {
    object: named('operators.coreos.com/v1', 'OperatorGroup', {
      spec: { targetNamespaces: [DRIFT_NAMESPACE], upgradeStrategy: 'Default' },
    }),
    plural: 'operatorgroups',
    drift: { spec: { targetNamespaces: ['default'] } },
  },
  {
    object: named('apps/v1', 'Deployment', { spec: { replicas: 2, selector: { matchLabels: labels }, template: pod } }),
    plural: 'deployments',
    drift: { spec: { replicas: 5, paused: true, ...otherImage.spec } },
  },
  {
    object: named('apps/v1', 'DaemonSet', { spec: { selector: { matchLabels: labels }, template: pod } }),
    plural: 'daemonsets',
    drift: otherImage,
  },
  {
    object: named('apps/v1', 'StatefulSet', { spec: { serviceName: 's', selector: { matchLabels: labels }, template: pod } }),
    plural: 'statefulsets',
    drift: otherImage,
  },
  {
    object: named('batch/v1', 'CronJob', {
      spec: { schedule: '0 0 * * *', jobTemplate: { spec: { template: { spec: { ...pod.spec, restartPolicy: 'Never' } } } } },
    }),
    plural: 'cronjobs',
    drift: { spec: { schedule: '* * * * *', suspend: true } },
  },
  {
    object: named('batch/v1', 'Job', { spec: { backoffLimit: 3, template: { spec: { ...pod.spec, restartPolicy: 'Never' } } } }),
    plural: 'jobs',
    drift: { spec: { backoffLimit: 1, activeDeadlineSeconds: 600 } },
  },
  {
    object: named('v1', 'Secret', { stringData: { key: 'value' } }),
    plural: 'secrets',
    drift: { data: { key: 'b3RoZXI=', more: 'bW9yZQ==' } },
  },
  {
    object: named('policy/v1', 'PodDisruptionBudget', { spec: { maxUnavailable: 1, selector: { matchLabels: labels } } }),
    plural: 'poddisruptionbudgets',
    drift: { spec: { maxUnavailable: 0 } },
  },
  {
    object: named('networking.k8s.io/v1', 'NetworkPolicy', { spec: { podSelector: {}, policyTypes: ['Ingress'] } }),
    plural: 'networkpolicies',
    drift: { spec: { ingress: [{}] } },
  },
  {
    object: clusterWide('scheduling.k8s.io/v1', 'PriorityClass', { value: 1000, description: 'For what must run.' }),
    plural: 'priorityclasses',
    drift: { description: 'For nothing.' },
  },
  {
    object: named('drift.flotilla.io/v1', 'Boat', { spec: { sails: 2, crew: { captain: 'ann' } } }),
    plural: 'boats',
    drift: { metadata: { labels: { kept: 'no' } }, spec: { sails: 0, crew: { captain: 'bob', cook: 'eve' } } },
  },
  {
    object: clusterWide('config.openshift.io/v1', 'ClusterOperator', { status: { versions: [{ name: 'operator', version: '4.1.0' }] } }),
    plural: 'clusteroperators',
    drift: { metadata: { labels: { kept: 'no' } } },
  },
];
