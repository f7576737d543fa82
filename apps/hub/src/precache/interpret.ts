/** What an observation means to the pre-cache machine: pure, one function per state. */
import { Annotation, JobStatus, PrecacheAction, type PrecacheState } from '@flotilla/api';
import type { PrecacheEvent } from '@flotilla/machines';
import { type Answer, readReport, type SpokeObservation } from './observe.ts';

/** What a step knows besides the observation. */
export interface StepContext {
  readonly upgradeUid: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** When the hub gives up on a spoke that does not answer, milliseconds since the epoch; infinite before its first view. */
  readonly deadlineAt: number;
  /** How long a spoke has from its first view until then, milliseconds. */
  readonly patienceMs: number;
  /** `namespace/name` of the upgrade that is pre-caching this spoke now, if it is another one. */
  readonly heldBy: string | undefined;
}

/** The event, and a sentence for the status while the spoke waits or when it failed. */
export interface Meaning {
  readonly event?: PrecacheEvent;
  readonly message?: string;
}

/** How often one action is created anew before the spoke counts as failed. */
export const RETRY_BUDGET = 5;

/** Interprets an observation. No event means: nothing to decide yet. */
export function interpret(state: PrecacheState, spoke: SpokeObservation, context: StepContext): Meaning {
  switch (state) {
    case 'NotStarted':
      return context.heldBy === undefined
        ? { event: { type: 'START' } }
        : { message: `waits for ClusterGroupUpgrade ${context.heldBy}, which is pre-caching this cluster` };
    case 'PreparingToStart':
      return orDeadline(interpretPreparing(spoke, context), spoke, context);
    case 'Starting':
      return orDeadline(interpretStarting(spoke), spoke, context);
    case 'Active':
      return orDeadline(interpretActive(spoke), spoke, context);
    case 'Succeeded':
    case 'PrecacheTimeout':
    case 'UnrecoverableError':
      return {};
  }
}

/** A verdict always counts; without one, the hub's deadline ends the wait. */
function orDeadline(meaning: Meaning, spoke: SpokeObservation, { now, deadlineAt }: StepContext): Meaning {
  const verdict = meaning.event && meaning.event.type !== 'JOB_ACTIVE' && meaning.event.type !== 'CLEANUP_REQUESTED';
  if (verdict || now < deadlineAt) return meaning;
  const why = spoke.available ? (meaning.message ?? 'the cluster gave no verdict') : 'the cluster is not available';
  return { event: { type: 'DEADLINE' }, message: `timed out: ${why}` };
}

const unavailable = 'the cluster is not available; pre-caching goes on when it is';

function interpretPreparing({ available, namespaceView }: SpokeObservation, { upgradeUid }: StepContext): Meaning {
  const answer = namespaceView?.ours ? namespaceView.answer : undefined;
  if (answer?.kind === 'absent') return { event: { type: 'NAMESPACE_GONE' } };
  if (answer?.kind === 'found') {
    const { metadata } = answer.object;
    // Created by this very attempt before its state was stored: nothing to clean.
    if (metadata.annotations?.[Annotation.upgradeUid] === upgradeUid && !metadata.deletionTimestamp)
      return { event: { type: 'NAMESPACE_GONE' } };
    return available
      ? { event: { type: 'CLEANUP_REQUESTED' }, message: 'removing what an earlier attempt left on the cluster' }
      : { message: unavailable };
  }
  if (answer?.kind === 'unknown') return { message: `cannot see namespace on the cluster: ${answer.message}` };
  return available ? {} : { message: unavailable };
}

function interpretStarting({ available, jobView, progressView, actions }: SpokeObservation): Meaning {
  const meaning = jobView?.ours ? interpretJob(jobView.answer, progressView?.answer) : {};
  if (meaning.event) return meaning;
  const exhausted = [...actions].find(([, action]) => action.ours && action.outcome === 'failed' && action.retries >= RETRY_BUDGET);
  if (exhausted && !jobView) return { event: { type: 'FAILED' }, message: `${exhausted[0]}: ${exhausted[1].message}` };
  const job = actions.get(PrecacheAction.createJob);
  if (jobView?.ours && jobView.answer.kind === 'absent' && (job?.retries ?? 0) >= RETRY_BUDGET)
    return { event: { type: 'FAILED' }, message: 'job pre-cache disappears from the cluster as soon as it is created' };
  return meaning.message || available ? meaning : { message: unavailable };
}

function interpretActive({ available, jobView, progressView }: SpokeObservation): Meaning {
  if (!jobView?.ours) return {};
  if (jobView.answer.kind === 'absent') return { event: { type: 'FAILED' }, message: 'job pre-cache was deleted from the cluster' };
  const meaning = interpretJob(jobView.answer, progressView?.answer);
  return meaning.event?.type === 'JOB_ACTIVE' && !available
    ? { ...meaning, message: 'the cluster is not available; last seen pulling' }
    : meaning;
}

/** Reads the verdict of a Job (spec/talm 3.4); an empty status right after creation is no verdict. */
function interpretJob(answer: Answer, progress: Answer | undefined): Meaning {
  if (answer.kind === 'unknown') return { message: `cannot see job pre-cache on the cluster: ${answer.message}` };
  if (answer.kind !== 'found') return {};
  const status = JobStatus.safeParse(answer.object.status ?? {});
  if (!status.success) return { message: 'the status of job pre-cache is malformed' };
  const { active = 0, succeeded = 0, conditions } = status.data;
  if (succeeded > 0) return { event: { type: 'SUCCEEDED' } };
  const failed = conditions?.find((condition) => condition.type === 'Failed' && condition.status === 'True');
  if (failed) {
    const why = readReport(progress)?.message ?? failed.message ?? failed.reason ?? 'no reason given';
    return failed.reason === 'DeadlineExceeded'
      ? { event: { type: 'DEADLINE' }, message: `timed out: ${why}` }
      : { event: { type: 'FAILED' }, message: why };
  }
  return active > 0 ? { event: { type: 'JOB_ACTIVE' } } : { message: 'job pre-cache has no running pod yet' };
}
