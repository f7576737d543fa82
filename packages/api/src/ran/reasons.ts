/** All reasons that the hub gives users for an upgrade or one of its clusters, with meaning and fix. */

interface ReasonRow {
  readonly meaning: string;
  /** Next step; `{name}` stands for a value of the case. Absent: nothing to do. */
  readonly fix?: string;
  /** The reference has this reason; with `--talm-strict` its message is the reference's, without our fix. */
  readonly isReferences?: true;
}

/** Reasons of the conditions of a ClusterGroupUpgrade. */
const conditionReasons = {
  ClusterSelectionCompleted: { isReferences: true, meaning: 'Every cluster of the upgrade is known.' },
  ClusterNotFound: {
    isReferences: true,
    meaning: 'The list of clusters cannot be made.',
    fix: 'correct spec.clusters, spec.clusterLabelSelectors or spec.remediationStrategy.canaries, or create the ManagedCluster; then the upgrade goes on by itself',
  },
  ClusterNotBound: {
    meaning: 'A cluster is in no cluster set that is bound to the namespace.',
    fix: 'bind a cluster set that holds it with a ManagedClusterSetBinding',
  },
  WaitingForMembers: {
    meaning:
      'Clusters of the plan are no ManagedClusters now and were not seen to be deleted, or the upgrade was made again without its status: they are waited for, at most 30 minutes.',
    fix: 'restore what is missing; it goes on by itself',
  },
  NoClustersSelected: {
    meaning: 'No ManagedCluster matches, so the upgrade would do nothing.',
    fix: 'correct the selector or label the clusters; the upgrade goes on when one matches',
  },
  ClusterApiMissing: {
    meaning: 'The API server has no kind ManagedCluster, so the hub knows no cluster.',
    fix: 'install RHACM or start with --standalone (and --install-crds, or the CRDs of the chart)',
  },
  ValidationCompleted: { isReferences: true, meaning: 'The upgrade can be planned.' },
  UnknownAnnotation: {
    meaning: 'An annotation under flotilla.io/ is none that this hub reads: a misspelt or newer one must not be overlooked.',
    fix: 'did you mean {known}? Correct its name, or remove it',
  },
  NothingToDo: {
    meaning: 'The spec asks for nothing.',
    fix: 'name policies in spec.managedPolicies or templates in spec.manifestWorkTemplates, or set spec.preCaching',
  },
  NotAllManagedPoliciesExist: {
    isReferences: true,
    meaning: 'A managed policy is missing, invalid, or placed on none of the clusters.',
    fix: 'see that each policy is there, enabled and placed on the clusters (PlacementBinding), or correct spec.managedPolicies',
  },
  AmbiguousManagedPoliciesNames: {
    isReferences: true,
    meaning: 'Policies of one name are in several namespaces.',
    fix: 'rename all but one of them',
  },
  NotAllManifestTemplatesExist: {
    isReferences: true,
    meaning: 'A ManifestWorkReplicaSet is missing.',
    fix: 'create the ManifestWorkReplicaSet in the namespace of the upgrade, or correct spec.manifestWorkTemplates',
  },
  InvalidManifestTemplate: {
    meaning: 'A template could never complete.',
    fix: 'correct the ManifestWorkReplicaSet',
  },
  TemplateChanged: {
    meaning: 'A ManifestWorkReplicaSet is gone, or was edited, since the rollout began: no further batch starts.',
    fix: 'put it back as it was, or delete the upgrade and create it again to roll the new version out from the canaries on',
  },
  PolicyFrameworkMissing: {
    meaning: 'The API server serves no policies.',
    fix: 'use spec.manifestWorkTemplates, or install the policy framework',
  },
  InvalidSpec: { meaning: 'The spec is not what the schema allows.', fix: 'correct it' },
  ForeignPreCachingConfig: {
    meaning: 'The PreCachingConfig belongs to another namespace, on a hub that keeps tenants apart.',
    fix: 'create it there, and leave the field out',
  },
  InvalidWindow: {
    meaning: 'An annotation of the window cannot be read, or the window ends before it starts.',
    fix: 'write times as 2026-01-31T22:00:00Z or 2026-01-31T22:00:00+01:00, with the end after the start; a schedule as "0 22 * * 6" with the duration 4h and a time zone such as Europe/Berlin',
  },
  InvalidActions: {
    meaning: 'The API server would refuse an edit of ManagedClusters.',
    fix: 'correct spec.actions',
  },
  InvalidNameSuffix: {
    meaning: 'The name suffix cannot be part of a name.',
    fix: 'give it at most 63 lower-case letters, digits and "-", beginning and ending with a letter or digit',
  },
  InvalidNameLabel: {
    meaning: 'The label `name` of a ManagedCluster, by which Placements select, is not its name.',
    fix: 'set it to {name}',
  },
  InvalidSoak: {
    meaning: 'The soak of a policy cannot be read; without it the next batch would begin at once.',
    fix: 'write the seconds as a whole number, such as "120", or remove the annotation from the policy',
  },
  InvalidPlatformImage: {
    isReferences: true,
    meaning: 'The release that a policy names is not known.',
    fix: 'correct ClusterVersion in the policy (spec.channel, spec.upstream, spec.desiredUpdate), or name the image in it',
  },
  UnresolvableDenpendency: {
    isReferences: true,
    meaning: 'A policy depends on one that comes later.',
    fix: 'put the policy that is depended on first in spec.managedPolicies',
  },
  PrecacheSpecIsWellFormed: { isReferences: true, meaning: 'It is known which images to pull.' },
  PrecacheSpecIncomplete: {
    isReferences: true,
    meaning: 'It is not known which images to pull.',
    fix: 'correct what is named in the policies or in the PreCachingConfig of spec.preCachingConfigRef',
  },
  PlanDiffers: {
    meaning: 'The upgrade is bound to a saved plan, and would do something else.',
    fix: 'see with flotilla plan what it would do now; set the annotation flotilla.io/plan to the digest of that, or remove it',
  },
  RetryDiffers: {
    meaning: 'An upgrade that tries failed clusters again would pull other images than the one it repeats.',
    fix: 'correct the policies or the PreCachingConfig, or remove the annotation flotilla.io/retry-of to pull these',
  },
  PrecachingCompleted: { isReferences: true, meaning: 'Every cluster has the images.' },
  BackupCompleted: { isReferences: true, meaning: 'Every cluster is backed up.' },
  BackupImageMissing: {
    meaning: 'The hub has no image that takes backups.',
    fix: 'start the hub with --backup-image (BACKUP_IMAGE) or set backup to false in the ClusterGroupUpgrade',
  },
  PartiallyDone: {
    isReferences: true,
    meaning: 'Some clusters got there, and some failed: those that failed a job leave the plan.',
    fix: 'see status.clusters, status.precaching.messages or status.backup.messages, mend what they name, and try those clusters again with flotilla retry',
  },
  InProgress: { isReferences: true, meaning: 'The clusters are being worked on.' },
  NotStarted: { isReferences: true, meaning: 'The upgrade waits for its backups.' },
  NotEnabled: { isReferences: true, meaning: 'The upgrade is not to start yet.', fix: 'set spec.enable to true to start it' },
  Paused: {
    meaning:
      'The upgrade is paused: nothing new begins, and what runs ends; pulls are stopped where the annotation says so. Time-outs stand still, windows do not.',
    fix: 'remove the annotation flotilla.io/paused to go on',
  },
  InvalidPause: {
    meaning: 'The annotation flotilla.io/paused has a value that is not known; nothing new begins.',
    fix: 'write "drain" or "stop", or remove the annotation to go on',
  },
  InvalidMembership: {
    meaning: 'The annotation flotilla.io/membership has a value that is not known, or one that this upgrade cannot have; no batch starts.',
    fix: 'write "frozen" or "add", or remove the annotation',
  },
  InvalidProof: {
    meaning: 'The annotation flotilla.io/proof-within cannot be used; nothing new begins.',
    fix: 'write a time from 5m to 168h, such as 90m or 2h, on an upgrade with spec.preCaching and a hub whose precacheJobProfile is least-privilege; or remove the annotation',
  },
  ProofsDropped: {
    meaning: 'The annotation flotilla.io/proof-within cannot be used: the CRD of this hub has no field for proofs; nothing new begins.',
    fix: 'install the CRDs of this version (value crds.enabled of the chart hub, or option --install-crds), or remove the annotation',
  },
  InvalidPins: {
    meaning: 'The annotation flotilla.io/pins has a value that is not known, or one that this upgrade cannot have; nothing new begins.',
    fix: 'write "runtime" or "pinned-image-set", on an upgrade with spec.preCaching and a hub whose precacheJobProfile is least-privilege; or remove the annotation',
  },
  WaitingForWindow: {
    meaning: 'The window is closed. One with a schedule opens again by itself.',
    fix: 'move or remove the annotations to go on',
  },
  WaitingForPlacement: {
    isReferences: true,
    meaning: 'A Placement selects no cluster.',
    fix: 'see the conditions of the Placement',
  },
  UnexpectedCluster: {
    meaning:
      'A Placement selects a cluster that is no member of the batch, for instance by a copied label `name`; the policy is enforced on nobody.',
    fix: 'correct the label that the message names',
  },
  MissingBlockingCR: {
    isReferences: true,
    meaning: 'An upgrade that is waited for does not exist.',
    fix: 'create it, or take it out of spec.blockingCRs',
  },
  IncompleteBlockingCR: {
    isReferences: true,
    meaning: 'An upgrade that is waited for has not completed.',
    fix: 'see its conditions: the wait ends when it completes',
  },
  EditsIgnored: {
    meaning: 'Fields of the spec were edited after the rollout had begun, or after its end, and do not count.',
    fix: 'put them back as they were, or create another upgrade with them',
  },
  Completed: { isReferences: true, meaning: 'The upgrade has ended.' },
  TimedOut: {
    isReferences: true,
    meaning: 'The upgrade ended before all clusters had got there.',
    fix: 'see what kept each of them (flotilla why, or status.clusters), mend it and try them again (flotilla retry), or create the upgrade anew with a longer spec.remediationStrategy.timeout',
  },
  Failed: {
    isReferences: true,
    meaning: 'No cluster got there, or a canary did not.',
    fix: 'see what kept each of them (flotilla why, or status.clusters, status.precaching.messages and status.backup.messages), mend it, and try them again (flotilla retry) or create the upgrade anew',
  },
} as const satisfies Readonly<Record<string, ReasonRow>>;

/** Reasons of the sentences about single clusters (`status.precaching.messages`, `status.backup.messages`, `status.messages`). */
const clusterReasons = {
  ClusterDenied: { meaning: 'The hub does not let the cluster in.', fix: 'accept it or run join' },
  AgentSilent: {
    meaning: "The cluster's agent has not answered for 30 s.",
    fix: 'see kubectl describe managedcluster {cluster}, and on the cluster the pods of the agent (namespace flotilla; with RHACM open-cluster-management-agent-addon)',
  },
  ClusterHeld: {
    meaning: 'The ManagedCluster has the annotation flotilla.io/hold: nothing is begun on it.',
    fix: 'remove the annotation flotilla.io/hold from ManagedCluster {cluster} to go on',
  },
  ClusterUnavailable: {
    meaning: "The cluster's agent does not renew its lease.",
    fix: 'see kubectl describe managedcluster {cluster}, and whether the cluster and its agent run',
  },
  ImportedAgain: {
    meaning:
      'Another ManagedCluster has the name of a member: its images, backup, proof and progress are those of the machine before, and are made again.',
    fix: 'it begins by itself once {cluster} has what the upgrade wants of it before its part',
  },
  CacheUnproven: {
    meaning: 'It is not proven yet that the cluster still has its images; others go on.',
    fix: 'it begins by itself once a job on {cluster} has proven it',
  },
  NodesRefused: {
    meaning:
      'The agent of the cluster may not create what fills its other nodes: by its rights, or by an admission policy or quota of the cluster.',
    fix: 'let the agent on {cluster} create DaemonSets, or set flotilla.io/absent-nodes: ignore on the PreCachingConfig',
  },
  CacheAtRisk: {
    meaning:
      'The cluster has its images, but a node stayed away, or something on a node would take them away again or keep the kubelet from using them.',
    fix: 'free space, correct the setting or bring the node back on {cluster} before its window',
  },
  NoPins: {
    meaning:
      'Pins were asked for, and a node of the cluster has none, or not of every image: its runtime knows none (CRI-O, containerd before 1.7), it has no PinnedImageSet or no right to it, or one degraded a pool and was taken back.',
    fix: 'nothing failed; keep more of its disk free on {cluster}, upgrade containerd there, or mend what the message names',
  },
  CacheLost: {
    meaning: 'The cluster has lost images since they were pulled, and pulling them again failed.',
    fix: 'see status.precaching.messages, mend what it names, and try again with flotilla retry CGU {cluster}',
  },
  PodMissing: { meaning: 'The job has no pod.', fix: 'see kubectl -n {namespace} get pods,events on the cluster' },
  PodNotRunning: { meaning: 'The pod of the job does not run.', fix: 'see kubectl -n {namespace} get pods,events on the cluster' },
} as const satisfies Readonly<Record<string, ReasonRow>>;

/** Table of all reasons by name. */
export const reasons = { ...conditionReasons, ...clusterReasons } as const satisfies Readonly<Record<string, ReasonRow>>;

/** Reason of a condition of a ClusterGroupUpgrade. */
export type ConditionReason = keyof typeof conditionReasons;
/** Any reason of the table. */
export type Reason = keyof typeof reasons;

/** Values of the placeholders in a fix. */
type FixValues = Readonly<Record<string, string>>;

/** Next step of a reason; empty when there is nothing to do. */
export function fixOf(reason: Reason, values: FixValues = {}): string {
  const { fix = '' }: ReasonRow = reasons[reason];
  return fix.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) => values[name] ?? placeholder);
}

/**
 * Builds the sentence for a user: the problem with its value, then the next step.
 * @param problem without its fix
 */
export function explain(reason: Reason, problem: string, values: FixValues = {}): string {
  const [said, fix] = [problem.trimEnd(), fixOf(reason, values)];
  return fix === '' || said.includes(fix) ? said : `${said}; ${fix}`;
}

/** Builds the message of a condition with its fix; strict mode keeps the reference's messages alone. */
export function conditionMessage(reason: ConditionReason, message: string, talmStrict: boolean): string {
  const { fix, isReferences }: ReasonRow = reasons[reason];
  return fix === undefined || !isReferences || talmStrict ? message : explain(reason, message);
}

/** Starts of the fixes in sentences about single clusters. */
const CLUSTER_FIXES = [
  // A wait has them without the words that a sentence ends with.
  ...new Set(
    [...Object.values(clusterReasons), reasons.UnknownAnnotation].map(({ fix }) => (fix.split('{')[0] ?? fix).replace(/ to go on$/, '')),
  ),
];

/** Summarizes the clusters that need an action: the first by name, and the number of others; undefined for none. */
export function summarizeTrouble(messages: Readonly<Record<string, string>>, where: string): string | undefined {
  const troubled = Object.keys(messages).filter((cluster) => CLUSTER_FIXES.some((fix) => messages[cluster]?.includes(fix)));
  const first = troubled.reduce<string | undefined>((least, name) => (least === undefined || name < least ? name : least), undefined);
  if (first === undefined) return undefined;
  const others = troubled.length > 1 ? `; ${troubled.length - 1} more in ${where}` : '';
  return `cluster ${first}: ${messages[first]}${others}`;
}

/** Longest text about one cluster in a status, in characters. */
export const MOST_SAID = 512;
/** Longest text about its failure. */
const MOST_OF_FAILURE = 1_200;
/** Longest value that a text quotes. */
export const MOST_QUOTED = 256;

/** Keeps what a status says of one cluster: of a failure all that a puller reports, of a wait its beginning and its end. */
export const textInStatus = (text: string, hasEnded: boolean): string => cutInMiddle(text, hasEnded ? MOST_OF_FAILURE : MOST_SAID);

/**
 * Cuts a sentence in its middle, between words, to at most `most` characters. It begins with the cause, and ends with the answer of whoever refused or
 * with the fix.
 */
export function cutInMiddle(text: string, most = MOST_SAID): string {
  if (text.length <= most) return text;
  // A character is two units of a text at most.
  const end = Array.from(text.slice(-most * 2))
    .slice(-Math.floor((most * 2) / 3))
    .join('')
    .replace(/^\S*\s+/, '');
  return `${cutAtWord(text, most - Array.from(end).length - 1)} ${end}`;
}

/** Cuts a text at the end of a word, with `…`, to at most `most` characters. */
export function cutAtWord(text: string, most = MOST_QUOTED): string {
  const characters = Array.from(text.slice(0, most * 2));
  if (characters.length <= most && text.length <= most * 2) return text;
  const cut = characters.slice(0, most - 1).join('');
  const end = /\s/.test(characters[most - 1] ?? '') ? cut.length : cut.search(/\s\S*$/);
  // A text of one word has no better place.
  return `${(end > 0 ? cut.slice(0, end) : cut).trimEnd().replace(/[,;:]$/, '')}…`;
}
