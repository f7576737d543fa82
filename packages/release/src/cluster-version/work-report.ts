import type { Release } from '@flotilla/api/config';
import type { UpdateError } from '../graph/update-error.ts';
import type { EnabledCapabilities } from '../inclusion/capabilities.ts';
import type { Acceptance } from './acceptance.ts';
import type { OperatorStarts } from './failure.ts';

/** Report of the worker that applies releases. */
export interface WorkReport {
  /** Generation of the ClusterVersion it works for. */
  readonly generation: number;
  /** The one error of the pass. */
  readonly failure?: UpdateError | undefined;
  /** Since when there is one without a pause, milliseconds since the epoch. */
  readonly failingSinceMs?: number | undefined;
  /** Manifests that are applied, of those that are to be. */
  readonly done: number;
  readonly total: number;
  /** A pass over all of them has ended well, operators that are reported as degraded by an install aside. */
  readonly completed: boolean;
  /** The cluster runs the release already. */
  readonly reconciling: boolean;
  readonly release: Release;
  /** Empty when it is not known. */
  readonly versionHash: string;
  readonly verified: boolean;
  /** The release that was asked for last; undefined before the first. */
  readonly acceptance?: Acceptance | undefined;
  readonly capabilities: EnabledCapabilities;
  readonly featureGates: ReadonlySet<string>;
  readonly operatorStarts: OperatorStarts;
}

const fractionOf = ({ done, total }: WorkReport): number => (total > 0 ? done / total : 0);

/**
 * The report that counts after another: a failure stays in sight during the next try until that has come as far.
 */
export function nextReport(previous: WorkReport | undefined, next: WorkReport): WorkReport {
  const hides =
    previous?.failure !== undefined &&
    next.failure === undefined &&
    !next.completed &&
    previous.release.image === next.release.image &&
    fractionOf(next) < fractionOf(previous);
  return hides ? { ...next, failure: previous.failure, failingSinceMs: previous.failingSinceMs, done: previous.done } : next;
}

/** True for a report that goes into the status at once: the work itself changed, not only its progress. */
export function isEdge(previous: WorkReport | undefined, next: WorkReport): boolean {
  return (
    previous === undefined ||
    previous.generation !== next.generation ||
    previous.release.image !== next.release.image ||
    previous.reconciling !== next.reconciling ||
    previous.completed !== next.completed ||
    (previous.failure === undefined) !== (next.failure === undefined) ||
    previous.acceptance?.step !== next.acceptance?.step ||
    previous.acceptance?.failed !== next.acceptance?.failed
  );
}
