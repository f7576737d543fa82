import { type Manifest, type PassError, summarizeErrors, UpdateError } from '@flotilla/release';
import type { Held } from './manifest-step.ts';

/** A manifest that is held up, and since when. */
export interface HeldManifest extends Held {
  readonly manifest: Manifest;
  readonly sinceMs: number;
}

/** A pass as far as its failure depends on it. */
export interface PassMoment {
  readonly isInstalling: boolean;
  /** When something was done last, milliseconds since the epoch. */
  readonly lastDoneMs: number;
  readonly nowMs: number;
}

/**
 * What is held up for less than this is no failure of the pass, milliseconds: a request that fails is sent again, and while everything is
 * installed at once, kinds and namespaces are still to come and operators have not reported yet.
 */
const GRACE_MS = { installing: 30_000, otherwise: 10_000 };

const graceOf = ({ why, manifest }: HeldManifest, isInstalling: boolean): number => {
  if (why === 'trouble') return isInstalling ? GRACE_MS.installing : GRACE_MS.otherwise;
  return isInstalling && (why === 'waiting' || manifest.kind === 'ClusterOperator') ? GRACE_MS.installing : 0;
};

/** When what is held up becomes a failure. An install that gets on is under way, whatever it has not come to yet. */
function countsAtMs(held: HeldManifest, { isInstalling, lastDoneMs }: PassMoment): number {
  const grace = graceOf(held, isInstalling);
  return (isInstalling && grace > 0 ? Math.max(held.sinceMs, lastDoneMs) : held.sinceMs) + grace;
}

/** The one error that tells why a pass is not done yet; undefined while there is nothing to tell. */
export function failureOf(held: readonly HeldManifest[], reported: readonly PassError[], moment: PassMoment): UpdateError | undefined {
  const errors: PassError[] = [...held.filter((one) => countsAtMs(one, moment) <= moment.nowMs), ...reported];
  const others = errors.filter(({ error }) => !isOwnWait(error));
  return joinedWaits(errors) ?? summarizeErrors(others.length > 0 ? others : errors);
}

/** When time alone makes a failure of something, milliseconds since the epoch. */
export function failsAtMs(held: readonly HeldManifest[], moment: PassMoment): number | undefined {
  const moments = held.map((one) => countsAtMs(one, moment)).filter((at) => at > moment.nowMs);
  return moments.length > 0 ? Math.min(...moments) : undefined;
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
