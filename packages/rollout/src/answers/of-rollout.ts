/** Waits of an upgrade as a whole, and of its clusters by their place in the rollout, where the hub has said nothing else of them. Pure. */
import { findCondition } from '@flotilla/api';
import { ClusterGroupUpgradeCondition, type ClusterGroupUpgradeStatus, isFinalBackupState, isFinalPrecacheState } from '@flotilla/api/ran';
import { type RolloutClusterState, stateByProgress } from '../batches/cluster-machine.ts';
import { readSoak } from '../policies/standing.ts';
import { RecordState } from '../upgrade/model.ts';
import { isRunning, stateOf } from '../upgrade/stage.ts';
import { readWait } from '../waits/wait.ts';
import { badnessOf } from './causes.ts';
import { progressEvidence, progressOf, silence, targetName, targetWait } from './evidence.ts';
import { objectOf } from './facts.ts';
import {
  before,
  bySomebody,
  type ClusterQuestion,
  conditionEvidence,
  type Finding,
  finding,
  findingOf,
  fixFor,
  link,
  type Question,
  storedWait,
  upgradeEvidence,
} from './finding.ts';
import { type Job, jobStateOf, jobWait } from './of-jobs.ts';

const { clustersSelected, validated, precacheSpecValid } = ClusterGroupUpgradeCondition;

/** Explains what keeps the upgrade from being planned, in the words of the refusing condition where there is one. */
export function planWait({ facts }: Question): Finding | undefined {
  const { upgrade } = facts;
  if (isRunning(upgrade)) return undefined;
  const conditions = upgrade.status?.conditions;
  if (!conditions?.length)
    return finding(
      'not-planned',
      link('no hub has looked at the upgrade yet', upgradeEvidence(facts, 'status.conditions', '(none)')),
      bySomebody('See that a hub runs and reads this API server; it looks at a new upgrade within seconds.'),
    );
  for (const type of [clustersSelected, validated, precacheSpecValid]) {
    const condition = findCondition(conditions, type);
    if (condition?.status !== 'False') continue;
    return finding('refused', link(condition.message, conditionEvidence(facts, condition, type)), bySomebody(fixFor(condition)));
  }
  return undefined;
}

/** Next thing that the upgrade waits for: a job, a gate, or the worst cluster of the current batch. */
export function nextWait(question: Question): Finding {
  const { facts } = question;
  const gate = storedWait(question);
  if (!isRunning(facts.upgrade)) {
    const says = 'the rollout is about to start';
    return (
      jobsWait('precaching', question) ??
      gate ??
      jobsWait('backup', question) ??
      findingOf(question, { cause: 'leave', says }, upgradeEvidence(facts, 'status.conditions', 'Progressing'))
    );
  }
  if (gate && stateOf(facts.upgrade) === 'gated') {
    const current = currentOf(facts.upgrade.status);
    return before(link(`batch ${current} may not start yet`, upgradeEvidence(facts, 'status.status.currentBatch', current)), gate);
  }
  return gate ?? batchWait(question) ?? goesOnWait(question);
}

/** Nothing is known that holds the rollout. */
export function goesOnWait(question: Question): Finding {
  const { facts } = question;
  const evidence = upgradeEvidence(facts, 'status.status', facts.upgrade.status?.status ?? {});
  const observedAt = new Date(facts.now).toISOString();
  return findingOf(question, { cause: 'leave', says: 'the hub goes on with its next pass' }, { ...evidence, observedAt });
}

/** Clusters of which leases and the like are read, to find the worst. */
const MOST_ASKED = 50;

/** The worst of some clusters: failed, then silent, then blocked; of those that are as bad the one that is least far. */
function worstOf(question: Question, clusters: Iterable<string>, placeOf: (cluster: string) => number): [string, Finding] | undefined {
  const { status } = question.facts.upgrade;
  const told = (cluster: string): number => {
    const said = [status?.messages, status?.precaching?.messages, status?.backup?.messages].flatMap((each) => each?.[cluster] ?? []);
    const worst = Math.min(...said.map((message) => badnessOf(readWait(message)?.cause ?? 'refused')));
    return Number.isFinite(worst) ? worst : 3;
  };
  const sorted = [...clusters]
    .map((name) => ({ name, told: told(name), place: placeOf(name) }))
    .sort((a, b) => a.told - b.told || a.place - b.place);
  let worst: [string, Finding] | undefined;
  for (const { name } of sorted.slice(0, MOST_ASKED)) {
    const heard = silence({ ...question, cluster: name });
    const found = worst === undefined || heard ? question.askCluster(name) : undefined;
    if (found && (worst === undefined || badnessOf(found.cause) < badnessOf(worst[1].cause))) worst = [name, found];
  }
  return worst;
}

const JOB_STATES = ['NotStarted', 'PreparingToStart', 'Starting', 'Active'];

/** The job of the worst cluster; undefined where every one has ended. */
function jobsWait(job: Job, question: Question): Finding | undefined {
  const { facts, members } = question;
  const { status } = facts.upgrade;
  const states: Readonly<Record<string, string>> | undefined = status?.[job]?.status;
  if (!states) return undefined;
  const all = [...new Set([...members.planned, ...Object.keys(states)])];
  const open = all.filter((cluster) => !isFinal(job, status, cluster));
  if (open.length === 0) return undefined;
  const place = (cluster: string): number => JOB_STATES.indexOf(states[cluster] ?? '');
  const asked = job === 'precaching' ? question : { ...question, askCluster: (cluster: string) => backupOf({ ...question, cluster }) };
  const failed = all.find((cluster) => isFinal(job, status, cluster) && states[cluster] !== 'Succeeded');
  const [worst, rest] = (failed === undefined ? worstOf(asked, open, place) : [failed, asked.askCluster(failed)]) ?? [
    '',
    goesOnWait(question),
  ];
  const noun = job === 'backup' ? 'the backup' : 'pre-caching';
  const which = failed === undefined ? `the least far is ${worst}` : `${worst} has failed`;
  const says = `${noun} of ${open.length} clusters is not over; ${which}`;
  return { ...before(link(says, upgradeEvidence(facts, `status.${job}.status`, `${open.length} not over`)), rest), job };
}

function isFinal(job: Job, status: ClusterGroupUpgradeStatus | undefined, cluster: string): boolean {
  const { precaching, backup } = status ?? {};
  return job === 'backup'
    ? isFinalBackupState(backup?.status?.[cluster] ?? 'Active')
    : isFinalPrecacheState(precaching?.status?.[cluster] ?? 'Active');
}

const backupOf = (question: ClusterQuestion): Finding => jobWait(question, 'backup') ?? goesOnWait(question);

/** The worst cluster of the current batch; one of it that has failed is not waited for, and yet comes first. */
function batchWait(question: Question): Finding | undefined {
  const { facts, members } = question;
  const { status } = facts.upgrade;
  const current = currentOf(status);
  const progress = status?.status.currentBatchRemediationProgress ?? {};
  const planned = current === 0 ? [...members.planned] : [...(status?.remediationPlan?.[current - 1] ?? []), ...Object.keys(progress)];
  const batch = [...new Set(planned)];
  const open = batch.filter((cluster) => members.record(cluster) === undefined);
  const place = (cluster: string): number => {
    const { policyIndex, manifestWorkIndex } = progress[cluster] ?? {};
    return (policyIndex ?? manifestWorkIndex ?? 0) * 10 + PLACES.indexOf(stateByProgress(progress[cluster], current));
  };
  const failed = batch.find((cluster) => (members.record(cluster)?.state ?? RecordState.complete) !== RecordState.complete);
  const [worst, rest] =
    (failed !== undefined && open.length > 0
      ? [failed, question.askCluster(failed)]
      : (worstOf(question, open, place) ?? worstOf(question, members.open, () => 0))) ?? [];
  if (worst === undefined || rest === undefined) return undefined;
  const what = current === 0 ? 'the preparation' : `batch ${current}`;
  const done = `(${batch.length - open.length} of ${batch.length} done)`;
  const says = failed === worst ? `${what} goes on ${done}, and ${worst} has not completed` : `${what} waits for ${worst} ${done}`;
  return before(link(says, upgradeEvidence(facts, 'status.status.currentBatch', current)), rest);
}

const PLACES: readonly RolloutClusterState[] = ['preparing', 'waiting', 'remediating', 'soaking', 'editing'];

const currentOf = (status: ClusterGroupUpgradeStatus | undefined): number => status?.status.currentBatch ?? 0;

/** Judges a cluster whose jobs are done: what the rollout waits for, and its own place in it. */
export function rolloutWait(question: ClusterQuestion, next: () => Finding): Finding {
  const { facts, members, cluster } = question;
  const { status } = facts.upgrade;
  if (!isRunning(facts.upgrade)) return readyWait(question, next());
  const [batch, current] = [members.batch(cluster) ?? 0, currentOf(status)];
  const progress = status?.status.currentBatchRemediationProgress?.[cluster];
  if (batch > current && current > 0) {
    const head = link(`${cluster} waits for batch ${batch}`, upgradeEvidence(facts, 'status.remediationPlan', `batch ${batch}`));
    return before(head, next(), { cause: 'batch', says: `batch ${current} to end` });
  }
  if (current > 0 && stateOf(facts.upgrade) === 'gated' && !progress) return next();
  return judges[stateByProgress(progress, current)](question);
}

function readyWait(question: ClusterQuestion, rest: Finding): Finding {
  const { facts, members, cluster } = question;
  const { precaching } = facts.upgrade.status ?? {};
  const own = rest.job === 'backup' ? jobWait(question, 'backup') : undefined;
  if (own) return own;
  const ready = jobStateOf(question, 'precaching') === 'Succeeded' ? `${cluster} is cached` : `${cluster} is ready`;
  const field = precaching ? `status.precaching.status[${cluster}]` : 'status.remediationPlan';
  const value = precaching?.status?.[cluster] ?? `batch ${members.batch(cluster) ?? '?'}`;
  return before(
    link(`${ready} and waits for the rollout to start`, upgradeEvidence(facts, field, value)),
    rest,
    rest.job ? OTHERS[rest.job] : rest.own,
  );
}

/** A cluster that is through with a job waits for the others. */
const OTHERS: Readonly<Record<Job, Finding['own']>> = {
  precaching: { cause: 'gate-precaching', says: 'the pre-caching of other clusters to end' },
  backup: { cause: 'gate-backup', says: 'the backup of other clusters to end' },
};

/** By the state of a cluster of which the hub says nothing. A state that is added to the machine and forgotten here does not compile. */
const judges: Readonly<Record<RolloutClusterState, (question: ClusterQuestion) => Finding>> = {
  preparing: (question) => edits(question, 'the edits before the rollout'),
  waiting: (question) => findingOf(question, { cause: 'leave', says: 'leave to begin' }, progressEvidence(question), question.cluster),
  remediating: targetWait,
  soaking: (question) => silence(question) ?? soak(question),
  editing: (question) => edits(question, 'its edits after completion'),
  complete: goesOnWait,
  timedOut: goesOnWait,
  failed: goesOnWait,
};

const edits = (question: ClusterQuestion, says: string): Finding =>
  findingOf(question, { cause: 'edits', says: `waits for ${says}` }, progressEvidence(question), question.cluster);

function soak(question: ClusterQuestion): Finding {
  const { facts } = question;
  const { firstCompliantAt = '' } = progressOf(question);
  const name = targetName(question);
  const ref = facts.upgrade.status?.managedPoliciesForUpgrade?.find((each) => each.name === name);
  const parent = ref && objectOf(facts.policy(ref));
  const until = parent ? Date.parse(firstCompliantAt) + readSoak(parent).seconds * 1000 : undefined;
  const says = `the soak of policy ${name}`;
  const found = findingOf(question, { cause: 'soak', says, until }, progressEvidence(question), question.cluster);
  const head = link(`${question.cluster} has complied with policy ${name} since ${firstCompliantAt} and soaks`, progressEvidence(question));
  return { ...found, links: [head] };
}
