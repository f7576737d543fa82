/** The only file that names a condition of a ClusterGroupUpgrade, and the only one that puts its status together. Pure. */
import {
  type ClusterGroupUpgrade,
  type ClusterGroupUpgradeStatus,
  type Condition,
  isFinalPrecacheState,
  type PrecacheProgress,
  UpgradeCondition,
} from '@flotilla/api';
import type { RollUp } from '../../precache/rollup.ts';
import type { SpokeRecord } from '../../precache/run.ts';
import { setCondition } from '../../upgrade/conditions.ts';
import { PRECACHE_SPEC_VALID } from '../../upgrade/software-spec.ts';
import type { UpgradePlan } from './plan.ts';

/** Most entries of `precaching.progress`. */
const PROGRESS_LIMIT = 1000;
/** Bytes up to which messages and progress are added: the object stays below 512 KiB with 5 000 spokes, whatever goes wrong with them. */
const SIZE_LIMIT = 500 * 1024;

const ALL_FAILED = 'No clusters available for remediation (Precaching failed)';
const CANARY_FAILED = 'Precaching failed on canary clusters';

/** What is known of the pre-caching of an upgrade. */
export interface PrecachingReport {
  readonly rollUp: RollUp;
  /** Clusters of the plan, and those that left it while they were under way. */
  readonly clusters: readonly string[];
  readonly spokes: ReadonlyMap<string, SpokeRecord>;
}

/** The status an upgrade should have after a pass. */
export function describeStatus(
  upgrade: ClusterGroupUpgrade,
  plan: UpgradePlan,
  report: PrecachingReport | undefined,
  now: Date,
): ClusterGroupUpgradeStatus {
  const before = upgrade.status ?? { status: {} };
  const status: ClusterGroupUpgradeStatus = { ...before };
  const conditions = new Conditions(before.conditions ?? [], now);
  describePreparation(status, conditions, plan);
  if (report) describePrecaching(status, conditions, report);
  if (plan.stopped === undefined && (!report || report.rollUp.finished)) describeGate(status, conditions, upgrade, plan, report);
  status.conditions = conditions.all;
  if (report) describeSpokes(status, upgrade, report);
  return status;
}

/** Conditions under construction; the order rule is setCondition's. */
class Conditions {
  all: Condition[];
  readonly #now: Date;

  constructor(conditions: Condition[], now: Date) {
    this.all = conditions;
    this.#now = now;
  }

  set(type: string, isTrue: boolean, { reason, message }: { reason: string; message: string }): void {
    this.all = setCondition(this.all, { type, status: isTrue ? 'True' : 'False', reason, message }, this.#now);
  }
}

function describePreparation(status: ClusterGroupUpgradeStatus, conditions: Conditions, plan: UpgradePlan): void {
  conditions.set(UpgradeCondition.clustersSelected, plan.selection.failure === undefined, plan.selection.failure ?? SELECTED);
  if (plan.selection.failure) return;
  status.computedMaxConcurrency = plan.computedMaxConcurrency;
  if (plan.validation) conditions.set(UpgradeCondition.validated, plan.validation.status === 'True', plan.validation);
  if (plan.validation?.status !== 'True') return;
  status.managedPoliciesNs = orAbsent(plan.policies.namespaces);
  status.managedPoliciesForUpgrade = orAbsent(plan.policies.forUpgrade.map(({ name, namespace }) => ({ name, namespace })));
  status.managedPoliciesCompliantBeforeUpgrade = orAbsent(plan.policies.compliantBefore.map(({ name }) => name));
  status.remediationPlan = orAbsent(plan.batches);
  if (plan.precaching) {
    const { spec, failure } = plan.precaching;
    conditions.set(UpgradeCondition.precacheSpecValid, failure === undefined, failure ?? PRECACHE_SPEC_VALID);
    status.precaching = { ...status.precaching, spec: spec ?? {} };
  }
}

const SELECTED = { reason: 'ClusterSelectionCompleted', message: 'All selected clusters are valid' };

function describePrecaching(
  status: ClusterGroupUpgradeStatus,
  conditions: Conditions,
  { rollUp, clusters, spokes }: PrecachingReport,
): void {
  conditions.set(UpgradeCondition.precachingSucceeded, rollUp.status === 'True', rollUp);
  const states: Record<string, SpokeRecord['state']> = {};
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
  status.precaching = { ...status.precaching, status: states, messages: undefined, progress: undefined, summary };
  const ended = new Map((status.clusters ?? []).map((cluster) => [cluster.name, cluster]));
  if (rollUp.finished) for (const name of rollUp.failed) if (!ended.has(name)) ended.set(name, { name, state: 'failed' });
  status.clusters = orAbsent([...ended.values()]);
}

/** Messages and progress, as far as there is room: first why spokes ended, then why others wait, then how far they are. */
function describeSpokes(status: ClusterGroupUpgradeStatus, upgrade: ClusterGroupUpgrade, { clusters, spokes }: PrecachingReport): void {
  let room = SIZE_LIMIT - bytesOf({ ...upgrade, status });
  const fits = (cluster: string, value: unknown): boolean => {
    const size = bytesOf({ [cluster]: value });
    if (size > room) return false;
    room -= size;
    return true;
  };
  const known = clusters.flatMap((cluster) => {
    const spoke = spokes.get(cluster);
    return spoke
      ? [{ cluster, final: isFinalPrecacheState(spoke.state), message: spoke.message?.slice(0, 256), progress: spoke.progress }]
      : [];
  });
  const [ended, running] = [known.filter(({ final }) => final), known.filter(({ final }) => !final)];
  const messages: Record<string, string> = {};
  for (const { cluster, message } of [...ended, ...running]) if (message && fits(cluster, message)) messages[cluster] = message;
  const progress: Record<string, PrecacheProgress> = {};
  for (const each of running.filter((spoke) => spoke.progress).slice(0, PROGRESS_LIMIT))
    if (each.progress && fits(each.cluster, each.progress)) progress[each.cluster] = each.progress;
  status.precaching = { ...status.precaching, messages: orAbsent(messages), progress: orAbsent(progress) };
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** What comes after pre-caching: the verdict when nobody is left, else the `enable` gate. The rollout goes on from here. */
function describeGate(
  status: ClusterGroupUpgradeStatus,
  conditions: Conditions,
  upgrade: ClusterGroupUpgrade,
  plan: UpgradePlan,
  report: PrecachingReport | undefined,
): void {
  const failed = new Set(report?.rollUp.failed);
  if (failed.size > 0)
    status.remediationPlan = orAbsent(plan.batches.map((batch) => batch.filter((c) => !failed.has(c))).filter((b) => b.length > 0));
  const canaryFailed = (upgrade.spec?.remediationStrategy.canaries ?? []).some((canary) => failed.has(canary));
  if (report?.rollUp.reason === 'Failed' || canaryFailed) {
    const message = report?.rollUp.reason === 'Failed' ? ALL_FAILED : CANARY_FAILED;
    conditions.set(UpgradeCondition.progressing, false, { reason: 'Completed', message });
    conditions.set(UpgradeCondition.succeeded, false, { reason: 'Failed', message });
  } else if (upgrade.spec?.enable === false) {
    conditions.set(UpgradeCondition.progressing, false, { reason: 'NotEnabled', message: 'Not enabled' });
  }
}

/** Empty lists and maps are left out, as the reference's serialisation does. */
function orAbsent<T extends object>(value: T): T | undefined {
  return Object.keys(value).length > 0 ? value : undefined;
}
