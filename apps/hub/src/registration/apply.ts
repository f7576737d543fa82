import { isJsonObject, isSameJson, type KubeObject, Label, type Resource } from '@flotilla/api';
import { ClusterRole, ClusterRoleBinding, Lease, Namespace, Role, RoleBinding, ServiceAccount } from '@flotilla/api/core';
import { AGENT_ACCOUNT, AGENT_LEASE } from '@flotilla/api/ocm';

/** Value of the label `flotilla.io/work` on everything that lets a spoke in. */
export const REGISTRATION = 'registration';
/** Role and RoleBinding of an agent; not the names charts/hub gives to those of `agents.clusters`. */
const AGENT_ROLE = 'flotilla:spoke-agent';

/** One object that has to be on the hub for a spoke that is let in. */
interface AccessObject {
  readonly kind: Resource;
  readonly object: KubeObject;
}

const RBAC = 'rbac.authorization.k8s.io';

/**
 * What an agent may do in its own hub namespace. Whoever hands a right out must hold it (RBAC's rule against escalation), so
 * charts/hub grants the hub the same when `standalone` is set: change both.
 */
const inNamespace = [
  { apiGroups: ['action.open-cluster-management.io'], resources: ['managedclusteractions'], verbs: ['list', 'watch'] },
  { apiGroups: ['action.open-cluster-management.io'], resources: ['managedclusteractions/status'], verbs: ['update'] },
  { apiGroups: ['view.open-cluster-management.io'], resources: ['managedclusterviews'], verbs: ['list', 'watch'] },
  { apiGroups: ['view.open-cluster-management.io'], resources: ['managedclusterviews/status'], verbs: ['update'] },
  // Patch is for its finalizer.
  { apiGroups: ['work.open-cluster-management.io'], resources: ['manifestworks'], verbs: ['list', 'watch', 'patch'] },
  { apiGroups: ['work.open-cluster-management.io'], resources: ['manifestworks/status'], verbs: ['patch'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], resourceNames: [AGENT_LEASE], verbs: ['patch'] },
  // Its own next token.
  { apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames: [AGENT_ACCOUNT], verbs: ['create'] },
];

const ofItself = (cluster: string) => [
  { apiGroups: ['cluster.open-cluster-management.io'], resources: ['managedclusters'], resourceNames: [cluster], verbs: ['get'] },
  {
    apiGroups: ['cluster.open-cluster-management.io'],
    resources: ['managedclusters/status'],
    resourceNames: [cluster],
    verbs: ['patch'],
  },
];

/** The spoke's hub namespace; it outlives the ManagedCluster. */
export const clusterNamespace = (cluster: string): AccessObject => ({
  kind: Namespace,
  object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: cluster, labels: { [Label.clusterName]: cluster } } },
});

/**
 * The lease that an agent renews. The hub makes it, empty: RBAC cannot limit `create` to a name, so an agent that may create one lease
 * may create a million.
 */
export const clusterLease = (cluster: string): AccessObject =>
  accessObject(Lease, { metadata: { name: AGENT_LEASE, namespace: cluster, labels: { [Label.clusterName]: cluster } } });

/** What lets an agent in, in the order it is created: a token is of no use before its rights are there. */
export function clusterAccess(cluster: string): AccessObject[] {
  const labels = { [Label.work]: REGISTRATION, [Label.clusterName]: cluster };
  const here = (name: string) => ({ name, namespace: cluster, labels });
  const wide = { name: `${AGENT_ROLE}:${cluster}`, labels };
  const subjects = [{ kind: 'ServiceAccount', name: AGENT_ACCOUNT, namespace: cluster }];
  const roleRef = (kind: string, name: string) => ({ apiGroup: RBAC, kind, name });
  return [
    accessObject(Role, { metadata: here(AGENT_ROLE), rules: inNamespace }),
    accessObject(RoleBinding, { metadata: here(AGENT_ROLE), roleRef: roleRef('Role', AGENT_ROLE), subjects }),
    accessObject(ClusterRole, { metadata: wide, rules: ofItself(cluster) }),
    accessObject(ClusterRoleBinding, { metadata: wide, roleRef: roleRef('ClusterRole', wide.name), subjects }),
    // No pod runs under it: its tokens are asked for.
    accessObject(ServiceAccount, { metadata: here(AGENT_ACCOUNT), automountServiceAccountToken: false }),
  ];
}

const accessObject = (kind: Resource, object: KubeObject): AccessObject => ({
  kind,
  object: { apiVersion: kind.apiVersion, kind: kind.kind, ...object },
});

/** The object has every label of the wanted one and grants the same to the same. */
export function isAsWanted(object: KubeObject, wanted: KubeObject): boolean {
  const labels = Object.entries(wanted.metadata.labels ?? {});
  return (
    labels.every(([key, value]) => object.metadata.labels?.[key] === value) &&
    isSameJson(object.rules, wanted.rules) &&
    isSameJson(object.roleRef, wanted.roleRef) &&
    isSameJson(withoutGroups(object.subjects), withoutGroups(wanted.subjects))
  );
}

/** Servers fill in the empty group of a ServiceAccount, or do not. */
const withoutGroups = (subjects: unknown): unknown =>
  Array.isArray(subjects) ? subjects.map((one: unknown) => (isJsonObject(one) ? [one.kind, one.namespace, one.name] : one)) : subjects;
