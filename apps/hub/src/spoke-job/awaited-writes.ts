/** What this process has written of spokes, until its watches tell of it: what is under way is not written again. */
import { keyId, type StepKey } from '@flotilla/queues';
import type { SpokeStep } from './spoke-step.ts';

/**
 * How long a watch may take to tell of a write, milliseconds. A server with much to do is behind with its watches for longer than a step may be
 * late, and would be given the same to do again. After that the write counts as lost.
 */
const PATIENCE_MS = 60_000;

/** What the memory of own writes needs. */
export interface AwaitedWritesDeps {
  readonly kind: StepKey['kind'];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Stands for how a cluster's objects are now. */
  readonly versionsOf: (cluster: string) => string;
}

interface AwaitedWrite {
  /** How the spoke looked when it was written. */
  readonly versions: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Own writes by spoke and upgrade, in memory: after a restart everything is looked at anew. */
export class AwaitedWrites {
  readonly #deps: AwaitedWritesDeps;
  readonly #writes = new Map<string, AwaitedWrite>();

  constructor(deps: AwaitedWritesDeps) {
    this.#deps = deps;
  }

  /** The same step, which is remembered when it has written. */
  noting(step: SpokeStep): SpokeStep {
    return async (place, signal) => {
      const versions = this.#deps.versionsOf(place.cluster);
      const result = await step(place, signal);
      const { upgrade, cluster } = place;
      if (result.hasWritten) this.#writes.set(keyId({ kind: this.#deps.kind, upgrade, cluster }), { versions, at: this.#deps.now() });
      return result;
    };
  }

  /** Until when a spoke that has been written looks as it did before, milliseconds since the epoch; undefined: it may be written now. */
  awaitedUntil(key: StepKey): number | undefined {
    const id = keyId(key);
    const write = this.#writes.get(id);
    if (!write) return undefined;
    const { versions, at } = write;
    const now = this.#deps.now();
    // A time that is yet to come was noted before the clock stepped back.
    if (versions === this.#deps.versionsOf(key.cluster) && at <= now && now < at + PATIENCE_MS) return at + PATIENCE_MS;
    this.#writes.delete(id);
    return undefined;
  }

  forget(key: StepKey): void {
    this.#writes.delete(keyId(key));
  }
}
