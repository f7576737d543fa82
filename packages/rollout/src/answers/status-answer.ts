/** Progress of an upgrade, from its stored status and the other objects read. Pure. */
import { findCondition, refKey } from '@flotilla/api';
import type { Figure, SpokeProgress, StatusAnswer, UpgradeStage, WindowState } from '@flotilla/api/answers';
import { CLUSTER_AVAILABLE } from '@flotilla/api/ocm';
import {
  type ClusterGroupUpgrade,
  ClusterGroupUpgradeCondition,
  hasFailedPrecache,
  isFinalPrecacheState,
  type PrecacheState,
} from '@flotilla/api/ran';
import { duration } from '@flotilla/api/units';
import { indexOf, stateByProgress } from '../batches/cluster-machine.ts';
import { leastLeftMs, rolloutDeadline } from '../batches/estimate.ts';
import { findPause } from '../gates/pause.ts';
import { judgeWindow } from '../gates/window.ts';
import { describeLeftOut } from '../upgrade/lost-clusters.ts';
import { RecordState } from '../upgrade/model.ts';
import { isRunning, lastBatch, stateOf, templatesOf } from '../upgrade/stage.ts';
import { datedReport, managedUpgradeOf } from './evidence.ts';
import { atMost, describeEdits, exact, forecast, judgeHub, objectOf, type UpgradeFacts, unknown } from './facts.ts';
import { foldFailures, foldWaits } from './fold.ts';
import type { Membership } from './membership.ts';
import { Inquiry } from './why.ts';

/** Clusters of the current batch that an answer names. */
const MOST_CURRENT = 20;

/** Prefix of the annotations of windows. */
const WINDOWS = 'flotilla.io/window-';

/** Answers how far the upgrade is. */
export function answerStatus(facts: UpgradeFacts, notes: readonly string[] = []): StatusAnswer {
  const { upgrade, now } = facts;
  const inquiry = new Inquiry(facts);
  const clusters = countClusters(upgrade, inquiry.members);
  const cached = describeCached(upgrade, now);
  const ends = describeEnd(upgrade, now);
  const oldest = findOldest(facts, inquiry.members.open);
  const { status } = upgrade;
  const paused = describePause(upgrade);
  const edits = describeEdits(upgrade);
  return {
    upgrade: refKey(upgrade.metadata),
    stage: stageOf(upgrade),
    says: (status && describeLeftOut(status)) ?? status?.conditions?.at(-1)?.message.trim() ?? 'no hub has looked at it yet',
    ...(edits && { edits }),
    hub: judgeHub(facts.hub, now),
    batch: { current: status ? lastBatch(status) : 0, of: status?.remediationPlan?.length ?? 0 },
    ...(paused !== undefined && { paused }),
    window: describeWindow(upgrade, now),
    clusters,
    ...(cached && { cached }),
    ...(ends && { ends }),
    waits: foldWaits(inquiry),
    failures: foldFailures(status),
    current: describeCurrent(facts),
    ...(oldest && { oldest }),
    notes: [...notes],
  };
}

/** A pause begins and ends when a hub says so; until then the annotation is a wish. */
export function describePause(upgrade: ClusterGroupUpgrade): string | undefined {
  const isTaken = findCondition(upgrade.status?.conditions, ClusterGroupUpgradeCondition.paused) !== undefined;
  const pause = findPause(upgrade);
  if (isTaken) return pause?.why ?? 'its end is asked for; no hub has taken it up yet';
  return pause && 'asked for; no hub has taken it up yet';
}

/** Ends that are no success and no failure of all, by reason of condition Succeeded. */
const ENDS: Readonly<Record<string, UpgradeStage>> = { TimedOut: 'timed-out', PartiallyDone: 'partial' };

/** Where it is, in a word. */
function stageOf(upgrade: ClusterGroupUpgrade): UpgradeStage {
  const { metadata, status } = upgrade;
  if (metadata.deletionTimestamp !== undefined) return 'deleting';
  const condition = (type: string) => findCondition(status?.conditions, type);
  const succeeded = condition(ClusterGroupUpgradeCondition.succeeded);
  if (succeeded) {
    if (!status?.status.completedAt) return 'cleaning-up';
    if (succeeded.status === 'True') return describeLeftOut(status) === undefined ? 'done' : 'partial';
    return ENDS[succeeded.reason] ?? 'failed';
  }
  if (isRunning(upgrade)) {
    const state = stateOf(upgrade);
    return state === 'preparing' ? 'preparing' : state === 'gated' ? 'between-batches' : 'rolling-out';
  }
  const { clustersSelected, validated, precacheSpecValid, precachingSucceeded, progressing } = ClusterGroupUpgradeCondition;
  if ([clustersSelected, validated, precacheSpecValid].some((type) => condition(type)?.status === 'False')) return 'refused';
  if (condition(precachingSucceeded)?.reason === 'InProgress') return 'pre-caching';
  return condition(progressing) || condition(validated) ? 'waiting' : 'unplanned';
}

function countClusters({ status }: ClusterGroupUpgrade, { all, open }: Membership): StatusAnswer['clusters'] {
  const records = status?.clusters ?? [];
  const done = records.filter(({ state }) => state === RecordState.complete).length;
  const recorded = new Set(records.map(({ name }) => name));
  const current = status?.remediationPlan?.[(status.status.currentBatch ?? 0) - 1] ?? [];
  const underWay = new Set([...current, ...Object.keys(status?.status.currentBatchRemediationProgress ?? {})]);
  const inBatch = open.filter((cluster) => underWay.has(cluster) && !recorded.has(cluster)).length;
  return { total: all.size, done, failed: records.length - done, inBatch, left: Math.max(open.length - inBatch, 0) };
}

function describeCached({ status }: ClusterGroupUpgrade, now: number): StatusAnswer['cached'] {
  const { precaching } = status ?? {};
  const all = Object.values(precaching?.status ?? {});
  if (!precaching || all.length === 0) return undefined;
  const count = (matches: (state: PrecacheState) => boolean) => all.filter(matches).length;
  const states = Object.fromEntries([...Map.groupBy(all, (state) => state)].map(([state, some]) => [state, some.length]));
  const done = states.Succeeded ?? 0;
  const { summary, progress = {} } = precaching;
  const reports = Object.values(progress);
  const recent = reports.filter(({ at }) => !datedReport(at, all.length, now).isUnknown);
  const rate = recent.reduce((sum, { bytesPerSecond }) => sum + bytesPerSecond, 0);
  const old = describeOld(reports.length - recent.length);
  const quiet = count((state) => !isFinalPrecacheState(state) && state !== 'Active');
  const unheard = 'no puller has reported its bytes';
  return {
    done,
    failed: count(hasFailedPrecache),
    pulling: states.Active ?? 0,
    of: all.length,
    states,
    bytesDone: summary ? exact(summary.bytesDone) : unknown(unheard),
    bytesTotal: !summary
      ? unknown(unheard)
      : quiet === 0
        ? exact(summary.bytesTotal)
        : forecast(summary.bytesTotal, `${quiet} clusters have not reported theirs yet`),
    bytesPerSecond:
      recent.length === 0 ? unknown(old ?? 'nobody pulls, or no rate is reported') : old === undefined ? exact(rate) : forecast(rate, old),
    secondsLeft: timeLeft({
      isOver: all.every(isFinalPrecacheState),
      quiet,
      old,
      rate,
      left: summary && summary.bytesTotal - summary.bytesDone,
    }),
  };
}

/** A pull of which nothing is heard may be over or cut off: its last rate is no forecast. */
const describeOld = (reports: number): string | undefined =>
  reports === 0
    ? undefined
    : `${reports === 1 ? 'the report of 1 cluster is' : `the reports of ${reports} clusters are`} old or without a date`;

interface Pulling {
  readonly isOver: boolean;
  /** Clusters that have not reported their bytes. */
  readonly quiet: number;
  /** Says that reports are old; undefined where none is. */
  readonly old: string | undefined;
  readonly rate: number;
  readonly left: number | undefined;
}

function timeLeft({ isOver, quiet, old, rate, left }: Pulling): Figure {
  if (isOver) return exact(0);
  if (left === undefined) return unknown('no puller has reported its bytes');
  if (quiet > 0) return unknown(`${quiet} clusters have not reported their bytes yet`);
  if (old !== undefined) return unknown(old);
  return rate > 0
    ? forecast(Math.ceil(left / rate), 'the bytes that are left, at the present rate of all together')
    : unknown('no rate is reported');
}

/** The window of an upgrade at a time (epoch milliseconds). */
export function describeWindow(upgrade: Pick<ClusterGroupUpgrade, 'metadata'>, now: number): WindowState {
  if (!Object.keys(upgrade.metadata.annotations ?? {}).some((key) => key.startsWith(WINDOWS))) return { state: 'none' };
  const window = judgeWindow(upgrade, now);
  const time = (at: number | undefined) => (at === undefined ? undefined : new Date(at).toISOString());
  if (window.kind === 'open') {
    const { closesAt, warning } = window;
    return { state: 'open', closesAt: time(closesAt), ...(warning !== undefined && { says: warning }) };
  }
  if (window.kind === 'invalid') return { state: 'invalid', says: window.message };
  const then = window.opensAt === undefined ? undefined : judgeWindow(upgrade, window.opensAt);
  const closesAt = then?.kind === 'open' ? then.closesAt : undefined;
  return {
    state: 'closed',
    opensAt: time(window.opensAt),
    ...(closesAt !== undefined && { closesAt: time(closesAt) }),
    says: window.message,
  };
}

function describeEnd(upgrade: ClusterGroupUpgrade, now: number): StatusAnswer['ends'] {
  const { startedAt, currentBatch = 0, pausedAt } = upgrade.status?.status ?? {};
  if (!isRunning(upgrade) || startedAt === undefined || !upgrade.spec) return undefined;
  const deadline = rolloutDeadline(upgrade, now);
  // A pause that lasts moves the deadline on for as long as it lasts.
  const latest = pausedAt === undefined ? { latestAt: new Date(deadline).toISOString() } : {};
  const left = currentBatch > 1 ? leastLeftMs(upgrade, now) : undefined;
  const seconds = secondsToEnd({ left, most: deadline - now, ended: currentBatch - 1 });
  const window = judgeWindow(upgrade, now);
  const closesAt = window.kind === 'open' ? window.closesAt : undefined;
  const fits = left === undefined || closesAt === undefined ? undefined : now + left <= closesAt;
  const isKnown = fits === false || (fits === true && seconds.certainty === 'forecast');
  return { seconds, ...latest, ...(isKnown && { fitsWindow: fits }) };
}

interface TimeToEnd {
  /** Milliseconds that its batches take, by their pace. */
  readonly left: number | undefined;
  /** Milliseconds until it times out. */
  readonly most: number;
  /** Batches that have ended. */
  readonly ended: number;
}

/** A rollout that times out before its batches are through ends then. */
function secondsToEnd({ left, most, ended }: TimeToEnd): Figure {
  if (most <= 0) return atMost(0, `its time was over ${duration(-most / 1000)} ago, and no hub has ended it`);
  if (left === undefined) return unknown('no batch has ended yet');
  if (left > most) return atMost(Math.ceil(most / 1000), `it times out then; its batches would take ${duration(left / 1000)} more`);
  return forecast(Math.ceil(left / 1000), `each batch takes what the ${ended} before took`);
}

function describeCurrent(facts: UpgradeFacts): SpokeProgress[] {
  const { upgrade } = facts;
  const { status } = upgrade;
  const recorded = new Set(status?.clusters?.map(({ name }) => name));
  const batch = status?.status.currentBatch ?? 0;
  const templates = templatesOf(upgrade);
  if (!isRunning(upgrade)) return [];
  return Object.entries(status?.status.currentBatchRemediationProgress ?? {})
    .filter(([name]) => !recorded.has(name))
    .slice(0, MOST_CURRENT)
    .map(([name, progress]) => {
      const index = indexOf(progress, templates.length > 0 ? 'manifestWork' : 'policy');
      const at = templates[index] ?? status?.managedPoliciesForUpgrade?.[index]?.name;
      const work = templates[index] === undefined ? undefined : objectOf(facts.work(name, templates[index]));
      const managed = work ? managedUpgradeOf(work).map(({ says }) => says) : [];
      return { name, state: stateByProgress(progress, batch), ...(at !== undefined && { at }), ...(managed.length > 0 && { managed }) };
    });
}

/** Nothing newer is known of an unavailable cluster than the time at which its condition changed. */
function findOldest(facts: UpgradeFacts, open: readonly string[]): StatusAnswer['oldest'] {
  let oldest: StatusAnswer['oldest'];
  for (const cluster of open) {
    const condition = findCondition(objectOf(facts.cluster(cluster))?.status?.conditions, CLUSTER_AVAILABLE);
    if (!condition || condition.status === 'True') continue;
    const { lastTransitionTime: observedAt } = condition;
    if (oldest?.observedAt === undefined || observedAt < oldest.observedAt) oldest = { cluster, observedAt };
  }
  return oldest;
}
