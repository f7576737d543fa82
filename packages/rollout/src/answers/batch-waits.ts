/** Why the rollout or its current batch does not go on, and who is behind it. Pure. */
import { findCondition } from '@flotilla/api';
import { ClusterGroupUpgradeCondition, isFinalBackupState, isFinalPrecacheState } from '@flotilla/api/ran';
import { stateByProgress } from '../batches/clusters-under-way.ts';
import { isRunning, stateOf } from '../upgrade/stage.ts';
import { backupWait } from './backup-waits.ts';
import { conditionEvidence, fixFor } from './conditions.ts';
import { behind, byItself, bySomebody, type Finding, finding, link, upgradeEvidence } from './finding.ts';
import { least } from './least.ts';
import type { ClusterQuestion, Question } from './question.ts';
import { storedWait } from './stored-wait.ts';
import { targetWait } from './target-waits.ts';

/** Next thing that the upgrade waits for: a gate, the preparation, or the slowest cluster of the current batch. */
export function nextWait(question: Question): Finding {
  const { facts } = question;
  if (!isRunning(facts.upgrade)) return startWait(question);
  const gate = stateOf(facts.upgrade) === 'gated' ? storedWait(question) : undefined;
  if (gate) {
    const current = currentOf(question);
    return behind(
      link(`batch ${current} may not start yet`, upgradeEvidence(facts, 'status.status.currentBatch', current)),
      gate,
      gate.own,
    );
  }
  const slowest = findSlowest(question);
  if (slowest !== undefined) return batchBehind(question, slowest);
  return placementWait(question) ?? goesOnWait(question);
}

/** Nothing is known that holds the rollout. */
export const goesOnWait = ({ facts }: Question): Finding =>
  finding(
    'leave',
    link('the hub goes on with its next pass', {
      ...upgradeEvidence(facts, 'status.status', facts.upgrade.status?.status ?? {}),
      observedAt: new Date(facts.now).toISOString(),
    }),
    byItself('It goes on with the next pass of the hub.'),
  );

function startWait(question: Question): Finding {
  const { facts } = question;
  return (
    jobWait('precaching', question) ??
    storedWait(question) ??
    jobWait('backup', question) ??
    finding(
      'leave',
      link('the rollout is about to start', upgradeEvidence(facts, 'status.conditions', 'Progressing')),
      byItself('It starts with the next pass of the hub.'),
    )
  );
}

/** The job of the cluster that is least far; of those that are equally far one of which the hub has something to say. */
function jobWait(job: 'precaching' | 'backup', asked: Question): Finding | undefined {
  const { facts, members, askCluster } = asked;
  const { status } = facts.upgrade;
  const { precaching, backup } = status ?? {};
  const states: Readonly<Record<string, string>> | undefined = status?.[job]?.status;
  if (!states) return undefined;
  const isFinal = (cluster: string) =>
    job === 'backup'
      ? isFinalBackupState(backup?.status?.[cluster] ?? 'Active')
      : isFinalPrecacheState(precaching?.status?.[cluster] ?? 'Active');
  const open = [...new Set([...members.planned, ...Object.keys(states)])].filter((cluster) => !isFinal(cluster));
  const order = ['NotStarted', 'PreparingToStart', 'Starting', 'Active'];
  const slowest = least(open, (cluster) => order.indexOf(states[cluster] ?? '') * 2 + (status?.[job]?.messages?.[cluster] ? 0 : 1));
  if (slowest === undefined) return undefined;
  const rest = job === 'backup' ? backupWait({ ...asked, cluster: slowest }) : askCluster(slowest);
  const says = `${job === 'backup' ? 'the backup' : 'pre-caching'} of ${open.length} clusters is not over; the least far is ${slowest}`;
  return {
    ...behind(link(says, upgradeEvidence(facts, `status.${job}.status`, `${open.length} not over`)), rest, rest.own),
    job,
  };
}

/** The Placements of the upgrade, as condition Progressing tells of them. */
function placementWait({ facts }: Pick<Question, 'facts'>): Finding | undefined {
  const progressing = findCondition(facts.upgrade.status?.conditions, ClusterGroupUpgradeCondition.progressing);
  if (progressing?.reason !== 'WaitingForPlacement' && progressing?.reason !== 'UnexpectedCluster') return undefined;
  return finding(
    'placement',
    link(progressing.message, conditionEvidence(facts, progressing, ClusterGroupUpgradeCondition.progressing)),
    bySomebody(fixFor(progressing)),
    { says: 'their Placement to select them' },
  );
}

/** Judges a cluster whose jobs are done: what the rollout waits for, and its own place in it. */
export function rolloutWait(question: ClusterQuestion, next: () => Finding): Finding {
  const { facts, members, cluster } = question;
  const { status } = facts.upgrade;
  if (!isRunning(facts.upgrade)) return readyWait(question, next());
  const [batch, current] = [members.batch(cluster) ?? 0, currentOf(question)];
  const progress = status?.status.currentBatchRemediationProgress?.[cluster];
  if (batch > current && current > 0) {
    const head = link(`${cluster} waits for batch ${batch}`, upgradeEvidence(facts, 'status.remediationPlan', `batch ${batch}`));
    const rest = next();
    return { ...rest, own: { cause: 'batch', says: `batch ${current} to end` }, links: [head, ...rest.links] };
  }
  if (current > 0 && stateOf(facts.upgrade) === 'gated' && !progress) return next();
  return (
    targetWait(stateByProgress(progress, current), question, placementWait(question)) ??
    finding(
      'done',
      link(`${cluster} is through`, upgradeEvidence(facts, 'status.status', current)),
      byItself('The hub records it with its next pass.'),
      { says: 'the next pass of the hub' },
    )
  );
}

function readyWait(question: ClusterQuestion, rest: Finding): Finding {
  const { facts, members, cluster } = question;
  const { precaching, backup } = facts.upgrade.status ?? {};
  if (rest.job === 'backup' && backup?.status?.[cluster] !== 'Succeeded') return backupWait(question);
  const own = rest.job ? OTHERS[rest.job] : rest.own;
  const ready = precaching?.status?.[cluster] === 'Succeeded' ? `${cluster} is cached` : `${cluster} is ready`;
  const field = precaching ? `status.precaching.status[${cluster}]` : 'status.remediationPlan';
  const value = precaching?.status?.[cluster] ?? `batch ${members.batch(cluster) ?? '?'}`;
  return behind(link(`${ready} and waits for the rollout to start`, upgradeEvidence(facts, field, value)), rest, own);
}

/** A cluster that is through with a job waits for the others. */
const OTHERS: Readonly<Record<NonNullable<Finding['job']>, Finding['own']>> = {
  precaching: { cause: 'gate-precaching', says: 'the pre-caching of other clusters to end' },
  backup: { cause: 'gate-backup', says: 'the backup of other clusters to end' },
};

function batchBehind({ facts, members, askCluster }: Question, slowest: string): Finding {
  const { status } = facts.upgrade;
  const current = status?.status.currentBatch ?? 0;
  const rest = askCluster(slowest);
  const batch = status?.remediationPlan?.[current - 1] ?? [...members.all];
  const done = batch.filter((cluster) => members.record(cluster) !== undefined).length;
  const what = current === 0 ? 'the preparation' : `batch ${current}`;
  const says = `${what} waits for ${slowest} (${done} of ${batch.length} done)`;
  return behind(link(says, upgradeEvidence(facts, 'status.status.currentBatch', current)), rest, rest.own);
}

/** The cluster under way that is least far; of those that are equally far one of which the hub has something to say. */
function findSlowest({ facts, members }: Question): string | undefined {
  const { status } = facts.upgrade;
  const current = status?.status.currentBatch ?? 0;
  const progress = status?.status.currentBatchRemediationProgress ?? {};
  const batch = current === 0 ? [...members.planned] : [...(status?.remediationPlan?.[current - 1] ?? []), ...Object.keys(progress)];
  const rank = (cluster: string): number => {
    const entry = progress[cluster] ?? {};
    const state = ['preparing', 'waiting', 'remediating', 'soaking', 'editing'].indexOf(stateByProgress(progress[cluster], current));
    const told = status?.messages?.[cluster] === undefined ? 1 : 0;
    return (entry.policyIndex ?? entry.manifestWorkIndex ?? 0) * 100 + state * 10 + told;
  };
  const left = new Set(batch.filter((cluster) => members.record(cluster) === undefined));
  return least(left, rank) ?? least(members.open, () => 0);
}

const currentOf = ({ facts }: Question): number => facts.upgrade.status?.status.currentBatch ?? 0;
