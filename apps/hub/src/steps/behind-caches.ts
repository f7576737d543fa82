import { WaitingError } from '@flotilla/api';
import { keyId, type StepKey } from './step-key.ts';
import type { StepHandler } from './step-queue.ts';

/** Milliseconds until each next try after one without writes. */
const PAUSES_MS = [150, 500, 1500];
/** Bound of remembered keys: a key that another process does next time is never removed otherwise. */
const MAX_KEYS = 10_000;

/**
 * Retries a step without writes a few times, because keys may arrive before the watch events of this process. Throws WaitingError for each retry;
 * afterwards the step counts as done by another process.
 * @param handle resolves to true when it wrote
 */
export function retryWhileBehind(handle: (key: StepKey, signal: AbortSignal) => Promise<boolean>): StepHandler {
  /** Consecutive runs without writes, by key. */
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
