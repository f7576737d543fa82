import { WaitingError } from '@flotilla/api';

/** Milliseconds until the next look, after each that found nothing to do. */
const LOOKS_MS = [150, 500, 1500];
/** Keys remembered; one that another process takes next time is never forgotten otherwise. */
const MAX_KEYS = 10_000;

/**
 * For a process that steps reach faster than the events they were asked for by: one that finds nothing to do looks again a few times,
 * and then takes it for done by somebody else. Throws WaitingError until then.
 * @param process resolves to true when it did something
 */
export function lookAgain<P>(process: (payload: P) => Promise<boolean>, keyOf: (payload: P) => string): (payload: P) => Promise<void> {
  const looks = new Map<string, number>();
  return async (payload) => {
    const key = keyOf(payload);
    if (await process(payload)) {
      looks.delete(key);
      return;
    }
    const count = looks.get(key) ?? 0;
    const delayMs = LOOKS_MS[count];
    if (count === 0 && looks.size >= MAX_KEYS) looks.clear();
    if (delayMs === undefined) {
      looks.delete(key);
      return;
    }
    looks.set(key, count + 1);
    throw new WaitingError('FLOTILLA_CACHE_BEHIND', 'nothing to do by the watches of this process, which may be behind', delayMs);
  };
}
