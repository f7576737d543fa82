/** Runs parts of upgrades on spokes as a leader does, for the tests of this folder. */
import { type Clock, createLogger, logOnly } from '@flotilla/runtime';
import { BY_UID } from '../src/caches.ts';
import type { SpokePart } from '../src/spokes/part.ts';
import { Problems } from '../src/spokes/problems.ts';
import { SpokeReconciler } from '../src/spokes/reconciler.ts';
import type { HubProcess } from './memory-hub.ts';

/** Surroundings of the parts. */
interface PartsWorld extends Pick<HubProcess, 'caches'> {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Starts the reconciler of these parts, without workers. */
export function startParts(parts: readonly SpokePart[], { caches, clock, signal }: PartsWorld) {
  const problems = new Problems({ onChange: () => {}, now: () => clock.now() });
  const spokes = new SpokeReconciler({
    parts,
    problems,
    isGone: (uid) => caches.upgrades.byIndex(BY_UID, uid).length === 0,
    onTrouble: logOnly,
    concurrency: 4,
    clock,
    logger: createLogger({ name: 'test', level: 'silent' }),
    signal,
  });
  spokes.start();
  return { spokes, problems };
}
