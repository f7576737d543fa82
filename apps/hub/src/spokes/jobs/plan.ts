/** Plans a spoke of a job: observation to event by one function per state, events to the next state, and the writes that it requires. Pure. */
import { Annotation, refOfKey } from '@flotilla/api';
import { JobStatus } from '@flotilla/api/core';
import { cutInMiddle, explain } from '@flotilla/api/ran';
import { type SpokeJobEffect, type SpokeJobEvent, saidOf, waitBy, waitMessage } from '@flotilla/rollout';
import type { Write } from '../../writes/apply.ts';
import {
  RETRY_BUDGET,
  type SpokeObservation,
  SpokePlan,
  type SpokeReach,
  type SpokeTask,
  type WatchedObject,
} from '../transports/port/port.ts';
import type { JobState, StepContext } from './kind.ts';
import { describeDelay, describeRisks, describeSilence, quoteRefusal } from './messages.ts';

/** Event, and a sentence for the status while the spoke waits or after it failed. */
interface Meaning {
  readonly event?: SpokeJobEvent;
  readonly message?: string;
  /** Time at which the meaning changes without any event, milliseconds since the epoch. */
  readonly at?: number;
}

/** Interprets an observation. A result without an event leaves the state as it is. */
export function interpret<S extends JobState>(state: S, spoke: SpokeObservation, context: StepContext<S>): Meaning {
  if (context.job.machine.isFinal(state)) return {};
  if (context.claimedBy !== undefined) return interpretHeld(spoke, { ...context, state });
  if (isBlocked(spoke, context)) return orDeadline({ event: HELD, message: context.problem ?? '' }, spoke, context);
  if (state !== 'NotStarted' && isOutdated(spoke, context.digest))
    return {
      event: { type: 'SPEC_CHANGED' },
      message: waitMessage({ cause: 'precache-prepare', says: 'the spec has changed: starting over' }),
    };
  return orDeadline(interpreters[state](spoke, { ...context, state }), spoke, context);
}

/** True when a problem forbids the job and no job exists yet. */
const isBlocked = ({ job }: Pick<SpokeObservation, 'job'>, { problem }: Pick<StepContext, 'problem'>): boolean =>
  problem !== undefined && !job;

/** Facts of an interpreter besides the observation. */
interface Basis extends Omit<StepContext, 'job'> {
  readonly job: Omit<StepContext['job'], 'machine'>;
  readonly state: JobState;
}

type Interpreter = (spoke: SpokeObservation, basis: Basis) => Meaning;

const nothingToDecide: Interpreter = () => ({});

/** The type makes a state without an interpreter a compile error. */
const interpreters: Readonly<Record<JobState, Interpreter>> = {
  NotStarted: () => ({ event: { type: 'START' } }),
  PreparingToStart: interpretPreparing,
  Starting: interpretStarting,
  Active: interpretActive,
  Succeeded: nothingToDecide,
  PrecacheTimeout: nothingToDecide,
  BackupTimeout: nothingToDecide,
  UnrecoverableError: nothingToDecide,
};

/**
 * A working holder ends by its own deadline, but leftovers of an ended one may stay as long as the spoke is away. So only an ended holder lets the
 * deadline pass.
 */
function interpretHeld({ available }: SpokeObservation, { job, claimedBy, claimantEnded, now, deadlineAt, cluster }: Basis): Meaning {
  const holder = `waits for ClusterGroupUpgrade ${claimedBy}`;
  const isLate = claimantEnded && now >= deadlineAt;
  // Cleaning an available spoke takes a moment and counts as the holder's work.
  if (!isLate && (!claimantEnded || available)) {
    const says = `${holder}, which is ${job.words.doing} this cluster`;
    // One that is gone already has no name.
    const behind = claimedBy?.includes('/') ? refOfKey(claimedBy) : undefined;
    return { event: HELD, message: waitMessage({ cause: 'precache-claim', says, behind }) };
  }
  const says = `${holder}, which has ended and could not yet remove from this cluster what it left there`;
  if (isLate) return { event: { type: 'DEADLINE' }, message: `timed out: ${says}` };
  return { event: HELD, message: waitMessage(waitBy('precache-claim', 'ClusterUnavailable', says, { cluster })) };
}

/** True for an object of another spec. An object without a digest predates digests and counts as ours. */
const isOther = (digest: string | undefined, wanted: string | undefined): boolean =>
  digest !== undefined && wanted !== undefined && digest !== wanted;

/** True when an object of ours, on hub or spoke, was made for another spec: its verdict is about other images. */
const isOutdated = ({ digests }: SpokeObservation, wanted: string | undefined): boolean =>
  digests.some((digest) => isOther(digest, wanted));

/** Events that do not end the wait for a spoke. */
const PROVISIONAL: ReadonlySet<SpokeJobEvent['type']> = new Set([
  'HELD',
  'UNAVAILABLE',
  'RETRY',
  'START',
  'JOB_ACTIVE',
  'CLEANUP_REQUESTED',
]);

/** Ends the wait at the hub's deadline unless there is a verdict. */
function orDeadline(
  meaning: Meaning,
  spoke: SpokeObservation,
  { now, deadlineAt, trouble }: Pick<StepContext, 'now' | 'deadlineAt' | 'trouble'>,
): Meaning {
  const isVerdict = meaning.event && !PROVISIONAL.has(meaning.event.type);
  if (isVerdict || now < deadlineAt) return meaning;
  const reason = spoke.available ? (meaning.message ?? 'the cluster gave no verdict') : 'the cluster is not available';
  return { event: { type: 'DEADLINE' }, message: `timed out: ${trouble ?? saidOf(reason)}` };
}

const HELD = { type: 'HELD' } as const;
const UNAVAILABLE = { type: 'UNAVAILABLE' } as const;

const unavailable = (basis: Basis, says = `${basis.job.words.work} goes on when it is`): Meaning => ({
  event: UNAVAILABLE,
  message: waitMessage({
    ...waitBy('cluster-unavailable', 'ClusterUnavailable', `the cluster is not available; ${says}`, { cluster: basis.cluster }),
    since: basis.awaySince,
  }),
});

const unseen = ({ cluster }: Basis, says: string): string =>
  waitMessage({
    cause: 'precache-problem',
    says,
    fix: `see whether the API server of ${cluster} answers its agent, and whether the agent may read what is named`,
  });

function interpretPreparing(spoke: SpokeObservation, basis: Basis): Meaning {
  const { upgradeUid, digest, job } = basis;
  const { available, namespace, failure } = spoke;
  if (job.cleansFirst) return available ? { event: { type: 'CLEANUP_REQUESTED' } } : unavailable(basis);
  const answer = namespace?.answer;
  if (answer?.kind === 'absent') return { event: { type: 'NAMESPACE_GONE' } };
  if (answer?.kind === 'found') {
    const { metadata } = answer.object;
    // This attempt created the namespace before its state was stored, so there is nothing to clean.
    const { [Annotation.upgradeUid]: owner, [Annotation.specDigest]: spec } = metadata.annotations ?? {};
    if (owner === upgradeUid && !isOther(spec, digest) && !metadata.deletionTimestamp) return { event: { type: 'NAMESPACE_GONE' } };
    if (!available) return unavailable(basis);
    const says = `removing what an earlier attempt left on the cluster${failure ? `: ${failure.message}` : ''}`;
    return {
      event: { type: 'CLEANUP_REQUESTED' },
      message: waitMessage({ cause: failure ? 'precache-problem' : 'precache-prepare', says }),
    };
  }
  if (answer?.kind === 'unknown') return { message: unseen(basis, `cannot see namespace on the cluster: ${answer.message}`) };
  return available ? describeSilence(spoke, basis) : unavailable(basis);
}

function interpretStarting(spoke: SpokeObservation, basis: Basis): Meaning {
  const { available, losses } = spoke;
  const { job, now } = basis;
  const meaning = spoke.job ? orRefusedNodes(interpretJob(spoke.job, spoke, basis), spoke, basis) : {};
  if (meaning.event) return meaning;
  const failure = spoke.job ? undefined : spoke.failure;
  if (failure?.finalAt !== undefined && now >= failure.finalAt) return { event: { type: 'FAILED' }, message: failure.message };
  if (spoke.job?.answer.kind === 'absent' && losses >= RETRY_BUDGET)
    return { event: { type: 'FAILED' }, message: `job ${job.names.job} disappears from the cluster as soon as it is created` };
  if (meaning.message) return meaning;
  if (!available) return unavailable(basis);
  return failure
    ? { event: { type: 'RETRY' }, message: failure.message, ...(failure.finalAt !== undefined && { at: failure.finalAt }) }
    : describeSilence(spoke, basis);
}

function interpretActive(spoke: SpokeObservation, basis: Basis): Meaning {
  const { available, job } = spoke;
  const { names, words } = basis.job;
  if (!job) return {};
  if (job.answer.kind === 'absent') return { event: { type: 'FAILED' }, message: `job ${names.job} was deleted from the cluster` };
  const meaning = orRefusedNodes(interpretJob(job, spoke, basis), spoke, basis);
  return meaning.event?.type === 'JOB_ACTIVE' && !available ? unavailable(basis, `last seen ${words.active}`) : meaning;
}

/** Ends a job that would wait in vain for its other nodes: the spoke does not let their pullers be created. */
function orRefusedNodes(meaning: Meaning, { nodesFailure }: SpokeObservation, basis: Basis): Meaning {
  const isVerdict = meaning.event && !PROVISIONAL.has(meaning.event.type);
  if (isVerdict || !basis.failsWithoutNodes || nodesFailure?.finalAt === undefined) return meaning;
  const { finalAt, message } = nodesFailure;
  if (basis.now < finalAt) return { ...meaning, at: Math.min(meaning.at ?? finalAt, finalAt) };
  const said = explain('NodesRefused', `its other nodes cannot be filled: ${quoteRefusal(message)}`, { cluster: basis.cluster });
  return { event: { type: 'FAILED' }, message: said };
}

/** Longest reason that a verdict quotes from a spoke, in characters: a status shows 512. */
const MAX_WHY = 1_024;

/** True where nothing is known to be missing: every node that came is whole. */
const isAbsenceAlone = (report: SpokeObservation['report']): boolean =>
  report?.phase === 'failed' && report.nodes !== undefined && report.nodes.failed === 0 && report.nodes.absent > 0;

/** Reads the verdict of a Job (spec/talm 3.4); an empty status right after creation is no verdict. */
function interpretJob({ answer, since }: WatchedObject, { available, report }: SpokeObservation, basis: Basis): Meaning {
  const name = basis.job.names.job;
  if (answer.kind === 'unknown') return { message: unseen(basis, `cannot see job ${name} on the cluster: ${answer.message}`) };
  if (answer.kind !== 'found') return {};
  const status = JobStatus.safeParse(answer.object.status ?? {});
  if (!status.success) return { message: `the status of job ${name} is malformed` };
  const { active = 0, succeeded = 0, conditions } = status.data;
  if (succeeded > 0) return { event: { type: 'SUCCEEDED' }, ...describeRisks(report, basis) };
  const failed = conditions?.find((condition) => condition.type === 'Failed' && condition.status === 'True');
  if (failed) {
    const why = cutInMiddle(report?.message ?? failed.message ?? failed.reason ?? 'no reason given', MAX_WHY);
    return failed.reason === 'DeadlineExceeded' || isAbsenceAlone(report)
      ? { event: { type: 'DEADLINE' }, message: `timed out: ${why}` }
      : { event: { type: 'FAILED' }, message: why };
  }
  // A reporting pod runs already, and a job that had a pod is about to end.
  const isAwaited = available && !report && (active > 0 || basis.state === 'Starting');
  const said = report?.message === undefined ? {} : { message: cutInMiddle(report.message, MAX_WHY) };
  const delay = isAwaited ? describeDelay(since, status.data, basis) : said;
  return active > 0
    ? { event: { type: 'JOB_ACTIVE' }, ...delay }
    : { message: waitMessage({ cause: 'precache-start', says: `job ${name} has no running pod yet` }), ...delay };
}

/** Advances the machine as far as the observation allows; returns the effects without running them. Pure. */
export function decide<S extends JobState>(
  state: S,
  spoke: SpokeObservation,
  context: StepContext<S>,
): { state: S; message: string | undefined; at: number | undefined; effects: SpokeJobEffect[] } {
  const effects: SpokeJobEffect[] = [];
  let current = state;
  let message: string | undefined;
  let at: number | undefined;
  for (;;) {
    const meaning = interpret(current, spoke, context);
    message = meaning.message ?? message;
    at = meaning.at;
    if (!meaning.event) break;
    const next = context.job.machine.advance(current, meaning.event);
    effects.push(...next.effects.filter((effect) => !effects.includes(effect)));
    if (next.state === current) break;
    message = meaning.message;
    current = next.state;
  }
  return { state: current, message, at, effects };
}

/** State of a spoke, and its missing writes. */
export interface StepPlan<S extends string> {
  readonly state: S;
  /** Reason for which the spoke waits or failed. */
  readonly message: string | undefined;
  readonly writes: readonly Write[];
  /** Time of the next plan even without events, milliseconds since the epoch. */
  readonly at: number | undefined;
}

/**
 * Advances the state and plans the writes that the new state requires. Pure.
 * @param states `stored`: the state in the upgrade's status; a spoke is cleaned only after its verdict is stored
 */
export function planStep<S extends JobState>(
  task: SpokeTask,
  states: { readonly current: S; readonly stored: S | undefined },
  { spoke, effects: effectsOf }: Pick<SpokeReach, 'spoke' | 'effects'>,
  context: StepContext<S>,
): StepPlan<S> {
  if (context.isYielding || context.isStopping) return planStop(task, states.current, effectsOf, context);
  const { state, message, at, effects: taken } = decide(states.current, spoke, context);
  const { machine } = context.job;
  const isTimed = !machine.isFinal(state) && context.now < context.deadlineAt && Number.isFinite(context.deadlineAt);
  const deadline = isTimed ? context.deadlineAt : undefined;
  // Nothing is created on another upgrade's spoke, and time does not count while that upgrade works there.
  if (context.claimedBy !== undefined) return { state, message, writes: [], at: context.claimantEnded ? deadline : undefined };
  // The user's fix enqueues the spoke again.
  if (!machine.isFinal(state) && isBlocked(spoke, context)) return { state, message, writes: [], at: deadline };
  const plan = new SpokePlan(context.now);
  const effects = effectsOf(task, state, plan);
  for (const effect of [...taken, ...machine.ensured(state)]) {
    const isCleaning = effect === 'remove' || effect === 'forget';
    if (!isCleaning || states.stored === state) effects[effect]();
  }
  for (const time of [at, deadline]) if (time !== undefined) plan.requeue(time);
  return { state, message, writes: plan.writes, at: plan.at };
}

/** Plans the removal of a stopped job, as after a success; what one that yields left on the spoke is cleaned by the upgrade that goes first. */
function planStop<S extends string>(
  task: SpokeTask,
  state: S,
  effectsOf: SpokeReach['effects'],
  { now, isYielding }: Pick<StepContext, 'now' | 'isYielding'>,
): StepPlan<S> {
  const plan = new SpokePlan(now);
  effectsOf(task, state, plan)[isYielding ? 'forget' : 'remove']();
  return { state, message: undefined, writes: plan.writes, at: plan.at };
}
