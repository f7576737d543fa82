/**
 * Which events one pass emits: what the stored status says after it and did not say before. Called after the write, an event is
 * emitted at most once; a crash in between loses it, which an event may be. Pure.
 */

import { type Condition, findCondition } from '@flotilla/api';
import {
  type ClusterGroupUpgrade,
  ClusterGroupUpgradeCondition,
  type ClusterGroupUpgradeStatus,
  hasFailedPrecache,
  isFinalBackupState,
} from '@flotilla/api/ran';
import { startedBatches } from '../batches/late-clusters.ts';
import { importCounts } from '../clusters/imports.ts';
import { TROUBLE_PREFIX } from '../upgrade/texts.ts';
import { readWait, saidOf } from '../waits/wait.ts';
import { type Batch, type Phase, type UpgradeEvent, type UpgradeEvents, upgradeEvents, type ValidationProblem } from './events.ts';

type Status = ClusterGroupUpgradeStatus;

/** The events of the transition, in the order things happened. `upgrade` is what they are about, best as it is after the write. */
export function eventsBetween(
  before: Status | undefined,
  after: Status,
  upgrade: ClusterGroupUpgrade,
  facts: ValidationFacts = {},
): UpgradeEvent[] {
  const plan = after.remediationPlan ?? [];
  const total = plan.flat().length;
  const events = upgradeEvents(upgrade, total);
  const held = heldEvents(before, after, events);
  if (before === after || verdictOf(before)) return held;
  return [
    ...(before?.conditions?.length || !after.conditions?.length ? [] : [events.created()]),
    ...newProblems(before, after, facts).map(events.invalid),
    ...phaseEvents('precaching', before, after, upgrade),
    ...phaseEvents('backup', before, after, upgrade),
    ...(!before?.status.startedAt && after.status.startedAt ? [events.started(plan.length)] : []),
    ...rolloutEvents(before, after, events),
    ...held,
    ...windowEvents(before, after, events),
    ...pauseEvents(before, after, events),
    ...retryEvents(before, after, events),
    ...importEvents(before, after, events),
    ...verdictEvents(after, events),
  ];
}

const verdictOf = (status: Status | undefined): Condition | undefined =>
  findCondition(status?.conditions, ClusterGroupUpgradeCondition.succeeded);

const phaseTypes = {
  precaching: ClusterGroupUpgradeCondition.precachingSucceeded,
  backup: ClusterGroupUpgradeCondition.backupSucceeded,
} as const;

/** The states of one phase that are final and no success, with what is said of them. */
function failuresOf(status: Status | undefined, phase: Phase): ReadonlyMap<string, string> {
  const failures = new Map<string, string>();
  const add = (cluster: string, state: string): void => {
    const message = status?.[phase]?.messages?.[cluster];
    failures.set(cluster, message ? `${state}: ${message}` : state);
  };
  if (phase === 'precaching') {
    for (const [cluster, state] of Object.entries(status?.precaching?.status ?? {})) if (hasFailedPrecache(state)) add(cluster, state);
  } else {
    for (const [cluster, state] of Object.entries(status?.backup?.status ?? {}))
      if (isFinalBackupState(state) && state !== 'Succeeded') add(cluster, state);
  }
  return failures;
}

/** Clusters with which the hub cannot go on, and could before; why it cannot may change without another event. */
function newTroubles(phase: Phase, before: Status | undefined, after: Status): [string, string][] {
  const isTrouble = (message: string | undefined) => saidOf(message ?? '').startsWith(TROUBLE_PREFIX);
  const known = before?.[phase]?.messages ?? {};
  return Object.entries(after[phase]?.messages ?? {}).filter(([cluster, message]) => isTrouble(message) && !isTrouble(known[cluster]));
}

function phaseEvents(phase: Phase, before: Status | undefined, after: Status, upgrade: ClusterGroupUpgrade): UpgradeEvent[] {
  const now = findCondition(after.conditions, phaseTypes[phase]);
  if (!now) return [];
  const was = findCondition(before?.conditions, phaseTypes[phase]);
  // The plan may have lost clusters in the same pass; the states of the phase have not.
  const total = Math.max(Object.keys(after[phase]?.status ?? {}).length, after.remediationPlan?.flat().length ?? 0);
  const events = upgradeEvents(upgrade, total);
  const failures = failuresOf(after, phase);
  const known = failuresOf(before, phase);
  return [
    ...(was ? [] : [events.phaseStarted(phase)]),
    ...newTroubles(phase, before, after).map(([cluster, why]) => events.phaseImpededOn(phase, cluster, why)),
    ...[...failures].flatMap(([cluster, why]) => (known.has(cluster) ? [] : [events.phaseFailedOn(phase, cluster, why)])),
    ...(was?.reason === now.reason ? [] : phaseVerdict(phase, now.reason, [...failures.keys()], events)),
  ];
}

function phaseVerdict(phase: Phase, reason: string, failed: readonly string[], events: UpgradeEvents): UpgradeEvent[] {
  if (reason === 'PrecachingCompleted' || reason === 'BackupCompleted') return [events.phaseCompleted(phase)];
  if (reason === 'PartiallyDone') return [events.phasePartlyDone(phase, failed)];
  if (reason === 'Failed') return [events.phaseFailed(phase, failed)];
  return [];
}

type Stage = 'none' | 'started' | 'completed' | 'ended';

/** Stage of each cluster, by the records first and then by the progress of the current batch. */
function stages(status: Status | undefined): (cluster: string) => Stage {
  const records = new Map((status?.clusters ?? []).map(({ name, state }) => [name, state]));
  const progress = status?.status.currentBatchRemediationProgress ?? {};
  return (cluster) => {
    const record = records.get(cluster);
    if (record !== undefined) return record === 'complete' ? 'completed' : 'ended';
    const state = progress[cluster]?.state;
    if (state === 'Completed') return 'completed';
    return state === 'InProgress' ? 'started' : 'none';
  };
}

/** Names of the clusters that are recorded in a state. */
const recorded = (status: Status | undefined, wanted: string): string[] =>
  (status?.clusters ?? []).flatMap(({ name, state }) => (state === wanted ? [name] : []));

/** The last batch that has started, from 1; 0 for none. A verdict may have cleared the current batch: what is recorded tells. */
function lastStarted(status: Status | undefined, batches: readonly Batch[]): number {
  const current = startedBatches(status?.status ?? {});
  if (!verdictOf(status)) return current;
  // A cluster that timed out before its batch has nothing it was at.
  const tried = new Set(
    (status?.clusters ?? []).flatMap(({ name, state, currentPolicy, currentManifestWork }) =>
      state === 'complete' || currentPolicy || currentManifestWork ? [name] : [],
    ),
  );
  const last = batches.findLast(({ clusters }) => clusters.some((cluster) => tried.has(cluster)));
  return Math.max(current, last?.index ?? 0);
}

/** Batches and clusters that started or ended. A pass may go through several batches. */
function rolloutEvents(before: Status | undefined, after: Status, events: UpgradeEvents): UpgradeEvent[] {
  const batches = (after.remediationPlan ?? []).map((clusters, index): Batch => ({ index: index + 1, clusters }));
  const [from, to] = [lastStarted(before, batches), lastStarted(after, batches)];
  const [stageBefore, stageAfter] = [stages(before), stages(after)];
  const goneBefore = new Set(recorded(before, 'failed'));
  const notGone = new Set([...failuresOf(after, 'precaching').keys(), ...failuresOf(after, 'backup').keys()]);
  const gone = recorded(after, 'failed').filter((cluster) => !goneBefore.has(cluster) && !notGone.has(cluster));
  const timedOut = new Set(recorded(after, 'timedout'));
  const endedBy = verdictOf(after) ? to : Math.max(0, (after.status.currentBatch ?? 0) - 1);

  const reasons = new Map((after.clusters ?? []).map(({ name, message }) => [name, message]));
  const found = gone.map((cluster) => {
    const reason = reasons.get(cluster);
    return reason === undefined ? events.clusterDisappeared(cluster) : events.clusterRefused(cluster, reason);
  });
  for (const batch of batches.slice(0, to)) {
    if (batch.index > from) found.push(events.batchStarted(batch));
    for (const cluster of batch.clusters)
      found.push(...clusterEvents(cluster, stageBefore(cluster), stageAfter(cluster), timedOut, events));
    // Only the batches before the current one of the earlier status had ended then.
    const endedBefore = Math.max(0, (before?.status.currentBatch ?? 0) - 1);
    if (batch.index > endedBefore && batch.index <= endedBy) found.push(...batchVerdict(batch, timedOut, stageAfter, events));
  }
  return found;
}

function clusterEvents(cluster: string, was: Stage, is: Stage, timedOut: ReadonlySet<string>, events: UpgradeEvents): UpgradeEvent[] {
  if (was === is) return [];
  const began = was === 'none' && (is !== 'ended' || timedOut.has(cluster));
  return [...(began ? [events.clusterStarted(cluster)] : []), ...(is === 'completed' ? [events.clusterCompleted(cluster)] : [])];
}

/** Nothing is said of a batch that lost a cluster: it neither timed out nor got everywhere. */
function batchVerdict(
  batch: Batch,
  timedOut: ReadonlySet<string>,
  stage: (cluster: string) => Stage,
  events: UpgradeEvents,
): UpgradeEvent[] {
  const late = batch.clusters.filter((cluster) => timedOut.has(cluster));
  if (late.length > 0) return [events.batchTimedOut(batch, late)];
  return batch.clusters.every((cluster) => stage(cluster) === 'completed') ? [events.batchCompleted(batch)] : [];
}

/** Events of one pass about errors that last; what they share, such as a right that is missing, is said by a few. */
const MOST_HELD = 10;

function heldEvents(before: Status | undefined, after: Status, events: UpgradeEvents): UpgradeEvent[] {
  // A gate has an event of its own, or is what its author wanted.
  const isGate = (message: string) => /^(?:gate-|paused$)/.test(readWait(message)?.cause ?? '');
  const fresh = Object.entries(after.messages ?? {}).filter(([held, message]) => before?.messages?.[held] !== message && !isGate(message));
  return fresh.slice(0, MOST_HELD).map(([held, message]) => events.held(held, saidOf(message)));
}

function windowEvents(before: Status | undefined, after: Status, events: UpgradeEvents): UpgradeEvent[] {
  const waitingFor = (status: Status | undefined): string | undefined => {
    const condition = findCondition(status?.conditions, ClusterGroupUpgradeCondition.progressing);
    return condition?.reason === 'WaitingForWindow' ? condition.message : undefined;
  };
  const message = waitingFor(after);
  return message === undefined || message === waitingFor(before) ? [] : [events.waitingForWindow(message)];
}

function pauseEvents(before: Status | undefined, after: Status, events: UpgradeEvents): UpgradeEvent[] {
  const [was, is] = [before, after].map((status) => findCondition(status?.conditions, ClusterGroupUpgradeCondition.paused));
  if (is && was?.message !== is.message) return [events.paused(is.message ?? '')];
  return was && !is && !verdictOf(after) ? [events.resumed()] : [];
}

function retryEvents(before: Status | undefined, after: Status, events: UpgradeEvents): UpgradeEvent[] {
  if (after.lastHandledRetryAt === undefined || before?.lastHandledRetryAt === after.lastHandledRetryAt) return [];
  const pulled = Object.entries(after.precaching?.retries ?? {}).filter(([name, count]) => before?.precaching?.retries?.[name] !== count);
  const failed = (status: Status | undefined) =>
    (status?.clusters ?? []).flatMap(({ name, state }) => (state === 'complete' ? [] : [name]));
  const left = new Set(failed(after));
  return [events.retried([...new Set([...pulled.map(([name]) => name), ...failed(before).filter((name) => !left.has(name))])])];
}

function importEvents(before: Status | undefined, after: Status, events: UpgradeEvents): UpgradeEvent[] {
  const counts = importCounts(after);
  const known = before && counts.size > 0 ? importCounts(before) : new Map<string, number>();
  const again = [...counts].flatMap(([cluster, count]) => (known.get(cluster) === count ? [] : [cluster]));
  return again.length > 0 ? [events.importedAgain(again)] : [];
}

function verdictEvents(after: Status, events: UpgradeEvents): UpgradeEvent[] {
  const verdict = verdictOf(after);
  if (!verdict) return [];
  return [verdict.status === 'True' ? events.completed() : events.timedOut(recorded(after, 'timedout'))];
}

/** Facts that a pass knows beyond the status. */
export interface ValidationFacts {
  /** All explicit names without a ManagedCluster; condition ClustersSelected names the first alone. */
  readonly missingClusters?: readonly string[] | undefined;
}

/** Conditions that refuse an upgrade, in the order of the gates. */
const REFUSING = [
  ClusterGroupUpgradeCondition.clustersSelected,
  ClusterGroupUpgradeCondition.validated,
  ClusterGroupUpgradeCondition.precacheSpecValid,
] as const;
type Refusing = (typeof REFUSING)[number];

/** The problems that `after` tells and `before` did not: one per message. */
function newProblems(before: Status | undefined, after: Status, facts: ValidationFacts): ValidationProblem[] {
  return REFUSING.flatMap((type) => {
    const message = refusalOf(after, type);
    return message === undefined || message === refusalOf(before, type) ? [] : [describe(type, message, facts)];
  });
}

function refusalOf(status: Status | undefined, type: Refusing): string | undefined {
  const condition = findCondition(status?.conditions, type);
  return condition?.status === 'False' ? condition.message : undefined;
}

function describe(type: Refusing, message: string, { missingClusters }: ValidationFacts): ValidationProblem {
  if (type === ClusterGroupUpgradeCondition.precacheSpecValid) return { label: 'pre-caching', items: [message] };
  if (type === ClusterGroupUpgradeCondition.clustersSelected) {
    const first = /: cluster (\S+) is not a ManagedCluster(?:;|$)/.exec(message)?.[1];
    if (first === undefined) return { label: 'cluster selection', items: [message] };
    return {
      label: 'missing clusters',
      items: missingClusters?.length ? missingClusters : [first],
      key: 'missing-clusters',
      counted: true,
    };
  }
  for (const { label, key, pattern } of lists) {
    const found = pattern.exec(message)?.[1];
    if (found !== undefined) return { label, items: found.split(' '), key };
  }
  const ambiguous = /^Managed policy name should be unique, but was found in multiple namespaces: (\{[^}]*\})(?: $|;)/.exec(message)?.[1];
  if (ambiguous !== undefined) return { label: 'ambiguous policies', items: keysOf(ambiguous), key: 'ambiguous-policies' };
  return { label: 'invalid upgrade', items: [message.trim()] };
}

/** The messages are part of the contract, word for word, up to our fix; names have no blanks. */
const lists = [
  { label: 'missing policies', key: 'missing-policies', pattern: /^Missing managed policies: \[([^\]]*)\](?: $|;)/ },
  { label: 'invalid policies', key: 'invalid-policies', pattern: /^Invalid managed policies: \[([^\]]*)\](?: $|;)/ },
  { label: 'missing templates', key: 'missing-templates', pattern: /^Missing manifest templates: \[([^\]]*)\](?:$|;)/ },
];

/** Keys of a JSON object of lists: `{"policy":["a","b"]}`. */
const keysOf = (json: string): string[] => [...json.matchAll(/"([^"]+)":\[/g)].flatMap(([, key]) => key ?? []);
