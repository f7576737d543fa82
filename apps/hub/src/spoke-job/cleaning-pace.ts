/** While others work, one spoke is cleaned every so many milliseconds: a dozen deletions each, that must not delay a verdict. */
const PACE_MS = 200;
/** So many spokes are cleaned at once after a pause. */
const BURST = 20;

/** Hands out turns for cleaning a spoke, in milliseconds since the epoch. */
export function createCleaningPace(now: () => number): () => number {
  let last = 0;
  return () => {
    last = Math.max(last + PACE_MS, now() - BURST * PACE_MS);
    return last;
  };
}
