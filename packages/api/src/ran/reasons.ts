/** All reasons that the hub gives users for an upgrade or one of its clusters. `docs/reference/reasons.md` has what each means. */

interface ReasonRow {
  /** Next step; `{name}` stands for a value of the case. Absent: nothing to do. */
  readonly fix?: string;
  /** The reference has this reason; with `--talm-strict` its message is the reference's, without our fix. */
  readonly isReferences?: true;
}

/** Reasons of the conditions of a ClusterGroupUpgrade. */
const conditionReasons = {
  ClusterSelectionCompleted: { isReferences: true },
  ClusterNotFound: {
    isReferences: true,
    fix: 'correct spec.clusters, spec.clusterLabelSelectors or spec.remediationStrategy.canaries, or create the ManagedCluster; then the upgrade goes on by itself',
  },
  ClusterNotBound: { fix: 'bind a cluster set that holds it with a ManagedClusterSetBinding' },
  WaitingForMembers: { fix: 'restore what is missing; it goes on by itself' },
  NoClustersSelected: { fix: 'correct the selector or label the clusters; the upgrade goes on when one matches' },
  ClusterApiMissing: { fix: 'install RHACM or start with --standalone (and --install-crds, or the CRDs of the chart)' },
  ValidationCompleted: { isReferences: true },
  UnknownAnnotation: { fix: 'did you mean {known}? Correct its name, or remove it' },
  NothingToDo: { fix: 'name policies in spec.managedPolicies or templates in spec.manifestWorkTemplates, or set spec.preCaching' },
  NotAllManagedPoliciesExist: {
    isReferences: true,
    fix: 'see that each policy is there, enabled and placed on the clusters (PlacementBinding), or correct spec.managedPolicies',
  },
  AmbiguousManagedPoliciesNames: { isReferences: true, fix: 'rename all but one of them' },
  NotAllManifestTemplatesExist: {
    isReferences: true,
    fix: 'create the ManifestWorkReplicaSet in the namespace of the upgrade, or correct spec.manifestWorkTemplates',
  },
  InvalidManifestTemplate: { fix: 'correct the ManifestWorkReplicaSet' },
  TemplateChanged: {
    fix: 'put it back as it was, or delete the upgrade and create it again to roll the new version out from the canaries on',
  },
  PolicyFrameworkMissing: { fix: 'use spec.manifestWorkTemplates, or install the policy framework' },
  InvalidSpec: { fix: 'correct it' },
  ForeignPreCachingConfig: { fix: 'create it there, and leave the field out' },
  InvalidWindow: {
    fix: 'write times as 2026-01-31T22:00:00Z or 2026-01-31T22:00:00+01:00, with the end after the start; a schedule as "0 22 * * 6" with the duration 4h and a time zone such as Europe/Berlin',
  },
  InvalidActions: { fix: 'correct spec.actions' },
  InvalidNameSuffix: { fix: 'give it at most 63 lower-case letters, digits and "-", beginning and ending with a letter or digit' },
  InvalidNameLabel: { fix: 'set it to {name}' },
  InvalidSoak: { fix: 'write the seconds as a whole number, such as "120", or remove the annotation from the policy' },
  InvalidPlatformImage: {
    isReferences: true,
    fix: 'correct ClusterVersion in the policy (spec.channel, spec.upstream, spec.desiredUpdate), or name the image in it',
  },
  UnresolvableDenpendency: { isReferences: true, fix: 'put the policy that is depended on first in spec.managedPolicies' },
  PrecacheSpecIsWellFormed: { isReferences: true },
  PrecacheSpecIncomplete: {
    isReferences: true,
    fix: 'correct what is named in the policies or in the PreCachingConfig of spec.preCachingConfigRef',
  },
  PlanDiffers: {
    fix: 'see with flotilla plan what it would do now; set the annotation flotilla.io/plan to the digest of that, or remove it',
  },
  RetryDiffers: { fix: 'correct the policies or the PreCachingConfig, or remove the annotation flotilla.io/retry-of to pull these' },
  PrecachingCompleted: { isReferences: true },
  BackupCompleted: { isReferences: true },
  BackupImageMissing: { fix: 'start the hub with --backup-image (BACKUP_IMAGE) or set backup to false in the ClusterGroupUpgrade' },
  PartiallyDone: {
    isReferences: true,
    fix: 'see status.clusters, status.precaching.messages or status.backup.messages, correct the causes, and try those clusters again with flotilla retry',
  },
  InProgress: { isReferences: true },
  NotStarted: { isReferences: true },
  NotEnabled: { isReferences: true, fix: 'set spec.enable to true to start it' },
  Paused: { fix: 'remove the annotation flotilla.io/paused to go on' },
  InvalidPause: { fix: 'write "drain" or "stop", or remove the annotation to go on' },
  InvalidMembership: { fix: 'write "frozen" or "add", or remove the annotation' },
  InvalidWaves: {
    fix: 'write "ready" for flotilla.io/waves, beside it a whole number from 1 for flotilla.io/wave-min and a duration such as 20m for flotilla.io/wave-patience, or remove the annotations',
  },
  InvalidLimits: {
    fix: 'write whole numbers from 1 for pulling and upgrading, for all or in entries of byLabel; until then the last limits that could be read count',
  },
  InvalidProof: {
    fix: 'write a time from 5m to 168h, such as 90m or 2h, on an upgrade with spec.preCaching and a hub whose precacheJobProfile is least-privilege; or remove the annotation',
  },
  ProofsDropped: {
    fix: 'install the CRDs of this version (value crds.enabled of the chart hub, or option --install-crds), or remove the annotation',
  },
  InvalidPins: {
    fix: 'write "runtime" or "pinned-image-set", on an upgrade with spec.preCaching and a hub whose precacheJobProfile is least-privilege; or remove the annotation',
  },
  WaitingForWindow: { fix: 'move or remove the annotations to go on' },
  WaitingForPlacement: { isReferences: true, fix: 'see the conditions of the Placement' },
  UnexpectedCluster: { fix: 'correct the label that the message names' },
  MissingBlockingCR: { isReferences: true, fix: 'create it, or take it out of spec.blockingCRs' },
  IncompleteBlockingCR: { isReferences: true, fix: 'see its conditions: the wait ends when it completes' },
  EditsIgnored: { fix: 'put them back as they were, or create another upgrade with them' },
  Completed: { isReferences: true },
  TimedOut: {
    isReferences: true,
    fix: 'see what kept each of them (flotilla why, or status.clusters), correct it and try them again (flotilla retry), or create the upgrade anew with a longer spec.remediationStrategy.timeout',
  },
  Failed: {
    isReferences: true,
    fix: 'see what kept each of them (flotilla why, or status.clusters, status.precaching.messages and status.backup.messages), correct it, and try them again (flotilla retry) or create the upgrade anew',
  },
} as const satisfies Readonly<Record<string, ReasonRow>>;

/** Reasons of the sentences about single clusters (`status.precaching.messages`, `status.backup.messages`, `status.messages`). */
const clusterReasons = {
  ClusterDenied: { fix: 'accept it or run join' },
  AgentSilent: {
    fix: 'see kubectl describe managedcluster {cluster}, and on the cluster the pods of the agent (namespace flotilla; with RHACM open-cluster-management-agent-addon)',
  },
  ClusterHeld: { fix: 'remove the annotation flotilla.io/hold from ManagedCluster {cluster} to go on' },
  ClusterUnavailable: { fix: 'see kubectl describe managedcluster {cluster}, and whether the cluster and its agent run' },
  ImportedAgain: { fix: 'it begins by itself once {cluster} has what the upgrade wants of it before its part' },
  CacheUnproven: { fix: 'it begins by itself once a job on {cluster} has proven it' },
  NodesRefused: { fix: 'let the agent on {cluster} create DaemonSets, or set flotilla.io/absent-nodes: ignore on the PreCachingConfig' },
  CacheAtRisk: { fix: 'free space, correct the setting or bring the node back on {cluster} before its window' },
  NoPins: {
    fix: 'nothing failed; keep more of its disk free on {cluster}, upgrade containerd there, or correct the cause that the message names',
  },
  CacheLost: { fix: 'see status.precaching.messages, correct the cause, and try again with flotilla retry CGU {cluster}' },
  PodMissing: { fix: 'see kubectl -n {namespace} get pods,events on the cluster' },
  PodNotRunning: { fix: 'see kubectl -n {namespace} get pods,events on the cluster' },
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
