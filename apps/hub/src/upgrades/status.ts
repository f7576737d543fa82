/** Composes the status of a ClusterGroupUpgrade; no other file sets its conditions. Pure. */

import { type Condition, conditionTime, findCondition } from '@flotilla/api';
import {
  type CacheProof,
  type ClusterGroupUpgrade,
  ClusterGroupUpgradeCondition,
  type ClusterGroupUpgradeStatus,
  type ConditionReason,
  conditionMessage,
  cutAtWord,
  explain,
  hasFailedPrecache,
  isFinalPrecacheState,
  type PrecacheProgress,
  type PrecacheState,
  summarizeTrouble,
} from '@flotilla/api/ran';
import type { Advance, Pause, Refusal, UpgradePlan } from '@flotilla/rollout';
import {
  desiredViewNames,
  desiredWorkName,
  findPause,
  findRetry,
  identityOf,
  keepsObjects,
  PRECACHE_SPEC_VALID,
  placementNames,
  policyContent,
  RecordState,
  type RolloutProblem,
  resourceName,
  safeNameKey,
  setCondition,
  templatesOf,
  ValidationReason,
} from '@flotilla/rollout';
import { type BackupReport, describeBackup } from '../spoke-jobs/kinds/backup/report.ts';
import type { RollUp } from '../spoke-jobs/kinds/precache/rollup.ts';
import type { SpokeRecord } from '../spoke-jobs/run.ts';
import { withReading } from './ready.ts';
import { orAbsent } from './status-budget.ts';
import { sumNodes } from './status-nodes.ts';

/** Most entries of `precaching.progress`. */
const PROGRESS_LIMIT = 1000;

/** Pre-caching of an upgrade, as far as it is known. */
export interface PrecachingReport {
  readonly rollUp: RollUp;
  /** Clusters of the plan, and those that left it while under way. */
  readonly clusters: readonly string[];
  readonly spokes: ReadonlyMap<string, SpokeRecord<PrecacheState>>;
  /** Number of tries on demand beyond the first, by cluster. */
  readonly retries: Readonly<Record<string, number>>;
  /** Jobs that prove or restore what was pulled. */
  readonly proofs?: readonly CacheProof[] | undefined;
}

/** Proofs of a running rollout. */
export interface ProofReport {
  readonly entries: readonly CacheProof[];
  /** Clusters with a job, or with objects of one. */
  readonly clusters: readonly string[];
  readonly spokes: ReadonlyMap<string, SpokeRecord<PrecacheState>>;
  /** States have changed that are not stored yet. */
  readonly isNews: boolean;
}

/** Pulls of clusters that came to a rollout that runs. */
export type LatePulls = Omit<PrecachingReport, 'retries'>;

/** Findings of a pass before the start of the rollout. */
interface PreparationInput {
  readonly upgrade: ClusterGroupUpgrade;
  readonly plan: UpgradePlan;
  readonly precaching: PrecachingReport | undefined;
  readonly backup: BackupReport | undefined;
  /** Refusal of a gate; undefined when the rollout may start, or when the plan was refused. */
  readonly refusal: Refusal | undefined;
  /** Decide as the reference does: the clock runs during the wait for other upgrades and the backup. */
  readonly talmStrict: boolean;
  readonly now: Date;
}

/** Describes an upgrade whose rollout has not started. */
export function describePreparation(input: PreparationInput): ClusterGroupUpgradeStatus {
  const { upgrade, plan, precaching, backup, refusal } = input;
  const before = upgrade.status ?? { status: {} };
  const status: ClusterGroupUpgradeStatus = { ...before };
  const generation = input.talmStrict ? undefined : upgrade.metadata.generation;
  const conditions = new Conditions(before.conditions ?? [], { ...input, generation });
  describePlan(status, conditions, input);
  // Before the start only jobs record clusters, and a job that was switched off must leave no record.
  if (plan.stopped === undefined) status.clusters = undefined;
  if (precaching) describePrecaching(status, conditions, precaching, input);
  if (backup) describeBackUp(status, conditions, backup, input);
  if (refusal) describeRefusal(status, conditions, input, refusal);
  conditions.setPaused(input.talmStrict || refusal?.outcome ? undefined : findPause(upgrade));
  status.conditions = conditions.withReady();
  status.observedGeneration = generation;
  if (!input.talmStrict && plan.stopped === undefined) status.lastHandledRetryAt = findRetry(upgrade)?.at ?? status.lastHandledRetryAt;
  if (precaching) describeSpokes(status, precaching);
  return status;
}

/** Adds the pulls of late clusters to the status that a pass of the rollout goes by: one that failed leaves its cluster out. */
export function describeLatePulls(before: ClusterGroupUpgradeStatus, pulls: LatePulls | undefined): ClusterGroupUpgradeStatus {
  if (!pulls) return before;
  const { clusters, spokes } = pulls;
  const states = { ...before.precaching?.status };
  for (const cluster of clusters) states[cluster] = spokes.get(cluster)?.state ?? 'NotStarted';
  const status = { ...before, precaching: { ...before.precaching, status: states } };
  describeSpokes(status, pulls);
  status.precaching.messages = orAbsent({ ...omit(before.precaching?.messages, clusters), ...status.precaching.messages });
  const failed = clusters.filter((cluster) => states[cluster] !== undefined && hasFailedPrecache(states[cluster]));
  if (failed.length > 0) recordFailed(status, failed);
  return status;
}

const omit = (messages: Readonly<Record<string, string>> = {}, clusters: readonly string[]): Record<string, string> =>
  Object.fromEntries(Object.entries(messages).filter(([cluster]) => !clusters.includes(cluster)));

/** Describes an upgrade after a pass of its rollout. */
export function describeRollout(
  before: ClusterGroupUpgradeStatus,
  advance: Advance,
  wording: Wording & { readonly pause?: Pause | undefined; readonly precaching?: RollUp | undefined },
): ClusterGroupUpgradeStatus {
  const conditions = new Conditions(before.conditions ?? [], wording);
  // While late clusters pull, the condition keeps what was: the rollout goes on.
  if (wording.precaching?.finished && wording.precaching.status === 'True')
    conditions.set(ClusterGroupUpgradeCondition.precachingSucceeded, true, wording.precaching);
  conditions.set(ClusterGroupUpgradeCondition.progressing, advance.progressing.status === 'True', advance.progressing);
  if (advance.succeeded) conditions.set(ClusterGroupUpgradeCondition.succeeded, advance.succeeded.status === 'True', advance.succeeded);
  conditions.setPaused(advance.succeeded ? undefined : wording.pause);
  const messages = orAbsent(advance.messages);
  return {
    ...before,
    observedGeneration: wording.generation,
    conditions: conditions.withReady(),
    clusters: orAbsent([...advance.clusters]),
    messages,
    status: advance.status,
  };
}

/** Adds the proofs of a rollout to its status: the states of their jobs replace those of the pull. */
export function describeProofs(status: ClusterGroupUpgradeStatus, report: ProofReport | undefined): ClusterGroupUpgradeStatus {
  if (!report) return status;
  const { entries, clusters, spokes } = report;
  const known = clusters.flatMap((cluster) => {
    const spoke = spokes.get(cluster);
    return spoke ? [[cluster, spoke] as const] : [];
  });
  const states = Object.fromEntries(known.map(([cluster, { state }]) => [cluster, state]));
  const precaching = { ...status.precaching, status: { ...status.precaching?.status, ...states }, proofs: orAbsent([...entries]) };
  const next = { ...status, precaching };
  describeSpokes(next, { clusters, spokes });
  next.precaching.messages = orAbsent({ ...omit(status.precaching?.messages, clusters), ...next.precaching.messages });
  return next;
}

/** Key of Placements and PlacementBindings in `messages`; no cluster can have this name. */
const PLACEMENTS = '(placements)';

/** Describes an upgrade during its clean-up, after its verdict or deletion: the problems by cluster. */
export function describeCleaning(
  upgrade: ClusterGroupUpgrade,
  problems: ReadonlyMap<string, Pick<RolloutProblem, 'message'>>,
): ClusterGroupUpgradeStatus {
  const messages = Object.fromEntries([...problems].map(([cluster, { message }]) => [cluster || PLACEMENTS, message]));
  return { ...(upgrade.status ?? { status: {} }), messages: orAbsent(messages), waits: undefined };
}

/** Describes an upgrade that has ended and is clean. */
export function describeEnd(upgrade: ClusterGroupUpgrade, now: Date): ClusterGroupUpgradeStatus {
  const { status, messages: _, ...before } = upgrade.status ?? { status: {} };
  // Deleted objects need no names.
  const gone = { safeResourceNames: undefined, placements: undefined, placementBindings: undefined };
  const { startedAt } = status;
  return { ...before, ...(keepsObjects(upgrade) ? {} : gone), status: { startedAt, completedAt: conditionTime(now.getTime()) } };
}

/** Describes an upgrade without a spec, or with an invalid one. */
export function describeUnreadable(
  upgrade: ClusterGroupUpgrade,
  issues: readonly SpecIssue[],
  { now, talmStrict }: Wording,
): ClusterGroupUpgradeStatus {
  const before = upgrade.status ?? { status: {} };
  const generation = talmStrict ? undefined : upgrade.metadata.generation;
  // The messages carry their fixes already.
  const conditions = new Conditions(before.conditions ?? [], { now, talmStrict: true, generation });
  if (upgrade.spec === undefined) conditions.set(ClusterGroupUpgradeCondition.clustersSelected, false, SPEC_MISSING);
  else {
    const [{ path, message } = { path: [], message: 'cannot be read' }] = issues;
    const field = ['spec', ...path].map(String).join('.');
    const text = explain(ValidationReason.spec, `${field} cannot be used: ${message}`);
    conditions.set(ClusterGroupUpgradeCondition.validated, false, { reason: ValidationReason.spec, message: text });
  }
  const all = talmStrict ? conditions.all : withReading(conditions.all, { now, generation });
  return { ...before, observedGeneration: generation, conditions: all };
}

/** Problem of a spec, and its path. */
type SpecIssue = { readonly path: readonly PropertyKey[]; readonly message: string };

/** The reference requires no spec and ends with the same words; the fix is ours. */
const SPEC_MISSING: ConditionText = {
  reason: 'ClusterNotFound',
  message:
    'Unable to select clusters: cannot obtain all the details about the clusters in the CR: no cluster specified for remediation; spec is missing: give it clusters or clusterLabelSelectors, and remediationStrategy.maxConcurrency',
};

/** Time and wording of conditions. */
interface Wording {
  readonly now: Date;
  /** Keep the reference's messages without our fix. */
  readonly talmStrict: boolean;
  /** Generation that the pass has read; absent with `--talm-strict`, because the reference states none. */
  readonly generation?: number | undefined;
}

/** Reason and message of a condition. */
interface ConditionText {
  readonly reason: ConditionReason;
  readonly message: string;
}

/** Conditions under construction; `setCondition` decides their order. Each message gets the fix of its reason. */
class Conditions {
  all: Condition[];
  readonly #wording: Wording;

  constructor(conditions: Condition[], wording: Wording) {
    this.all = conditions;
    this.#wording = wording;
  }

  set(type: string, isTrue: boolean, { reason, message }: ConditionText): void {
    const { now, talmStrict, generation } = this.#wording;
    const text = conditionMessage(reason, message, talmStrict);
    const set = setCondition(this.all, { type, status: isTrue ? 'True' : 'False', reason, message: text }, now);
    this.all = generation === undefined ? set : withGeneration(set, type, generation);
  }

  /** The conditions, begun by those for tools that know nothing of upgrades. */
  withReady(): Condition[] {
    return this.#wording.talmStrict ? this.all : withReading(this.all, this.#wording);
  }

  /** Condition Paused stands last while it lasts: `kubectl get` shows the last one. */
  setPaused(pause: Pause | undefined): void {
    const type = ClusterGroupUpgradeCondition.paused;
    if (pause) this.set(type, true, pause);
    const found = findCondition(this.all, type);
    this.all = [...this.all.filter((condition) => condition !== found), ...(pause && found ? [found] : [])];
  }
}

const withGeneration = (conditions: Condition[], type: string, observedGeneration: number): Condition[] =>
  conditions.map((condition) => (condition.type === type ? { ...condition, observedGeneration } : condition));

function describePlan(status: ClusterGroupUpgradeStatus, conditions: Conditions, input: PreparationInput): void {
  const { plan } = input;
  conditions.set(ClusterGroupUpgradeCondition.clustersSelected, plan.selection.failure === undefined, plan.selection.failure ?? SELECTED);
  if (plan.selection.failure) return;
  status.computedMaxConcurrency = plan.computedMaxConcurrency;
  if (plan.validation) conditions.set(ClusterGroupUpgradeCondition.validated, plan.validation.status === 'True', plan.validation);
  if (plan.validation?.status !== 'True') return;
  status.managedPoliciesNs = orAbsent(plan.policies.namespaces);
  status.managedPoliciesForUpgrade = orAbsent(plan.policies.forUpgrade.map(({ name, namespace }) => ({ name, namespace })));
  status.managedPoliciesCompliantBeforeUpgrade = orAbsent(plan.policies.compliantBefore.map(({ name }) => name));
  status.managedPoliciesContent = orAbsent(contentOf(plan));
  status.remediationPlan = orAbsent(plan.batches);
  describeNames(status, input);
  if (plan.precaching) {
    const { spec, failure } = plan.precaching;
    conditions.set(ClusterGroupUpgradeCondition.precacheSpecValid, failure === undefined, failure ?? PRECACHE_SPEC_VALID);
    status.precaching = { ...status.precaching, spec: spec ?? {} };
  }
}

function contentOf({ policies }: UpgradePlan): Record<string, string> {
  const contents: Record<string, string> = {};
  for (const { name, objects } of policies.forUpgrade) {
    const content = policyContent(objects);
    if (content !== undefined) contents[name] = content;
  }
  return contents;
}

/** Chooses names once: a used name never changes, even when the annotation behind it does. */
function describeNames(status: ClusterGroupUpgradeStatus, { upgrade, plan: { policies }, talmStrict }: PreparationInput): void {
  const { namespace = '' } = upgrade.metadata;
  const named = placementNames(upgrade, policies.forUpgrade, talmStrict);
  const works = templatesOf(upgrade).map((template) => {
    const desired = desiredWorkName(namespace, template);
    return [safeNameKey(desired, ''), resourceName(upgrade, desired, '')];
  });
  const views = policies.forUpgrade.flatMap(({ objects }) =>
    desiredViewNames(identityOf(upgrade), objects).map((desired) => [safeNameKey(desired, ''), resourceName(upgrade, desired, '')]),
  );
  status.manifestWorkTemplates = orAbsent([...templatesOf(upgrade)]);
  status.safeResourceNames = orAbsent({
    ...status.safeResourceNames,
    ...named.safeResourceNames,
    ...Object.fromEntries([...works, ...views]),
  });
  status.placements = orAbsent(named.placements);
  status.placementBindings = orAbsent(named.placementBindings);
}

const SELECTED: ConditionText = { reason: 'ClusterSelectionCompleted', message: 'All selected clusters are valid' };

function describePrecaching(
  status: ClusterGroupUpgradeStatus,
  conditions: Conditions,
  { rollUp, clusters, spokes, retries, proofs }: PrecachingReport,
  { plan, talmStrict }: PreparationInput,
): void {
  // Pre-caching that is not wanted any more keeps its last condition: only its spokes remain to be cleaned.
  if (plan.precaching !== undefined || plan.stopped !== undefined)
    conditions.set(
      ClusterGroupUpgradeCondition.precachingSucceeded,
      rollUp.status === 'True',
      talmStrict ? rollUp : withTrouble(rollUp, spokes, 'status.precaching.messages'),
    );
  const states: Record<string, PrecacheState> = {};
  const sum = { imagesDone: 0, imagesTotal: 0, bytesDone: 0, bytesTotal: 0 };
  let reported = 0;
  for (const cluster of clusters) {
    const spoke = spokes.get(cluster);
    if (!spoke) continue;
    states[cluster] = spoke.state;
    if (!spoke.progress) continue;
    for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += spoke.progress[key];
    reported += 1;
  }
  const summary = reported > 0 ? sum : undefined;
  status.precaching = {
    ...status.precaching,
    status: states,
    messages: undefined,
    progress: undefined,
    summary,
    nodes: sumNodes(clusters, spokes) ?? status.precaching?.nodes,
    retries: orAbsent(retries),
    proofs: proofs && orAbsent([...proofs]),
  };
  if (rollUp.finished) recordFailed(status, rollUp.failed);
}

function describeBackUp(
  status: ClusterGroupUpgradeStatus,
  conditions: Conditions,
  report: BackupReport,
  { now, talmStrict }: PreparationInput,
): void {
  const { rollUp, spokes } = report;
  const content = talmStrict ? rollUp : withTrouble(rollUp, spokes, 'status.backup.messages');
  conditions.set(ClusterGroupUpgradeCondition.backupSucceeded, rollUp.status === 'True', content);
  status.backup = describeBackup(status.backup, report, { now });
  if (rollUp.finished) recordFailed(status, rollUp.failed);
}

/** Adds trouble to the condition of a running job, because `kubectl get` shows nothing else. */
function withTrouble<R extends ConditionText & { readonly finished: boolean }>(
  rollUp: R,
  spokes: ReadonlyMap<string, { readonly message: string | undefined }>,
  where: string,
): R {
  if (rollUp.finished) return rollUp;
  const messages = Object.fromEntries([...spokes].flatMap(([cluster, { message }]) => (message ? [[cluster, cutAtWord(message)]] : [])));
  const trouble = summarizeTrouble(messages, where);
  return trouble === undefined ? rollUp : { ...rollUp, message: `${rollUp.message} (${trouble})` };
}

function recordFailed(status: ClusterGroupUpgradeStatus, failed: readonly string[]): void {
  const ended = new Map((status.clusters ?? []).map((cluster) => [cluster.name, cluster]));
  for (const name of failed) if (!ended.has(name)) ended.set(name, { name, state: RecordState.failed });
  status.clusters = orAbsent([...ended.values()]);
}

/** Adds messages of clusters that ended or wait, and progress of those that pull. */
function describeSpokes(status: ClusterGroupUpgradeStatus, { clusters, spokes }: Pick<PrecachingReport, 'clusters' | 'spokes'>): void {
  const messages: Record<string, string> = {};
  const progress: [string, PrecacheProgress][] = [];
  for (const cluster of clusters) {
    const spoke = spokes.get(cluster);
    if (spoke?.message) messages[cluster] = cutAtWord(spoke.message);
    if (spoke?.progress && !isFinalPrecacheState(spoke.state)) progress.push([cluster, spoke.progress]);
  }
  const pulling = Object.fromEntries(progress.slice(0, PROGRESS_LIMIT));
  status.precaching = { ...status.precaching, messages: orAbsent(messages), progress: orAbsent(pulling) };
}

/** Describes the refusal of the start, and removes failed clusters from the plan. */
function describeRefusal(
  status: ClusterGroupUpgradeStatus,
  conditions: Conditions,
  { plan, precaching, backup, talmStrict, now }: PreparationInput,
  { gate, progressing, outcome }: Refusal,
): void {
  const failed = new Set([precaching, backup].flatMap((job) => (job?.rollUp.finished ? job.rollUp.failed : [])));
  if (failed.size > 0)
    status.remediationPlan = orAbsent(plan.batches.map((batch) => batch.filter((c) => !failed.has(c))).filter((b) => b.length > 0));
  const content = outcome?.progressing ?? progressing;
  if (content) conditions.set(ClusterGroupUpgradeCondition.progressing, content.status === 'True', content);
  if (outcome) conditions.set(ClusterGroupUpgradeCondition.succeeded, outcome.succeeded.status === 'True', outcome.succeeded);
  const clockRuns = talmStrict && (gate === 'blocking' || gate === 'backup' || gate === 'filter');
  if (clockRuns) status.status = { ...status.status, startedAt: status.status.startedAt ?? conditionTime(now.getTime()) };
}
