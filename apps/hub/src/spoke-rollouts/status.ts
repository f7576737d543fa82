/** Errors of requested steps, as far as they last. */
import { errorMessage, FlotillaError, WaitingError } from '@flotilla/api';
import type { RolloutProblem } from '@flotilla/rollout';
import { ApiError, isConflict } from '@flotilla/runtime';

interface Found {
  readonly problem: RolloutProblem;
  /** Consecutive refusals by the API server. */
  readonly refusals: number;
}

/** Consecutive refusals that count as lasting; a webhook under change may cause one. They are a watchdog's time apart. */
const REFUSALS = 2;

/** Lasting errors of one upgrade's steps, by cluster or `''` for the Placements. The next failures rebuild them after a restart. */
export class LastingProblems {
  readonly #found = new Map<string, Found>();
  readonly #onChange: () => void;

  /**
   * Creates an empty list.
   * @param onChange called when a problem appears, changes or goes
   */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Returns the problem of one name. */
  of(name: string): RolloutProblem | undefined {
    return this.#found.get(name)?.problem;
  }

  /** Returns all problems by name. */
  get all(): ReadonlyMap<string, RolloutProblem> {
    return new Map([...this.#found].map(([name, { problem }]) => [name, problem]));
  }

  /** Clears the problem of a name: the writes are done, or not wanted any more. */
  clear(name: string): void {
    if (this.#found.delete(name)) this.#onChange();
  }

  /** Records a failed step. */
  note(name: string, error: unknown): void {
    // Another writer was first, or the caches are stale: the next plan differs.
    if (isConflict(error) || (error instanceof FlotillaError && PASSING.has(error.code))) return;
    const before = this.#found.get(name);
    const refusals = isRefusal(error) ? (before?.refusals ?? 0) + 1 : 0;
    const problem = { message: describe(error), isRefused: refusals >= REFUSALS };
    this.#found.set(name, { problem, refusals });
    if (before?.problem.message !== problem.message || before.problem.isRefused !== problem.isRefused) this.#onChange();
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
