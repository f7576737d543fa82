import { howText, type Manifest, type PassError, summarizeErrors, UpdateError } from '@flotilla/release';
import { earliest } from '@flotilla/runtime';
import type { Held } from './held.ts';

/** A manifest that is held up, and since when. */
export interface HeldManifest extends Held {
  readonly manifest: Manifest;
  readonly sinceMs: number;
  /** Since when its object has got no further. */
  readonly unchangedSinceMs: number;
  readonly pod?: string | undefined;
}

/** A pass as far as its failure depends on it. */
export interface PassMoment {
  readonly isInstalling: boolean;
  readonly isReconciling: boolean;
  /** Last time that something was done, milliseconds since the epoch. */
  readonly lastDoneMs: number;
  readonly nowMs: number;
}

/**
 * Grace, milliseconds: a manifest held up for less is no failure of the pass. A failed request is sent again.
 * During an install, kinds and namespaces are still to come, and operators have not reported yet.
 * The reference looks at a steady cluster every two to four minutes, and does not see a workload that was refused a pod in between.
 */
const GRACE_MS = { installing: 30_000, reconciling: 120_000, otherwise: 10_000 };

function graceOf({ why, manifest }: HeldManifest, { isInstalling, isReconciling }: PassMoment): number {
  if (why === 'trouble') return isInstalling ? GRACE_MS.installing : GRACE_MS.otherwise;
  const isOperator = manifest.kind === 'ClusterOperator';
  if (isReconciling) return isOperator ? 0 : GRACE_MS.reconciling;
  return isInstalling && (why === 'waiting' || isOperator) ? GRACE_MS.installing : 0;
}

/** Time at which a held manifest becomes a failure. An install that gets on is under way, whatever it has not come to yet. */
export function countsAtMs(held: HeldManifest, moment: PassMoment): number {
  const { isInstalling, lastDoneMs } = moment;
  const grace = graceOf(held, moment);
  return (isInstalling && grace > 0 ? Math.max(held.sinceMs, lastDoneMs) : held.sinceMs) + grace;
}

/** Time at which an awaited object counts as stuck; undefined for one that may take as long as it likes. */
const stuckAtMs = ({ error: { awaited }, unchangedSinceMs }: HeldManifest): number | undefined =>
  awaited?.limitMs === undefined ? undefined : unchangedSinceMs + awaited.limitMs;

/** Adds to the error of one manifest how far its object is, since when, and that it is stuck. */
export function toldOf(held: HeldManifest, nowMs: number): UpdateError {
  const { error, pod, unchangedSinceMs: sinceMs } = held;
  const { reason, message, effect, names, said, cause } = error;
  if (!error.awaited)
    return pod === undefined ? error : new UpdateError({ reason, message: `${message}; ${pod}`, effect, names, said, cause });
  const awaited = { ...error.awaited, sinceMs, pod };
  if (nowMs < (stuckAtMs(held) ?? Number.POSITIVE_INFINITY)) return new UpdateError({ reason, message, effect, names, awaited, cause });
  const minutes = Math.floor((awaited.limitMs ?? 0) / 60_000);
  return new UpdateError({
    reason: reason === 'WorkloadUpdating' ? 'WorkloadNotProgressing' : reason,
    message: `${names.join(', ')} has got no further for ${minutes} minutes: ${howText(awaited)}`,
    names,
    awaited,
    cause,
  });
}

/** The one error that tells why a pass is not done yet; undefined while there is nothing to tell. */
export function failureOf(held: readonly HeldManifest[], reported: readonly PassError[], moment: PassMoment): UpdateError | undefined {
  const counted = held.filter((one) => countsAtMs(one, moment) <= moment.nowMs);
  const errors: PassError[] = [...counted.map((one) => ({ error: toldOf(one, moment.nowMs), manifest: one.manifest })), ...reported];
  const others = errors.filter(({ error }) => !isOwnWait(error));
  return joinedWaits(errors) ?? summarizeErrors(others.length > 0 ? others : errors);
}

/** Next time at which time alone makes a failure of something, milliseconds since the epoch. */
export function failsAtMs(held: readonly HeldManifest[], moment: PassMoment): number | undefined {
  return earliest(...held.flatMap((one) => [countsAtMs(one, moment), stuckAtMs(one) ?? 0]).filter((at) => at > moment.nowMs));
}

/** Something the reference operator does not wait for: beside what stops an update it says nothing. */
const isOwnWait = (error: unknown): boolean =>
  error instanceof UpdateError && error.effect === 'None' && error.reason !== 'ClusterOperatorUpdating';

/** Several things that are only waited for as one; undefined where there is more than that. */
function joinedWaits(errors: readonly PassError[]): UpdateError | undefined {
  const waits = errors.flatMap(({ error }) => (error instanceof UpdateError && error.effect === 'None' ? [error] : []));
  if (waits.length < 2 || waits.length < errors.length) return undefined;
  const operators = waits.filter(({ reason }) => reason === 'ClusterOperatorUpdating');
  if (operators.length === waits.length) return undefined;
  return new UpdateError({
    reason: operators.length > 0 ? 'ClusterOperatorsUpdating' : 'WorkloadUpdating',
    message: waits
      .map(({ message }) => message)
      .sort()
      .join('; '),
    effect: 'None',
    names: waits.flatMap(({ names }) => names).sort(),
    cause: new AggregateError(waits),
  });
}
