/** Judges a spoke of a job: from the state that the status stores and what is seen to the next state, and a sentence. */
import { conditionTime } from '@flotilla/api';
import type { NodesProgress, PrecacheProgress } from '@flotilla/api/ran';
import { earliest } from '@flotilla/pace';
import { isAvailable, type Pause, type PlacesToAsk, type Wait, waitMessage, withSince } from '@flotilla/rollout';
import type { SpokeJobCaches } from '../../caches.ts';
import { reachSpoke } from '../transports/reach.ts';
import type { JobState, SpokeJob } from './kind.ts';
import { describeStop, troubleOf } from './messages.ts';
import { observe } from './observe.ts';
import { decide } from './plan.ts';

/** A spoke of a job, as the next status says it. */
export interface JudgedSpoke<S extends string> {
  readonly state: S;
  readonly message: string | undefined;
  readonly progress?: PrecacheProgress | undefined;
  /** Nodes of a spoke with more than one. */
  readonly nodes?: NodesProgress | undefined;
}

/** Everything that a verdict about one spoke follows from, besides the caches. */
interface SpokeQuestion<S extends JobState, I> {
  readonly upgradeUid: string;
  readonly cluster: string;
  /** State in the upgrade's status; undefined where it has none. */
  readonly stored: S | undefined;
  /** Sentence in the upgrade's status: that of a verdict stays. */
  readonly said: string | undefined;
  readonly inputs: I;
  /** Clusters of the upgrade's job. */
  readonly clusters: number;
  /** Why no cluster begins; what runs ends by itself, or is stopped. */
  readonly paused: Pick<Pause, 'message' | 'stops'> | undefined;
  /** The hub has objects of the job. */
  readonly hasObjects: boolean;
  /** Error of its last writes, as far as it lasts. */
  readonly error: string | undefined;
  /** Another upgrade that holds the cluster, and whether it has its verdict for it; asked of a spoke that could begin. */
  readonly findHolder: () => { readonly name: string; readonly hasEnded: boolean } | undefined;
  /** Places of clusters that begin; absent: as many begin as there are. */
  readonly places?: PlacesToAsk | undefined;
  /** Start of the wait of a spoke that was not begun, milliseconds since the epoch; asked while its time counts. */
  readonly waitingSince: () => number;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Verdict about a spoke. */
export interface Judgement<S extends string> extends JudgedSpoke<S> {
  /** Time at which it may differ without any event, milliseconds since the epoch. */
  readonly at: number | undefined;
}

/** Judges one spoke. It writes nothing, and the same facts give the same answer. */
export function judgeSpoke<S extends JobState, I>(job: SpokeJob<S, I>, asked: SpokeQuestion<S, I>, caches: SpokeJobCaches): Judgement<S> {
  const kept = keepBack(job, asked, caches);
  if (kept) return kept;
  const { cluster, paused, now, error } = asked;
  const { machine } = job;
  const state = asked.stored ?? machine.initial;
  const holder = state === machine.initial ? asked.findHolder() : undefined;
  const reach = reachSpoke(caches, { job, upgradeUid: asked.upgradeUid, cluster, transport: job.transport, now });
  const { workload, context } = observe(job, { uid: asked.upgradeUid, ...asked }, cluster, { caches, now: () => now, reach });
  const { spoke } = reach;
  const barred = holder ?? context.problem;
  const isPlaced = askForPlace(asked, { begins: state === machine.initial, barred, pulls: workload.pulls, isAvailable: spoke.available });
  if (typeof isPlaced === 'object') return { state, message: waitMessage(withSince(isPlaced, asked.said, now)), at: undefined };
  // Time does not count while another upgrade works on the spoke.
  const isTimed = !machine.isFinal(state) && (holder === undefined || holder.hasEnded);
  const since = spoke.since ?? (isTimed ? asked.waitingSince() : now);
  // A stopped job ends by its own verdict or by none: no time-out comes from a pause.
  const deadlineAt = paused?.stops || !isTimed ? Number.POSITIVE_INFINITY : since + workload.patienceMs;
  const trouble = error === undefined ? undefined : troubleOf(error);
  const held = { claimedBy: holder?.name, claimantEnded: holder?.hasEnded ?? false };
  const decided = decide(state, spoke, { ...context, ...held, deadlineAt, trouble });
  const isFinal = machine.isFinal(decided.state);
  if (paused?.stops && !isFinal) return { state: machine.initial, message: paused.message, at: undefined };
  const times = [decided.at, isTimed && now < deadlineAt && Number.isFinite(deadlineAt) ? deadlineAt : undefined];
  return {
    state: isPlaced || isFinal ? decided.state : state,
    // A final state keeps the message of its verdict.
    message: isFinal ? (decided.state === asked.stored ? asked.said : decided.message) : (trouble ?? decided.message),
    ...progressOf(spoke.report, { isFinal, now }),
    at: isFinal ? undefined : earliest(...times),
  };
}

/** True for a spoke that may begin, else what it waits for; false for one that could not pull now, which has no place to keep. */
function askForPlace(
  { places, cluster }: Pick<SpokeQuestion<never, never>, 'places' | 'cluster'>,
  spoke: { readonly begins: boolean; readonly barred: unknown; readonly pulls?: boolean | undefined; readonly isAvailable: boolean },
): Wait | boolean {
  const asks = spoke.begins && spoke.barred === undefined && spoke.pulls === true;
  if (!asks || places?.isLimited !== true) return true;
  return spoke.isAvailable && (places.find(cluster) ?? true);
}

/** Keeps a spoke from beginning while a pause lasts, or what a stopped job left is there; undefined where nothing does. */
function keepBack<S extends JobState, I>(
  { machine }: SpokeJob<S, I>,
  { stored, hasObjects, paused, error, cluster }: SpokeQuestion<S, I>,
  { clusters }: SpokeJobCaches,
): Judgement<S> | undefined {
  // Objects of a spoke that has not begun, or was stopped, are a stopped job's. It begins again after them.
  if (stored === 'NotStarted' && hasObjects) {
    const message = describeStop(paused?.message, isAvailable(clusters.get({ name: cluster })));
    return { state: stored, message: error === undefined ? message : troubleOf(error), at: undefined };
  }
  const state = stored ?? machine.initial;
  return paused !== undefined && state === machine.initial ? { state, message: paused.message, at: undefined } : undefined;
}

/** The report that comes with a verdict has the last word about the nodes. */
function progressOf(
  report: ReturnType<typeof reachSpoke>['spoke']['report'],
  { isFinal, now }: { readonly isFinal: boolean; readonly now: number },
): Pick<JudgedSpoke<string>, 'progress' | 'nodes'> {
  if (!report) return {};
  const { nodes } = report;
  if (isFinal) return { nodes };
  const at = Date.parse(report.at);
  // A clock that is ahead would keep the report fresh for longer.
  return { progress: { ...figuresOf(report), ...(!Number.isNaN(at) && { at: conditionTime(Math.min(at, now)) }) }, nodes };
}

/** Progress without the time of its report, which alone is no change. */
export const figuresOf = ({ imagesDone, imagesTotal, bytesDone, bytesTotal, bytesPerSecond }: PrecacheProgress) => ({
  imagesDone,
  imagesTotal,
  bytesDone,
  bytesTotal,
  bytesPerSecond,
});
