import type { ServedResource } from '@flotilla/runtime';

const served = (group: string, version: string, kind: string, plural: string, namespaced = true): ServedResource => ({
  group,
  version,
  kind,
  plural,
  singular: kind.toLowerCase(),
  namespaced,
});

/** The built-in kinds of a simulated spoke, in the order of a real server's discovery. */
export const BUILT_IN_KINDS: readonly ServedResource[] = [
  served('', 'v1', 'ConfigMap', 'configmaps'),
  served('', 'v1', 'Endpoints', 'endpoints'),
  served('', 'v1', 'Event', 'events'),
  served('', 'v1', 'Namespace', 'namespaces', false),
  served('', 'v1', 'Node', 'nodes', false),
  served('', 'v1', 'Pod', 'pods'),
  served('', 'v1', 'Secret', 'secrets'),
  served('', 'v1', 'ServiceAccount', 'serviceaccounts'),
  served('', 'v1', 'Service', 'services'),
  served('apps', 'v1', 'DaemonSet', 'daemonsets'),
  served('apps', 'v1', 'Deployment', 'deployments'),
  served('apps', 'v1', 'StatefulSet', 'statefulsets'),
  served('batch', 'v1', 'CronJob', 'cronjobs'),
  served('batch', 'v1', 'Job', 'jobs'),
  served('rbac.authorization.k8s.io', 'v1', 'ClusterRoleBinding', 'clusterrolebindings', false),
  served('rbac.authorization.k8s.io', 'v1', 'ClusterRole', 'clusterroles', false),
  served('rbac.authorization.k8s.io', 'v1', 'RoleBinding', 'rolebindings'),
  served('rbac.authorization.k8s.io', 'v1', 'Role', 'roles'),
  served('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition', 'customresourcedefinitions', false),
];

/** Custom kinds every spoke serves unless told otherwise: what upgrades touch on OpenShift. */
export const OPENSHIFT_KINDS: readonly ServedResource[] = [
  served('config.openshift.io', 'v1', 'ClusterVersion', 'clusterversions', false),
  served('config.openshift.io', 'v1', 'ClusterOperator', 'clusteroperators', false),
  served('operators.coreos.com', 'v1alpha1', 'CatalogSource', 'catalogsources'),
  served('operators.coreos.com', 'v1alpha1', 'ClusterServiceVersion', 'clusterserviceversions'),
  served('operators.coreos.com', 'v1alpha1', 'InstallPlan', 'installplans'),
  served('operators.coreos.com', 'v1alpha1', 'Subscription', 'subscriptions'),
  served('upgrade.managed.openshift.io', 'v1alpha1', 'UpgradeConfig', 'upgradeconfigs'),
  served('lca.openshift.io', 'v1', 'ImageBasedUpgrade', 'imagebasedupgrades', false),
];

const builtInGroups = new Set(BUILT_IN_KINDS.map(({ group }) => group));

/** Custom resources refuse an update without a resourceVersion (spec/ocm 1.4). */
export const isCustom = (kind: ServedResource): boolean => !builtInGroups.has(kind.group);
