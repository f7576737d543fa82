/** Names that are API: of spokes, hub objects, labels and annotations (spec/talm 2.1, 3.5, 3.6; spec/ocm 1.14). */

/** Field manager of every write of the hub. */
export const FIELD_MANAGER = 'flotilla-hub';

/** ClusterRoles of OpenShift for the use of each SecurityContextConstraints. */
export const SccRole = { privileged: 'system:openshift:scc:privileged' } as const;

/** Labels. The first two are the reference's; ours carry the prefix `flotilla.io/`. */
export const Label = {
  upgradeName: 'openshift-cluster-group-upgrades/clusterGroupUpgrade',
  upgradeNamespace: 'openshift-cluster-group-upgrades/clusterGroupUpgradeNamespace',
  /** uid of the ClusterGroupUpgrade that created the object. */
  upgradeUid: 'flotilla.io/upgrade-uid',
  /** On a ClusterGroupUpgrade: its uid and a digest of its name, by which an object that was made again is told from the one that was taken up. */
  takenUp: 'flotilla.io/taken-up',
  /** Work that the object belongs to, such as `precache`, `backup` or `registration`. */
  work: 'flotilla.io/work',
  /** `"true"` on a view: the spoke still has objects of its upgrade. */
  leftover: 'flotilla.io/leftover',
  rootPolicy: 'policy.open-cluster-management.io/root-policy',
  /** On a Placement: its policy. */
  forPolicy: 'openshift-cluster-group-upgrades/forPolicy',
  app: 'app',
  /** `"true"`: Velero leaves the object out. */
  excludeFromBackup: 'velero.io/exclude-from-backup',
  /** On the hub namespace of a spoke: the spoke's name. */
  clusterName: 'open-cluster-management.io/cluster-name',
  /** On a PlacementDecision: its Placement. */
  placement: 'cluster.open-cluster-management.io/placement',
  /** On a ManagedCluster: its first upgrade after the import is done, or runs (spec/talm 5.2). */
  ztpDone: 'ztp-done',
  ztpRunning: 'ztp-running',
} as const;

/**
 * Start of an annotation of a ManagedCluster, before the uid of an ended upgrade whose pins are still to be removed there; the value is the puller's
 * image. It is no key under `flotilla.io/`, which an older hub would take for a typo.
 */
export const OWED_PINS = 'pins.flotilla.io/';

/** Annotations of hub and spoke objects. */
export const Annotation = {
  /** On objects on a spoke: uid of their ClusterGroupUpgrade. */
  upgradeUid: 'flotilla.io/upgrade-uid',
  /** On namespace and Job of a pre-cache, and on their hub objects: digest of their spec. */
  specDigest: 'flotilla.io/spec-digest',
  /** On the work of a job, and on its namespace and Job: their attempt. */
  attempt: 'flotilla.io/attempt',
  /** On Job `pre-cache`: the puller's last report, as JSON (`PullerReport`). */
  progress: 'flotilla.io/progress',
  /** On the Job of an inspection: what the node has of the layers that were asked about, as JSON (`NodeInventory`). */
  inventory: 'flotilla.io/inventory',
  /** On Job `pre-cache`: where its puller answers those of the other nodes, and its public key, as JSON (`LeadPlace`). */
  lead: 'flotilla.io/lead',
  /** On an action: number of its recreations after failures. */
  retries: 'flotilla.io/retries',
  nameSuffix: 'cluster-group-upgrades-operator/name-suffix',
  /** On hub objects with a safe name: `<namespace>/<desired name>`. */
  resourceName: 'cluster-group-upgrades-operator/rname',
  /** On a ManifestWork and its template: feedback values that end it, as a JSON list of `{manifestIndex, name, value}`. */
  expectedValues: 'openshift-cluster-group-upgrades/expectedValues',
  /** On a policy: seconds for which it must stay compliant. */
  soakSeconds: 'ran.openshift.io/soak-seconds',
  /** `partial`: a blocking upgrade stops blocking at any end. */
  blockingCompletionMode: 'ran.openshift.io/blocking-cgu-completion-mode',
  /** `"true"`, with `partial`: only clusters that completed in every blocking upgrade are upgraded. */
  blockingClusterFiltering: 'ran.openshift.io/blocking-cgu-cluster-filtering',
  /** On a policy: its place in an automatically created upgrade. */
  deployWave: 'ran.openshift.io/ztp-deploy-wave',
  /** On a ClusterGroupUpgrade: RFC 3339 times with zone between which batches may start; on a ManagedCluster: between which its part may begin. */
  windowStart: 'flotilla.io/window-start',
  windowEnd: 'flotilla.io/window-end',
  /** The same as windows that recur. Five cron fields, a length such as `4h`, an IANA time zone (default UTC). */
  windowSchedule: 'flotilla.io/window-schedule',
  windowDuration: 'flotilla.io/window-duration',
  windowTimezone: 'flotilla.io/window-timezone',
  /** On a ClusterGroupUpgrade: `drain` lets nothing new begin, `stop` ends pulls too; the reason, for people, stands beside it. */
  paused: 'flotilla.io/paused',
  pausedReason: 'flotilla.io/paused-reason',
  /**
   * On a ClusterGroupUpgrade: each new value, a time in RFC 3339, tries failed clusters again once, as `status.lastHandledRetryAt` confirms; names
   * after commas beside it say which, else all.
   */
  retryAt: 'flotilla.io/retry-at',
  retryClusters: 'flotilla.io/retry-clusters',
  /** On a ClusterGroupUpgrade: `add` lets clusters that are selected after the start join its rollout; `frozen`, as without it, does not. */
  membership: 'flotilla.io/membership',
  /**
   * On a ClusterGroupUpgrade: `ready` fills a batch with clusters that are ready while others pull; the least of a batch, and the patience with which it
   * is filled, stand beside it.
   */
  waves: 'flotilla.io/waves',
  waveMin: 'flotilla.io/wave-min',
  wavePatience: 'flotilla.io/wave-patience',
  /** On a ClusterGroupUpgrade: digest of the only plan that it may start by. */
  plan: 'flotilla.io/plan',
  /** On a ClusterGroupUpgrade: `namespace/name` of the ended one whose failed clusters it tries again. */
  retryOf: 'flotilla.io/retry-of',
  /** On a ClusterGroupUpgrade: age at which a proof that the images are still there is too old for a cluster to begin, such as `2h`. */
  proofWithin: 'flotilla.io/proof-within',
  /** On a ClusterGroupUpgrade: `runtime` or `pinned-image-set` pins what is pulled until the upgrade ends. */
  pins: 'flotilla.io/pins',
  /** On a PreCachingConfig: most bytes a second that each spoke's puller reads from registries. */
  bandwidth: 'flotilla.io/bandwidth',
  /** On a PreCachingConfig: labels of the nodes that are filled, taints that they may have, seconds for which an absent one is waited for, and its meaning. */
  nodeSelector: 'flotilla.io/node-selector',
  nodeTolerations: 'flotilla.io/node-tolerations',
  nodePatience: 'flotilla.io/node-patience',
  absentNodes: 'flotilla.io/absent-nodes',
  /** On a ManagedCluster: nothing is begun on it; the value says why. */
  hold: 'flotilla.io/hold',
} as const;
