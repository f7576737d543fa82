/** Why something is not true although it was asked for, as far as that lasts. */
import { errorMessage, FlotillaError, WaitingError } from '@flotilla/api';
import type { RolloutProblem } from '@flotilla/rollout';
import { ApiError, isConflict } from '@flotilla/runtime';

interface Found {
  readonly problem: RolloutProblem;
  /** How often in a row the API server has refused. */
  readonly refusals: number;
}

/** Refusals in a row that are no accident, such as a webhook that was just changed. They are a watchdog's time apart. */
const REFUSALS = 2;

/** The errors of one upgrade's steps that last, by cluster or `''` for the Placements. Nothing in it that cannot be had again. */
export class LastingProblems {
  readonly #found = new Map<string, Found>();
  readonly #onChange: () => void;

  /** @param onChange told when a problem came, changed or went */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** That of one name. */
  of(name: string): RolloutProblem | undefined {
    return this.#found.get(name)?.problem;
  }

  /** All of them. */
  get all(): ReadonlyMap<string, RolloutProblem> {
    return new Map([...this.#found].map(([name, { problem }]) => [name, problem]));
  }

  /** It is true by now, or not wanted any more. */
  settle(name: string): void {
    if (this.#found.delete(name)) this.#onChange();
  }

  /** A try to make it true failed. */
  note(name: string, error: unknown): void {
    // Another writer was first, or the caches are behind: the next look is another one.
    if (isConflict(error) || (error instanceof FlotillaError && PASSING.has(error.code))) return;
    const before = this.#found.get(name);
    const refusals = isRefusal(error) ? (before?.refusals ?? 0) + 1 : 0;
    const problem = { message: describe(error), isRefused: refusals >= REFUSALS };
    this.#found.set(name, { problem, refusals });
    if (before?.problem.message !== problem.message || before.problem.isRefused !== problem.isRefused) this.#onChange();
  }
}

const PASSING: ReadonlySet<string> = new Set(['FLOTILLA_CACHE_BEHIND', 'FLOTILLA_WAITING_FOR_RETRY']);

/** What the same call will be answered again: no right to it, denied at admission, not what the schema or a policy allows. */
const isRefusal = (error: unknown): boolean => error instanceof ApiError && [400, 403, 413, 422].includes(error.status);

function describe(error: unknown): string {
  const message = errorMessage(error);
  if (error instanceof WaitingError) return message;
  if (error instanceof ApiError && error.status === 403)
    return `${message}; give the hub's account the right to it, or mend the policy that denies it`;
  return isRefusal(error) ? `${message}; correct what it names` : `${message}; it is tried again`;
}
