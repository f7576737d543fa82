/** What an observation means to the machine of a job: pure, one function per state. */
import { Annotation, JobStatus } from '@flotilla/api';
import type { SpokeJobEvent } from '@flotilla/machines';
import type { SpokeJob } from './definition.ts';
import { type Answer, readReport, type SpokeObservation } from './observe.ts';

/** What a step knows besides the observation. */
export interface StepContext<S extends string = string> {
  readonly job: Pick<SpokeJob<S, never>, 'machine' | 'names' | 'words'>;
  readonly upgradeUid: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** When the hub gives up on a spoke that does not answer, milliseconds since the epoch; infinite before its first view. */
  readonly deadlineAt: number;
  /** How long a spoke has from its first view until then, milliseconds. */
  readonly patienceMs: number;
  /** `namespace/name` of the upgrade that has this spoke now, if it is another one. */
  readonly heldBy: string | undefined;
}

/** The event, and a sentence for the status while the spoke waits or when it failed. */
export interface Meaning {
  readonly event?: SpokeJobEvent;
  readonly message?: string;
}

/** How often one action is created anew before the spoke counts as failed. */
export const RETRY_BUDGET = 5;

/** Interprets an observation. No event means: nothing to decide yet. */
export function interpret<S extends string>(state: S, spoke: SpokeObservation, context: StepContext<S>): Meaning {
  const { machine, words } = context.job;
  if (machine.isFinal(state)) return {};
  if (context.heldBy !== undefined)
    return { message: `waits for ClusterGroupUpgrade ${context.heldBy}, which is ${words.doing} this cluster` };
  const judge = judges[state];
  return judge ? orDeadline(judge(spoke, context), spoke, context) : { event: { type: 'START' } };
}

/** What a judgement rests on besides the observation. */
interface Basis {
  readonly upgradeUid: string;
  readonly job: Pick<SpokeJob<string, never>, 'names' | 'words'>;
}

/** By the states in which a spoke is observed; from the one before them a free spoke goes on at once. */
const judges: Readonly<Record<string, (spoke: SpokeObservation, basis: Basis) => Meaning>> = {
  PreparingToStart: judgePreparing,
  Starting: judgeStarting,
  Active: judgeActive,
};

/** A verdict always counts; without one, the hub's deadline ends the wait. */
function orDeadline(meaning: Meaning, spoke: SpokeObservation, { now, deadlineAt }: Pick<StepContext, 'now' | 'deadlineAt'>): Meaning {
  const verdict = meaning.event && meaning.event.type !== 'JOB_ACTIVE' && meaning.event.type !== 'CLEANUP_REQUESTED';
  if (verdict || now < deadlineAt) return meaning;
  const why = spoke.available ? (meaning.message ?? 'the cluster gave no verdict') : 'the cluster is not available';
  return { event: { type: 'DEADLINE' }, message: `timed out: ${why}` };
}

const unavailable = ({ words }: Basis['job']) => `the cluster is not available; ${words.work} goes on when it is`;

function judgePreparing({ available, namespaceView }: SpokeObservation, { upgradeUid, job }: Basis): Meaning {
  const answer = namespaceView?.ours ? namespaceView.answer : undefined;
  if (answer?.kind === 'absent') return { event: { type: 'NAMESPACE_GONE' } };
  if (answer?.kind === 'found') {
    const { metadata } = answer.object;
    // Created by this very attempt before its state was stored: nothing to clean.
    if (metadata.annotations?.[Annotation.upgradeUid] === upgradeUid && !metadata.deletionTimestamp)
      return { event: { type: 'NAMESPACE_GONE' } };
    return available
      ? { event: { type: 'CLEANUP_REQUESTED' }, message: 'removing what an earlier attempt left on the cluster' }
      : { message: unavailable(job) };
  }
  if (answer?.kind === 'unknown') return { message: `cannot see namespace on the cluster: ${answer.message}` };
  return available ? {} : { message: unavailable(job) };
}

function judgeStarting({ available, jobView, progressView, actions }: SpokeObservation, { job }: Basis): Meaning {
  const meaning = jobView?.ours ? judgeJob(job.names.job, jobView.answer, progressView?.answer) : {};
  if (meaning.event) return meaning;
  const exhausted = [...actions].find(([, action]) => action.ours && action.outcome === 'failed' && action.retries >= RETRY_BUDGET);
  if (exhausted && !jobView) return { event: { type: 'FAILED' }, message: `${exhausted[0]}: ${exhausted[1].message}` };
  const creation = actions.get(job.names.actions.createJob);
  if (jobView?.ours && jobView.answer.kind === 'absent' && (creation?.retries ?? 0) >= RETRY_BUDGET)
    return { event: { type: 'FAILED' }, message: `job ${job.names.job} disappears from the cluster as soon as it is created` };
  return meaning.message || available ? meaning : { message: unavailable(job) };
}

function judgeActive({ available, jobView, progressView }: SpokeObservation, { job: { names, words } }: Basis): Meaning {
  if (!jobView?.ours) return {};
  if (jobView.answer.kind === 'absent') return { event: { type: 'FAILED' }, message: `job ${names.job} was deleted from the cluster` };
  const meaning = judgeJob(names.job, jobView.answer, progressView?.answer);
  return meaning.event?.type === 'JOB_ACTIVE' && !available
    ? { ...meaning, message: `the cluster is not available; last seen ${words.active}` }
    : meaning;
}

/** Reads the verdict of a Job (spec/talm 3.4); an empty status right after creation is no verdict. */
function judgeJob(name: string, answer: Answer, progress: Answer | undefined): Meaning {
  if (answer.kind === 'unknown') return { message: `cannot see job ${name} on the cluster: ${answer.message}` };
  if (answer.kind !== 'found') return {};
  const status = JobStatus.safeParse(answer.object.status ?? {});
  if (!status.success) return { message: `the status of job ${name} is malformed` };
  const { active = 0, succeeded = 0, conditions } = status.data;
  if (succeeded > 0) return { event: { type: 'SUCCEEDED' } };
  const failed = conditions?.find((condition) => condition.type === 'Failed' && condition.status === 'True');
  if (failed) {
    const why = readReport(progress)?.message ?? failed.message ?? failed.reason ?? 'no reason given';
    return failed.reason === 'DeadlineExceeded'
      ? { event: { type: 'DEADLINE' }, message: `timed out: ${why}` }
      : { event: { type: 'FAILED' }, message: why };
  }
  return active > 0 ? { event: { type: 'JOB_ACTIVE' } } : { message: `job ${name} has no running pod yet` };
}
