/** Errors of requested steps, as far as they last. */
import { errorMessage, FlotillaError, WaitingError } from '@flotilla/api';
import type { RolloutProblem } from '@flotilla/rollout';
import { ApiError, isConflict } from '@flotilla/runtime';
import type { StepKey } from '../steps/step-key.ts';

interface Found {
  readonly problem: RolloutProblem;
  /** Consecutive refusals by the API server. */
  readonly refusals: number;
}

/** Consecutive refusals that count as lasting; a webhook under change may cause one. They are a watchdog's time apart. */
const REFUSALS = 2;

/** Lasting errors of steps by their key. The next failures rebuild them after a restart. */
export class LastingProblems {
  /** Problems by uid of the upgrade, then by cluster or `''` for the Placements. */
  readonly #found = new Map<string, Map<string, Found>>();
  readonly #onChange: (uid: string) => void;

  /** @param onChange receives the uid of an upgrade when a problem of it appears, changes or goes */
  constructor(onChange: (uid: string) => void) {
    this.#onChange = onChange;
  }

  /** Returns an upgrade's problems by cluster. */
  of(uid: string): ReadonlyMap<string, RolloutProblem> {
    return new Map([...(this.#found.get(uid) ?? [])].map(([cluster, { problem }]) => [cluster, problem]));
  }

  forget(uid: string): void {
    this.#found.delete(uid);
  }

  /** Takes over how a step ended; undefined: its writes are done, or not wanted any more. */
  note({ upgrade: uid, cluster }: Pick<StepKey, 'upgrade' | 'cluster'>, error: unknown): void {
    if (error === undefined) return this.#found.get(uid)?.delete(cluster) ? this.#onChange(uid) : undefined;
    // Another writer was first, or the caches are stale: the next plan differs.
    if (isConflict(error) || (error instanceof FlotillaError && PASSING.has(error.code))) return;
    const found = this.#found.get(uid) ?? new Map<string, Found>();
    const before = found.get(cluster);
    const refusals = isRefusal(error) ? (before?.refusals ?? 0) + 1 : 0;
    const problem = { message: describe(error), isRefused: refusals >= REFUSALS };
    this.#found.set(uid, found.set(cluster, { problem, refusals }));
    if (before?.problem.message !== problem.message || before.problem.isRefused !== problem.isRefused) this.#onChange(uid);
  }
}

const PASSING: ReadonlySet<string> = new Set(['FLOTILLA_CACHE_BEHIND', 'FLOTILLA_WAITING_FOR_RETRY']);

/** True for errors that the same call would get again: a missing right, a denied admission, an invalid object. */
const isRefusal = (error: unknown): boolean => error instanceof ApiError && [400, 403, 413, 422].includes(error.status);

function describe(error: unknown): string {
  const message = errorMessage(error);
  if (error instanceof WaitingError) return message;
  if (error instanceof ApiError && error.status === 403)
    return `${message}; give the hub's account the right to it, or mend the policy that denies it`;
  return isRefusal(error) ? `${message}; correct what it names` : `${message}; it is tried again`;
}
