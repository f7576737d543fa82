import { summarizeErrors } from '../graph/error-summary.ts';
import { UpdateError } from '../graph/update-error.ts';
import type { Verdict } from './conditions.ts';

/** When each ClusterOperator was first found to be worked on, milliseconds since the epoch; without those that have arrived. */
export type OperatorStarts = ReadonlyMap<string, number>;

/** Circumstances in which a failure is judged. */
export interface FailureContext {
  /** The cluster runs the release already: nothing is softened. */
  readonly reconciling: boolean;
  /** The cluster has been sent to a release before. */
  readonly hasHistory: boolean;
  readonly operatorStarts: OperatorStarts;
  /** Since when there is a failure without a pause, milliseconds since the epoch; undefined counts as long ago. */
  readonly failingSinceMs?: number | undefined;
  readonly nowMs: number;
}

/** Meaning of a failure for the Progressing and Failing conditions. */
export interface FailureReading {
  /** Reason for the Progressing condition. */
  readonly reason: string;
  /** Text for the Progressing condition; empty where the reason's summary says enough. */
  readonly text: string;
  /** Only something to wait for: the update goes on. */
  readonly isWait: boolean;
  readonly failing: Verdict;
  /** When time alone makes something else of it, milliseconds since the epoch. */
  readonly changesAtMs?: number;
}

const MINUTE = 60_000;
/** An operator that has not reached its version after so long is slow. */
const SLOW_MS = 30 * MINUTE;
/** The operator of the machines takes longer: it restarts every node. */
const MACHINES = 'machine-config';
const SLOW_MACHINES_MS = 90 * MINUTE;
/** An operator may be degraded so long while it updates. */
const DEGRADED_MS = 40 * MINUTE;
/** An API server that does not answer for so long is no failure yet: it restarts in each update. */
const OUTAGE_MS = MINUTE;
const outages: ReadonlySet<string> = new Set(['UpdatePayloadClusterDown', 'UpdatePayloadClusterError', 'UpdatePayloadClusterOverloaded']);

const notFailing: Verdict = { type: 'Failing', status: 'False' };
const failingWith = ({ reason, message }: UpdateError): Verdict => ({ type: 'Failing', status: 'True', reason, message });

/** Judges the one error of a pass (spec/cvo 5.3). */
export function readFailure(failure: UpdateError, context: FailureContext): FailureReading {
  const hard = { reason: failure.reason, text: failure.awaited ? failure.message : '', isWait: false, failing: failingWith(failure) };
  if (!context.hasHistory) return hard;
  // an operator that is only told of has its grace in a cluster that is as it should be, too
  if (context.reconciling && failure.effect !== undefined && failure.effect !== 'FailAfterInterval') return hard;
  switch (failure.effect) {
    case 'Report':
      return { ...hard, text: failure.message };
    case 'None':
      return waitOf(failure, context);
    case 'FailAfterInterval':
      return graceOf(failure, context);
    case 'Fail':
      return hard;
    case undefined:
      return outageOf(failure, context) ?? severalOf(failure, context) ?? hard;
  }
}

/** Several errors without those that are only waits; undefined where it is but one. */
function severalOf(failure: UpdateError, context: FailureContext): FailureReading | undefined {
  const { cause, reason } = failure;
  if (reason !== 'MultipleErrors' || !(cause instanceof AggregateError)) return undefined;
  const children = cause.errors.map((error: unknown) => ({
    error,
    reading: error instanceof UpdateError ? readFailure(error, context) : undefined,
  }));
  const changes = children.flatMap(({ reading }) => reading?.changesAtMs ?? []);
  const rest = changes.length > 0 ? { changesAtMs: Math.min(...changes) } : {};
  const left = summarizeErrors(children.filter(({ reading }) => !reading?.isWait));
  if (left) return { reason, text: '', isWait: false, failing: failingWith(left), ...rest };
  const readings = children.flatMap(({ reading }) => reading ?? []);
  const slow = readings.find(({ failing }) => failing.status === 'Unknown')?.failing;
  const texts = readings.map(({ text }) => text).filter((text) => text !== '');
  return { reason: readings[0]?.reason ?? reason, text: texts.join('; '), isWait: true, failing: slow ?? notFailing, ...rest };
}

/** Operators that have not reached their version yet: slow ones are told, and are a suspicion. */
function waitOf(failure: UpdateError, { operatorStarts, nowMs }: FailureContext): FailureReading {
  const { reason, names } = failure;
  const limitOf = (name: string) => (name === MACHINES ? SLOW_MACHINES_MS : SLOW_MS);
  const ends = names.flatMap((name) => {
    const start = operatorStarts.get(name);
    return start === undefined ? [] : [{ name, endMs: start + limitOf(name) }];
  });
  const slow = endedBefore(ends, nowMs);
  const wait = { reason, isWait: true, ...changesAt(ends, nowMs) };
  if (slow.length === 0) return { ...wait, text: `waiting on ${awaitedText(failure)}`, failing: notFailing };
  const text = slowText(slow);
  const message = `${text}${wordsOf(failure, slow)}`;
  return { ...wait, text, failing: { type: 'Failing', status: 'Unknown', reason: 'SlowClusterOperator', message } };
}

function slowText(slow: readonly string[]): string {
  const others = slow.filter((name) => name !== MACHINES);
  const parts = [
    ...(others.length > 0 ? [`${others.join(', ')} over 30 minutes`] : []),
    ...(slow.includes(MACHINES) ? [`${MACHINES} over 90 minutes`] : []),
  ];
  return `waiting on ${parts.join(' and ')} which is longer than expected`;
}

/** Operators that are degraded: they have a while to recover. */
function graceOf(failure: UpdateError, { operatorStarts, nowMs }: FailureContext): FailureReading {
  const { reason, names } = failure;
  const ends = names.map((name) => ({ name, endMs: (operatorStarts.get(name) ?? Number.NEGATIVE_INFINITY) + DEGRADED_MS }));
  const over = endedBefore(ends, nowMs);
  const changes = changesAt(ends, nowMs);
  if (over.length === 0)
    return { reason, text: `waiting up to 40 minutes on ${names.join(', ')}`, isWait: true, failing: notFailing, ...changes };
  const text = `wait has exceeded 40 minutes for these operators: ${over.join(', ')}`;
  return { reason, text, isWait: false, failing: failingWith(failure), ...changes };
}

/** An API server that is away for a moment, which does not make the Failing condition come and go; undefined where it is more. */
function outageOf({ reason }: UpdateError, { failingSinceMs, nowMs }: FailureContext): FailureReading | undefined {
  if (!outages.has(reason) || failingSinceMs === undefined || nowMs - failingSinceMs >= OUTAGE_MS) return undefined;
  return { reason, text: '', isWait: true, failing: notFailing, changesAtMs: failingSinceMs + OUTAGE_MS };
}

/** When an operator's time is over. */
interface End {
  readonly name: string;
  readonly endMs: number;
}

const endedBefore = (ends: readonly End[], nowMs: number): string[] => ends.filter(({ endMs }) => endMs < nowMs).map(({ name }) => name);

function changesAt(ends: readonly End[], nowMs: number): { changesAtMs?: number } {
  const later = ends.map(({ endMs }) => endMs + 1).filter((moment) => moment > nowMs);
  return later.length > 0 ? { changesAtMs: Math.min(...later) } : {};
}

/** So many of those that are waited for are told in full. */
const MOST_IN_FULL = 5;

/** The single errors of one that stands for several. */
function leavesOf(error: UpdateError): readonly UpdateError[] {
  const { cause } = error;
  if (!(cause instanceof AggregateError)) return [error];
  return cause.errors.flatMap((one: unknown) => (one instanceof UpdateError ? leavesOf(one) : []));
}

/** When something has stayed the same since, as messages have it. */
const timeText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** Progress of one awaited object, and the trouble of a pod of it: `daemonset: 3 of 5 nodes are updated, since …`. */
export function howText({ kind, how, sinceMs, pod }: NonNullable<UpdateError['awaited']>): string {
  const since = sinceMs === undefined ? '' : `, since ${timeText(sinceMs)}`;
  return `${kind}: ${how}${since}${pod === undefined ? '' : `; ${pod}`}`;
}

/** Lists the awaited objects: operators by name alone, the first five others with their progress. */
function awaitedText(failure: UpdateError): string {
  const leaves = leavesOf(failure);
  const how = new Map(leaves.flatMap(({ names: [name], awaited }) => (awaited && name !== undefined ? [[name, awaited] as const] : [])));
  let inFull = 0;
  return failure.names
    .map((name) => {
      const awaited = how.get(name);
      return awaited && ++inFull <= MOST_IN_FULL ? `${name} (${howText(awaited)})` : name;
    })
    .join(', ');
}

/** Messages of the named operators themselves, behind a colon; empty where they have none. */
function wordsOf(failure: UpdateError, names: readonly string[]): string {
  const words = leavesOf(failure).flatMap(({ names: [name], said }) =>
    name !== undefined && names.includes(name) && said ? [`${name}: ${said}`] : [],
  );
  return words.length === 0 ? '' : `: ${words.join('; ')}`;
}
