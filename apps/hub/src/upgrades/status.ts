/** Composes the status of a ClusterGroupUpgrade; no other room sets its conditions. Pure. */

import { conditionTime, findCondition, Label } from '@flotilla/api';
import { type ClusterGroupUpgrade, ClusterGroupUpgradeCondition, type ClusterGroupUpgradeStatus, explain } from '@flotilla/api/ran';
import {
  type Advance,
  desiredViewNames,
  desiredWorkName,
  findPause,
  findRetry,
  identityOf,
  keepsObjects,
  type Pause,
  PRECACHE_SPEC_VALID,
  placementNames,
  policyContent,
  type Refusal,
  type RolloutProblem,
  resourceName,
  safeNameKey,
  templatesOf,
  type UpgradePlan,
  WHOLE_UPGRADE,
  waitMessage,
} from '@flotilla/rollout';
import type { BackupReport } from '../spokes/jobs/kinds/backup/report.ts';
import type { RollUp } from '../spokes/jobs/status.ts';
import { orAbsent } from './status-budget.ts';
import { Conditions, type ConditionText, type Wording } from './status-conditions.ts';
import { describeBackUp, describePrecaching, describeSpokes, forgetPulls, type PrecachingReport } from './status-jobs.ts';

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
  status.conditions = conditions.all;
  if (!input.talmStrict && plan.stopped === undefined) status.lastHandledRetryAt = findRetry(upgrade)?.at ?? status.lastHandledRetryAt;
  if (precaching) describeSpokes(status, precaching);
  // Clusters that have failed by now are in no batch.
  if (plan.stopped === undefined && !refusal) forgetPulls(status, { mayComeAgain: false });
  status.messages = refusal?.wait && { [WHOLE_UPGRADE]: waitMessage(refusal.wait) };
  return status;
}

/** Describes an upgrade after a pass of its rollout. */
export function describeRollout(
  before: ClusterGroupUpgradeStatus,
  advance: Advance,
  wording: Wording & { readonly pause?: Pause | undefined; readonly precaching?: RollUp | undefined },
): ClusterGroupUpgradeStatus {
  const conditions = new Conditions(before.conditions ?? [], wording);
  // A spec that could not be read for a while is put right: the pass has read it.
  for (const [type, text] of [
    [ClusterGroupUpgradeCondition.clustersSelected, SELECTED],
    [ClusterGroupUpgradeCondition.validated, VALIDATED],
  ] as const)
    if (findCondition(before.conditions, type)?.status === 'False') conditions.set(type, true, text);
  // While late clusters pull, the condition keeps what was: the rollout goes on.
  const { precaching } = wording;
  if (precaching?.finished && precaching.reason !== 'Failed')
    conditions.set(ClusterGroupUpgradeCondition.precachingSucceeded, precaching.status === 'True', precaching);
  conditions.set(ClusterGroupUpgradeCondition.progressing, advance.progressing.status === 'True', advance.progressing);
  if (advance.succeeded) conditions.set(ClusterGroupUpgradeCondition.succeeded, advance.succeeded.status === 'True', advance.succeeded);
  conditions.setPaused(advance.succeeded ? undefined : wording.pause);
  const messages = orAbsent(advance.messages);
  return {
    ...before,
    conditions: conditions.all,
    clusters: orAbsent([...advance.clusters]),
    messages,
    status: advance.status,
  };
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

/** Describes an upgrade whose object was made again without its status. @param until when it begins anew, milliseconds since the epoch */
export function describeMadeAgain(upgrade: ClusterGroupUpgrade, until: number, now: Date): ClusterGroupUpgradeStatus {
  const conditions = new Conditions([], { now, talmStrict: true, generation: upgrade.metadata.generation });
  const message = `The object was made again, as by a restore, and has no status that says what was done; to go on: restore its status, or remove its label ${Label.takenUp}, by which it begins anew at once; without either it begins anew at ${conditionTime(until)}`;
  conditions.set(ClusterGroupUpgradeCondition.clustersSelected, false, { reason: 'WaitingForMembers', message });
  return { conditions: conditions.all, status: {} };
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
    const text = explain('InvalidSpec', `${field} cannot be used: ${message}`);
    conditions.set(ClusterGroupUpgradeCondition.validated, false, { reason: 'InvalidSpec', message: text });
  }
  return { ...before, conditions: conditions.all };
}

/** Problem of a spec, and its path. */
type SpecIssue = { readonly path: readonly PropertyKey[]; readonly message: string };

/** The reference requires no spec and ends with the same words; the fix is ours. */
const SPEC_MISSING: ConditionText = {
  reason: 'ClusterNotFound',
  message:
    'Unable to select clusters: cannot obtain all the details about the clusters in the CR: no cluster specified for remediation; spec is missing: give it clusters or clusterLabelSelectors, and remediationStrategy.maxConcurrency',
};

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
    const { spec, failure, note } = plan.precaching;
    const { reason, message } = PRECACHE_SPEC_VALID;
    const valid = { reason, message: note === undefined ? message : `${message}; ${note}` };
    conditions.set(ClusterGroupUpgradeCondition.precacheSpecValid, failure === undefined, failure ?? valid);
    // A spec that cannot be derived any more takes nothing back from clusters that have pulled the last one.
    const last = input.talmStrict ? undefined : status.precaching?.spec;
    status.precaching = { ...status.precaching, spec: spec ?? last ?? {} };
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
const VALIDATED: ConditionText = { reason: 'ValidationCompleted', message: 'Completed validation' };

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
