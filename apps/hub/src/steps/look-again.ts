import { WaitingError } from '@flotilla/api';
import { keyId, type StepKey } from './step-key.ts';
import type { StepHandler } from './step-queue.ts';

/** Milliseconds until the next try, after each that found nothing to do. */
const PAUSES_MS = [150, 500, 1500];
/** Keys remembered; one that another process takes next time is never forgotten otherwise. */
const MAX_KEYS = 10_000;

/**
 * For a process that steps reach faster than the events they are planned from: one that finds nothing to do is tried again a few times, and
 * then counts as done by somebody else. Throws WaitingError until then.
 * @param handle resolves to true when it did something
 */
export function lookAgain(handle: (key: StepKey, signal: AbortSignal) => Promise<boolean>): StepHandler {
  /** How often in a row a key came in vain. */
  const counts = new Map<string, number>();
  return async (key, signal) => {
    const id = keyId(key);
    const count = counts.get(id) ?? 0;
    const isDone = await handle(key, signal);
    const pauseMs = PAUSES_MS[count];
    if (isDone || pauseMs === undefined) return void counts.delete(id);
    if (counts.size >= MAX_KEYS) counts.clear();
    counts.set(id, count + 1);
    throw new WaitingError('FLOTILLA_CACHE_BEHIND', 'nothing to do by the watches of this process, which may be behind', pauseMs);
  };
}
