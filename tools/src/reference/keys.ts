import { code, page, table } from './markdown.ts';

/** An annotation or a label under `flotilla.io/`. */
interface KeyRow {
  readonly is: 'annotation' | 'label';
  readonly on: string;
  readonly meaning: string;
}

const annotation = (on: string, meaning: string): KeyRow => ({ is: 'annotation', on, meaning });
const label = (on: string, meaning: string): KeyRow => ({ is: 'label', on, meaning });
const UPGRADE = 'ClusterGroupUpgrade';
const CLUSTER = 'ManagedCluster';
const ACTION = 'ManagedClusterAction';

/** Keys that users write. */
export const userKeys: Readonly<Record<string, KeyRow>> = {
  'flotilla.io/window-start': annotation(UPGRADE, 'RFC 3339 with zone: no batch starts before it.'),
  'flotilla.io/window-end': annotation(UPGRADE, 'RFC 3339 with zone: no batch starts at or after it.'),
  'flotilla.io/window-schedule': annotation(UPGRADE, 'Five cron fields: when a window that recurs opens.'),
  'flotilla.io/window-duration': annotation(UPGRADE, 'How long it is open, 15m to 168h. Needed with a schedule.'),
  'flotilla.io/window-timezone': annotation(UPGRADE, 'IANA time zone of the schedule; default UTC.'),
  'flotilla.io/paused': annotation(
    UPGRADE,
    '`drain`: nothing new begins; what runs ends. `stop`: pulls that run are stopped too, and policies are not enforced meanwhile.',
  ),
  'flotilla.io/paused-reason': annotation(UPGRADE, 'Why it is paused; condition `Paused` quotes it.'),
  'flotilla.io/retry-at': annotation(
    UPGRADE,
    'RFC 3339: each new value tries failed clusters again once; `status.lastHandledRetryAt` confirms it.',
  ),
  'flotilla.io/retry-clusters': annotation(UPGRADE, 'Clusters that are meant, with commas between them; default all that failed.'),
  'flotilla.io/plan': annotation(UPGRADE, 'Digest of the plan that `flotilla plan --save` printed: the upgrade starts by no other.'),
  'flotilla.io/membership': annotation(
    UPGRADE,
    '`add`: clusters that are selected after the start join the rollout in last batches; `frozen`, the default: they do not.',
  ),
  'flotilla.io/retry-of': annotation(
    UPGRADE,
    '`namespace/name` of the upgrade whose failed clusters it tries again: it pulls the same images or none.',
  ),
  'flotilla.io/proof-within': annotation(
    UPGRADE,
    'A time from `5m` to `168h`: a cluster begins only with a proof, younger than that, that its nodes still have what was pulled.',
  ),
  'flotilla.io/pins': annotation(
    UPGRADE,
    'What is pulled is pinned, so that the kubelet does not collect it, until the upgrade ends: `runtime` in containerd on every node, `pinned-image-set` by PinnedImageSets of OpenShift; default no pins.',
  ),
  'flotilla.io/bandwidth': annotation('PreCachingConfig', 'Most bytes a second that the puller of each cluster reads from registries.'),
  'flotilla.io/node-selector': annotation(
    'PreCachingConfig',
    'Nodes that are filled: labels as `key=value`, with commas between them; default all.',
  ),
  'flotilla.io/node-tolerations': annotation(
    'PreCachingConfig',
    'Taints that these nodes may have: `key`, `key=value`, `key:Effect` or `key=value:Effect`, with commas between them; default those of the control plane.',
  ),
  'flotilla.io/node-patience': annotation(
    'PreCachingConfig',
    'Seconds, 10 to 86400, without word from a node before it counts as absent; default 600.',
  ),
  'flotilla.io/absent-nodes': annotation('PreCachingConfig', '`fail` (default) or `ignore`: whether an absent node fails its cluster.'),
  'flotilla.io/hold': annotation(CLUSTER, 'No upgrade begins on the cluster; the value says why.'),
  'flotilla.io/http-proxy': annotation(CLUSTER, '`HTTP_PROXY` of the puller on the cluster.'),
  'flotilla.io/https-proxy': annotation(CLUSTER, '`HTTPS_PROXY` of the puller on the cluster.'),
  'flotilla.io/no-proxy': annotation(CLUSTER, '`NO_PROXY` of the puller on the cluster.'),
  'flotilla.io/registry-config': annotation(CLUSTER, 'Mirrors and plain HTTP for the puller, as JSON.'),
  'flotilla.io/image-gc-threshold': annotation(
    CLUSTER,
    'Per cent of the disk at which the kubelet removes images, where its file cannot be read.',
  ),
  'flotilla.io/runtime-socket': annotation(CLUSTER, "Path of the runtime's socket on the nodes."),
  'flotilla.io/runtime-storage': annotation(CLUSTER, "Folder of the runtime's image store, where free space is measured."),
  'flotilla.io/pull-secret-path': annotation(CLUSTER, 'File with the credentials of registries.'),
  'flotilla.io/registries-conf-dir': annotation(CLUSTER, 'Folder of `registries.conf`.'),
  'flotilla.io/registry-certs-dir': annotation(CLUSTER, 'Folder of `certs.d`.'),
  'flotilla.io/ca-bundle-path': annotation(CLUSTER, 'File of certificate authorities.'),
  'flotilla.io/kubelet-config-path': annotation(CLUSTER, "The kubelet's configuration file."),
  'flotilla.io/version-operator': label('Deployment', '`true`: a Deployment under the name of the reference operator that runs ours.'),
};

/** Keys that programs write. Nobody else should. */
export const programKeys: Readonly<Record<string, KeyRow>> = {
  'flotilla.io/pinned-until': {
    is: 'label',
    on: 'pins in containerd',
    meaning: 'Time after which the next run of the puller removes the pin; an annotation on a PinnedImageSet.',
  },
  'pins.flotilla.io/<uid>': annotation(
    CLUSTER,
    "Pins of the ended upgrade of that uid are still to be removed there; the puller's image, and `pinned-image-set` where they may be sets.",
  ),
  'flotilla.io/taken-up': {
    is: 'label',
    on: 'ClusterGroupUpgrade',
    meaning:
      'Its uid and a digest of its name: a copy of the object, as a restore makes one, waits for its status. Remove it, and the upgrade begins anew.',
  },
  'flotilla.io/upgrade-uid': {
    is: 'label',
    on: 'objects of an upgrade',
    meaning: 'uid of the ClusterGroupUpgrade; an annotation on the cluster.',
  },
  'flotilla.io/work': label(
    'objects of an upgrade',
    'What the object is part of: `precache`, `backup`, `pins`, `rollout` or `registration`.',
  ),
  'flotilla.io/leftover': label('ManagedClusterView', '`true`: the cluster is still to be cleaned of what an ended upgrade left.'),
  'flotilla.io/spec-digest': annotation('objects of a job', 'Digest of the spec that the job was made for.'),
  'flotilla.io/attempt': annotation('objects of a job', 'The attempt that they are of.'),
  'flotilla.io/inventory': annotation(
    'Job `pre-cache` of an inspection',
    'What the node has of the layers that were asked about, as JSON.',
  ),
  'flotilla.io/progress': annotation('Job `pre-cache`', 'What the puller reported last, as JSON.'),
  'flotilla.io/lead': annotation(
    'Job `pre-cache`',
    'Address, port and public key by which the pullers of other nodes find the one of the Job, as JSON.',
  ),
  'flotilla.io/retries': annotation(ACTION, 'How often the action was made anew after a failure.'),
  'flotilla.io/refusals': annotation(ACTION, 'How many of these failures were verdicts of the cluster.'),
  'flotilla.io/template': annotation(ACTION, 'Digest of the template.'),
  'flotilla.io/deletes': annotation(ACTION, 'Whether the deletion comes `before` or `after` the job.'),
  'flotilla.io/verified-releases': annotation(
    'ConfigMap `signatures-managed`',
    'Digests of the releases whose signatures it keeps, the one verified last at the end.',
  ),
  'flotilla.io/view': annotation(ACTION, 'uid of the view whose answer the action was made from.'),
  'flotilla.io/work-refused': annotation('ManagedClusterView', 'Why the cluster is not reached by a ManifestWork.'),
  'flotilla.io/owed-deletions': annotation('ManagedClusterView', 'Deletions that a leftover still needs.'),
  'flotilla.io/frozen': annotation('ManifestWork', 'The work of a failed job: nothing is made again.'),
  'flotilla.io/generation': {
    is: 'annotation',
    on: 'ManifestWork',
    meaning: 'Name of a feedback value, not a key: generation of the object.',
  },
  'flotilla.io/observedGeneration': {
    is: 'annotation',
    on: 'ManifestWork',
    meaning: 'Name of a feedback value, not a key: observed generation of the object.',
  },
  'flotilla.io/work.<work>': annotation('objects on a cluster', '`created` or `found`: a ManifestWork holds the object.'),
  'flotilla.io/channel-before-upgrade': annotation('ClusterVersion', 'The channel before an upgrade changed it, and the one since.'),
  'flotilla.io/upgrade-version': annotation('MachineSet', 'Version of the upgrade for which the extra workers are.'),
  'flotilla.io/metrics': label('Service', 'Which of the two endpoints of the upgrade operator it serves.'),
};

/** Names that are the reference's, which the hub reads or writes too. */
const referenceKeys: Readonly<Record<string, KeyRow>> = {
  'openshift-cluster-group-upgrades/clusterGroupUpgrade': label('objects of an upgrade', 'Name of the upgrade.'),
  'openshift-cluster-group-upgrades/clusterGroupUpgradeNamespace': label('objects of an upgrade', 'Its namespace.'),
  'openshift-cluster-group-upgrades/forPolicy': label('Placement', 'The policy it is for.'),
  'openshift-cluster-group-upgrades/expectedValues': annotation(
    'ManifestWorkReplicaSet',
    'Feedback values that end a work: a JSON list of `{manifestIndex, name, value}`.',
  ),
  'cluster-group-upgrades-operator/name-suffix': annotation(UPGRADE, 'Suffix of the names of its objects on the hub.'),
  'cluster-group-upgrades-operator/rname': annotation('objects of an upgrade', 'The name that was wanted, where it had to be cut.'),
  'ran.openshift.io/soak-seconds': annotation('Policy', 'Seconds it must stay compliant.'),
  'ran.openshift.io/blocking-cgu-completion-mode': annotation(
    UPGRADE,
    '`partial`: a blocking upgrade that ended in any way no longer blocks.',
  ),
  'ran.openshift.io/blocking-cgu-cluster-filtering': annotation(
    UPGRADE,
    '`true`, with `partial`: only clusters that completed in every blocking upgrade.',
  ),
  'ran.openshift.io/ztp-deploy-wave': annotation('Policy', 'Its place in an upgrade that is created automatically.'),
  'ztp-done': label(CLUSTER, 'The first upgrade after the import is done.'),
  'ztp-running': label(CLUSTER, 'The first upgrade after the import runs.'),
};

const part = (title: string, rows: Readonly<Record<string, KeyRow>>): string =>
  `## ${title}\n\n${table(
    ['key', 'is', 'on', 'meaning'],
    Object.entries(rows).map(([key, { is, on, meaning }]) => [code(key), is, on, meaning]),
  )}`;

/** `docs/reference/annotations.md`. */
export const keysPage = (): string =>
  page(
    'Annotations and labels',
    'An annotation under `flotilla.io/` that the hub does not know stops an upgrade (`UnknownAnnotation`): a misspelt window must not be overlooked.',
    part('For users', userKeys),
    part('Written by programs', programKeys),
    part('Of the reference', referenceKeys),
  );

/** Annotations and labels that a user writes on objects of a kind; nothing where there are none. */
export function keysOf(kind: string): string {
  const rows = Object.entries({ ...userKeys, ...referenceKeys }).filter(([, { on }]) => on === kind);
  if (rows.length === 0) return '';
  return table(
    ['key', 'is', 'meaning'],
    rows.map(([key, { is, meaning }]) => [code(key), is, meaning]),
  );
}
