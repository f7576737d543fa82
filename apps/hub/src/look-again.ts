import { WaitingError } from '@flotilla/api';
import { keyId, type StepKey } from './step-key.ts';
import type { StepHandler } from './step-queue.ts';

/** Milliseconds until the next look, after each that found nothing to do. */
const LOOKS_MS = [150, 500, 1500];
/** Keys remembered; one that another process takes next time is never forgotten otherwise. */
const MAX_KEYS = 10_000;

/** Counts how often what is called by a key came in vain, so that what never comes true does not come for ever. */
class Patience {
  readonly #pausesMs: readonly number[];
  readonly #counts = new Map<string, number>();

  /** @param pausesMs one for each time that is waited */
  constructor(pausesMs: readonly number[]) {
    this.#pausesMs = pausesMs;
  }

  /** Throws `WaitingError` a few times, then returns: whoever watches the world asks again for what is still not true. */
  wait(key: string, why: string): void {
    const count = this.#counts.get(key) ?? 0;
    const delayMs = this.#pausesMs[count];
    if (delayMs === undefined) return this.forget(key);
    if (count === 0 && this.#counts.size >= MAX_KEYS) this.#counts.clear();
    this.#counts.set(key, count + 1);
    throw new WaitingError('FLOTILLA_CACHE_BEHIND', why, delayMs);
  }

  /** The next time is the first one again. */
  forget(key: string): void {
    this.#counts.delete(key);
  }
}

/**
 * For a process that steps reach faster than the events they were asked for by: one that finds nothing to do looks again a few times,
 * and then takes it for done by somebody else. Throws WaitingError until then.
 * @param handle resolves to true when it did something
 */
export function lookAgain(handle: (key: StepKey, signal: AbortSignal) => Promise<boolean>): StepHandler {
  const patience = new Patience(LOOKS_MS);
  return async (key, signal) => {
    const id = keyId(key);
    if (await handle(key, signal)) patience.forget(id);
    else patience.wait(id, 'nothing to do by the watches of this process, which may be behind');
  };
}
