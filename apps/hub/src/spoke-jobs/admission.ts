/** How many keys may begin, or be cleaned, at a time: what has begun gets its job, and its verdict, before others begin. */
import type { Clock } from '@flotilla/runtime';

/**
 * Keys on their way to a job at the same time, until the job is there, at first and at least. All at once they would only wait for each other,
 * and a verdict behind all of them: with 2,000 spokes and jobs of 20 s on a slow machine with two cores a verdict is stored within 9 s with 100,
 * 24 s with 200 and a minute with no bound, the last job starts after 143, 120 and 70 s (`npm run bench:precache`).
 */
const LEAST = 125;
/**
 * Milliseconds to its job within which a key shows that one more can be served, and beyond which that it is one too many: a verdict waits
 * behind the same keys as a job. On a machine twice as fast the last of 500 jobs by works starts after 6.8 s rather than 9.8, of 2,000 after
 * 50 s rather than 57, and their verdicts are stored within 1.4 and 10 s.
 */
const SOON_MS = 6_000;
/**
 * A key that has no job after so long does not keep others back: its agent is slow or silent. Longer than a server that has much to do takes:
 * else more and more would begin just then.
 */
const PATIENCE_MS = 20_000;
/** While others work, one key is cleaned every so many milliseconds: a dozen deletions each, that must not delay a verdict. */
const CLEANING_MS = 200;
/** So many keys are cleaned at once after a pause. */
const CLEANING_BURST = 20;

/** What admission needs. */
interface AdmissionDeps {
  readonly clock: Pick<Clock, 'now' | 'setTimer'>;
  /** A key that was kept back is admitted now. */
  readonly onAdmitted: (key: string) => void;
  /** How many at first, and at least; default 125. */
  readonly least?: number;
}

/** The keys that begin now, and those that wait in the order in which they asked. In memory: after a restart they ask again. */
export class Admission {
  readonly #deps: AdmissionDeps;
  /** Keys that were admitted and have not left. */
  readonly #admitted = new Map<string, Disposable>();
  /** Of these, those that keep others back, with when they began. */
  readonly #counted = new Map<string, number>();
  readonly #waiting = new Set<string>();
  readonly #least: number;
  /** How many may be on their way now. */
  #most: number;
  #cleanedAt = 0;

  constructor(deps: AdmissionDeps) {
    this.#deps = deps;
    this.#least = deps.least ?? LEAST;
    this.#most = this.#least;
  }

  /** Whether the key may begin now; if not, `onAdmitted` says when. An admitted key stays so until it leaves. */
  admit(key: string): boolean {
    if (this.#admitted.has(key)) return true;
    if (this.#counted.size >= this.#most) {
      this.#waiting.add(key);
      return false;
    }
    this.#begin(key);
    return true;
  }

  /** The key has its job, its verdict, or nothing to do any more. */
  leave(key: string): void {
    this.#waiting.delete(key);
    this.#admitted.get(key)?.[Symbol.dispose]();
    this.#admitted.delete(key);
    this.#makeRoom(key);
  }

  /** When one more key may be cleaned, milliseconds since the epoch. */
  scheduleCleaning(): number {
    this.#cleanedAt = Math.max(this.#cleanedAt + CLEANING_MS, this.#deps.clock.now() - CLEANING_BURST * CLEANING_MS);
    return this.#cleanedAt;
  }

  stop(): void {
    for (const timer of this.#admitted.values()) timer[Symbol.dispose]();
    this.#admitted.clear();
    this.#counted.clear();
    this.#waiting.clear();
  }

  #begin(key: string): void {
    this.#waiting.delete(key);
    this.#counted.set(key, this.#deps.clock.now());
    this.#admitted.set(
      key,
      this.#deps.clock.setTimer(PATIENCE_MS, () => this.#makeRoom(key)),
    );
  }

  /** For one more, or one less, as that key got its job soon or late; a key that has none when patience ends is late. */
  #makeRoom(left: string): void {
    const begunAt = this.#counted.get(left);
    if (begunAt === undefined) return;
    this.#counted.delete(left);
    const isSoon = this.#deps.clock.now() - begunAt < SOON_MS;
    // Where none waits nothing is learnt of what more would do.
    if (this.#waiting.size > 0) this.#most = Math.max(this.#most + (isSoon ? 1 : -1), this.#least);
    for (const key of [...this.#waiting].slice(0, Math.max(this.#most - this.#counted.size, 0))) {
      this.#begin(key);
      this.#deps.onAdmitted(key);
    }
  }
}
