/** Names of a ClusterGroupUpgrade's objects on spokes and hub (spec/talm 2.1, 3.5, 3.6). */

/** Objects on a spoke. */
export const SpokeName = {
  namespace: 'openshift-talo-pre-cache',
  job: 'pre-cache',
  container: 'pre-cache-container',
  serviceAccount: 'pre-cache-agent',
  specConfigMap: 'pre-cache-spec',
  clusterRoleBinding: 'pre-cache-crb',
  role: 'pre-cache-agent',
  roleBinding: 'pre-cache-agent',
  sccRoleBinding: 'pre-cache-scc',
  /** Created by our agent, where the hub does not send the account. */
  pullerBinding: 'pre-cache-puller',
  /** DaemonSet with the pullers of the other nodes, and their account, role and binding. */
  nodes: 'pre-cache-nodes',
  nodeAccount: 'pre-cache-node',
  nodeSccRoleBinding: 'pre-cache-node-scc',
} as const;

/** Audience of the tokens by which the pods of DaemonSet `pre-cache-nodes` show their lead who they are. The API server takes no such token. */
export const POD_AUDIENCE = 'flotilla-pre-cache';

/** ManagedClusterActions of a pre-cache, in the hub namespace of the spoke. */
export const PrecacheAction = {
  deleteNamespace: 'precache-ns-delete',
  deleteClusterRoleBinding: 'precache-crb-delete',
  createNamespace: 'precache-ns-create',
  createServiceAccount: 'precache-sa-create',
  createClusterRoleBinding: 'precache-crb-create',
  createRole: 'precache-role-create',
  createRoleBinding: 'precache-rb-create',
  createSccRoleBinding: 'precache-scc-create',
  createSpecConfigMap: 'precache-spec-cm-create',
  createJob: 'precache-job-create',
  createNodeAccount: 'precache-node-sa-create',
  createNodeRole: 'precache-node-role-create',
  createNodeRoleBinding: 'precache-node-rb-create',
  createNodeSccRoleBinding: 'precache-node-scc-create',
  createNodes: 'precache-nodes-create',
} as const;
export type PrecacheAction = (typeof PrecacheAction)[keyof typeof PrecacheAction];

/** ManagedClusterViews of a pre-cache, in the hub namespace of the spoke. */
export const PrecacheView = {
  namespace: 'view-precache-namespace',
  job: 'view-precache-job',
} as const;
export type PrecacheView = (typeof PrecacheView)[keyof typeof PrecacheView];

/** ManifestWork of a pre-cache, in the hub namespace of the spoke. */
export const PRECACHE_WORK = 'precache-work';

/** Names on the hub of the job that removes pins, in the hub namespace of the spoke: those of a pre-cache with another start. */
export const PinsName = {
  work: 'pins-work',
  viewOfNamespace: 'view-pins-namespace',
  viewOfJob: 'view-pins-job',
  /** @param name of the action of a pre-cache */
  action: (name: string): string => name.replace(/^precache-/, 'pins-'),
} as const;

/** Life of a pin that nobody renews or removes, milliseconds: every later run of the puller on the node removes what is older. */
export const PIN_LIFE_MS = 7 * 24 * 3_600_000;

/** Finalizer of a ClusterGroupUpgrade. */
export const CLEANUP_FINALIZER = 'ran.openshift.io/cleanup-finalizer';

/** Legacy overrides ConfigMap in the namespace of the ClusterGroupUpgrade. */
export const OVERRIDES_CONFIG_MAP = 'cluster-group-upgrade-overrides';

/** Condition types of a ClusterGroupUpgrade; the spelling is the reference's. */
export const ClusterGroupUpgradeCondition = {
  clustersSelected: 'ClustersSelected',
  validated: 'Validated',
  precacheSpecValid: 'PrecacheSpecValid',
  precachingSucceeded: 'PrecachingSuceeded',
  backupSucceeded: 'BackupSuceeded',
  progressing: 'Progressing',
  succeeded: 'Succeeded',
  /** Stands last while the upgrade is paused, and is removed then. */
  paused: 'Paused',
  /** Flotilla: first of all, for tools that know nothing of upgrades. True once the upgrade has succeeded. */
  ready: 'Ready',
  /** Flotilla: stands after it while the upgrade has failed, is refused, or waits for somebody. */
  stalled: 'Stalled',
  /** Flotilla: stands after these while the spec has edits that came too late to count. */
  editsIgnored: 'EditsIgnored',
} as const;
