import { isJsonObject, isSameJson, type KubeObject, Label, type Resource } from '@flotilla/api';
import { ClusterRole, ClusterRoleBinding, Lease, Namespace, Role, RoleBinding, ServiceAccount } from '@flotilla/api/core';
import { AGENT_ACCOUNT, AGENT_LEASE } from '@flotilla/api/ocm';
import { clusterOf, REGISTRATION } from '../caches.ts';

/** Role and RoleBinding of an agent; charts/hub names those of `agents.clusters` differently. */
const AGENT_ROLE = 'flotilla:spoke-agent';

/** Object that the hub needs for an accepted spoke. */
export interface AccessObject {
  readonly kind: Resource;
  readonly object: KubeObject;
}

const RBAC = 'rbac.authorization.k8s.io';

/**
 * Rights of an agent in its own hub namespace. RBAC's rule against escalation requires the hub to hold them too, so charts/hub grants them when
 * `standalone` is set: change both.
 */
const inNamespace = [
  { apiGroups: ['action.open-cluster-management.io'], resources: ['managedclusteractions'], verbs: ['list', 'watch'] },
  { apiGroups: ['action.open-cluster-management.io'], resources: ['managedclusteractions/status'], verbs: ['update'] },
  { apiGroups: ['view.open-cluster-management.io'], resources: ['managedclusterviews'], verbs: ['list', 'watch'] },
  { apiGroups: ['view.open-cluster-management.io'], resources: ['managedclusterviews/status'], verbs: ['update'] },
  // The agent patches its finalizer.
  { apiGroups: ['work.open-cluster-management.io'], resources: ['manifestworks'], verbs: ['list', 'watch', 'patch'] },
  { apiGroups: ['work.open-cluster-management.io'], resources: ['manifestworks/status'], verbs: ['patch'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], resourceNames: [AGENT_LEASE], verbs: ['patch'] },
  // The agent requests its own next token.
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

/** Namespace of the spoke on the hub; it outlives the ManagedCluster. */
export const clusterNamespace = (cluster: string): AccessObject => ({
  kind: Namespace,
  object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: cluster, labels: { [Label.clusterName]: cluster } } },
});

/** Lease that an agent renews. The hub creates it empty, because RBAC cannot limit `create` to a name: an agent could create a million leases. */
export const clusterLease = (cluster: string): AccessObject =>
  accessObject(Lease, { metadata: { name: AGENT_LEASE, namespace: cluster, labels: { [Label.clusterName]: cluster } } });

/** Lists an agent's access objects in the order of creation: a token is useless before its rights. */
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
    // No pod uses the account; its tokens are requested.
    accessObject(ServiceAccount, { metadata: here(AGENT_ACCOUNT), automountServiceAccountToken: false }),
  ];
}

const accessObject = (kind: Resource, object: KubeObject): AccessObject => ({
  kind,
  object: { apiVersion: kind.apiVersion, kind: kind.kind, ...object },
});

/** The kinds of access objects, and whether one of them, or a cluster's namespace, is as it has to be. */
export const accessRule = {
  kinds: clusterAccess('any').map(({ kind }) => kind),
  isAsWanted(kind: Resource, object: KubeObject): boolean {
    const all = kind === Namespace ? [clusterNamespace(object.metadata.name)] : clusterAccess(clusterOf(object));
    const wanted = all.find((one) => one.kind === kind);
    return wanted !== undefined && isAsWanted(object, wanted.object);
  },
};

/** True when the object has every wanted label and the same grants. */
function isAsWanted(object: KubeObject, wanted: KubeObject): boolean {
  const labels = Object.entries(wanted.metadata.labels ?? {});
  return (
    labels.every(([key, value]) => object.metadata.labels?.[key] === value) &&
    isSameJson(object.rules, wanted.rules) &&
    isSameJson(object.roleRef, wanted.roleRef) &&
    isSameJson(withoutGroups(object.subjects), withoutGroups(wanted.subjects))
  );
}

/** Some servers fill in the empty group of a ServiceAccount, others do not. */
const withoutGroups = (subjects: unknown): unknown =>
  Array.isArray(subjects) ? subjects.map((one: unknown) => (isJsonObject(one) ? [one.kind, one.namespace, one.name] : one)) : subjects;
