/** Names that are API: spokes, hub objects, labels and annotations (spec/talm 2.1, 3.5, 3.6; spec/ocm 1.14). */

/** Field manager of every write of the hub. */
export const FIELD_MANAGER = 'flotilla-hub';

/** Objects on a spoke. */
export const SpokeName = {
  namespace: 'openshift-talo-pre-cache',
  job: 'pre-cache',
  container: 'pre-cache-container',
  serviceAccount: 'pre-cache-agent',
  specConfigMap: 'pre-cache-spec',
  progressConfigMap: 'pre-cache-progress',
  clusterRoleBinding: 'pre-cache-crb',
  role: 'pre-cache-agent',
  roleBinding: 'pre-cache-agent',
} as const;

/** ManagedClusterActions of a pre-cache, in the hub namespace of the spoke. */
export const PrecacheAction = {
  deleteNamespace: 'precache-ns-delete',
  deleteClusterRoleBinding: 'precache-crb-delete',
  createNamespace: 'precache-ns-create',
  createServiceAccount: 'precache-sa-create',
  createClusterRoleBinding: 'precache-crb-create',
  createRole: 'precache-role-create',
  createRoleBinding: 'precache-rb-create',
  createSpecConfigMap: 'precache-spec-cm-create',
  createJob: 'precache-job-create',
} as const;
export type PrecacheAction = (typeof PrecacheAction)[keyof typeof PrecacheAction];

/** ManagedClusterViews of a pre-cache, in the hub namespace of the spoke. */
export const PrecacheView = {
  namespace: 'view-precache-namespace',
  job: 'view-precache-job',
  progress: 'view-precache-progress',
} as const;
export type PrecacheView = (typeof PrecacheView)[keyof typeof PrecacheView];

/** Labels. The first two are the reference's; ours carry the prefix `flotilla.io/`. */
export const Label = {
  upgradeName: 'openshift-cluster-group-upgrades/clusterGroupUpgrade',
  upgradeNamespace: 'openshift-cluster-group-upgrades/clusterGroupUpgradeNamespace',
  /** uid of the ClusterGroupUpgrade that created the object. */
  upgradeUid: 'flotilla.io/upgrade-uid',
  /** What the object is part of: `precache` (later `backup`, …). */
  work: 'flotilla.io/work',
  rootPolicy: 'policy.open-cluster-management.io/root-policy',
} as const;

/** Annotations. */
export const Annotation = {
  /** On objects created on a spoke: uid of the ClusterGroupUpgrade they belong to. */
  upgradeUid: 'flotilla.io/upgrade-uid',
  nameSuffix: 'cluster-group-upgrades-operator/name-suffix',
} as const;

/** Finalizer of a ClusterGroupUpgrade. */
export const CLEANUP_FINALIZER = 'ran.openshift.io/cleanup-finalizer';

/** Legacy overrides ConfigMap in the namespace of the ClusterGroupUpgrade. */
export const OVERRIDES_CONFIG_MAP = 'cluster-group-upgrade-overrides';

/** Condition types of a ClusterGroupUpgrade; the spelling is the reference's. */
export const UpgradeCondition = {
  clustersSelected: 'ClustersSelected',
  validated: 'Validated',
  precacheSpecValid: 'PrecacheSpecValid',
  precachingSucceeded: 'PrecachingSuceeded',
  backupSucceeded: 'BackupSuceeded',
  progressing: 'Progressing',
  succeeded: 'Succeeded',
} as const;
