/** Why something is not true although it was asked for: found out by doing it here, whoever else was asked. */
import { errorMessage, FlotillaError, WaitingError } from '@flotilla/api';
import type { RolloutProblem } from '@flotilla/rollout';
import { ApiError, isConflict } from '@flotilla/runtime';

/** A step of a spoke, or the Placements of a batch; throws what keeps it from being done. */
export type LateStep = () => Promise<unknown>;

interface Found {
  readonly problem: RolloutProblem;
  /** How often in a row the API server has refused. */
  readonly refusals: number;
}

/** Steps that are tried at the same time: it is found out why they are late, the work itself is the queue's. */
const PARALLEL = 4;
/** Refusals in a row that are no accident, such as a webhook that was just changed. They are a watchdog's time apart. */
const REFUSALS = 2;

/** The errors of one upgrade's steps that last, by cluster or `''` for the Placements. Nothing in it that cannot be had again. */
export class LateSteps {
  readonly #found = new Map<string, Found>();
  readonly #waiting = new Map<string, LateStep>();
  readonly #running = new Set<string>();
  readonly #onChange: () => void;

  /** @param onChange told when a problem came, changed or went */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  problem(name: string): RolloutProblem | undefined {
    return this.#found.get(name)?.problem;
  }

  /** All of them. */
  get problems(): ReadonlyMap<string, RolloutProblem> {
    return new Map([...this.#found].map(([name, { problem }]) => [name, problem]));
  }

  /** Carries the step out in this process, when its turn comes and it is still late by then. */
  try(name: string, step: LateStep): void {
    if (!this.#running.has(name)) this.#waiting.set(name, step);
    this.#next();
  }

  /** It is true by now, or not wanted any more. */
  settle(name: string): void {
    this.#waiting.delete(name);
    if (this.#found.delete(name)) this.#onChange();
  }

  #next(): void {
    for (const [name, step] of this.#waiting) {
      if (this.#running.size >= PARALLEL) return;
      this.#waiting.delete(name);
      this.#running.add(name);
      void this.#run(name, step);
    }
  }

  async #run(name: string, step: LateStep): Promise<void> {
    try {
      await step();
      this.settle(name);
    } catch (error) {
      this.#note(name, error);
    } finally {
      this.#running.delete(name);
      this.#next();
    }
  }

  #note(name: string, error: unknown): void {
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
