/** Bounds the keys that begin, or are cleaned, at a time: begun keys get their job and verdict before others begin. */
import type { Clock } from '@flotilla/runtime';

/**
 * Initial and least number of keys on their way to a job. More at once only wait for each other, and verdicts wait behind all of them.
 * Measured with 2,000 spokes and jobs of 20 s on a slow two-core machine (`npm run bench:precache`): a verdict is stored within 9 s at
 * 100 keys, 24 s at 200, and a minute unbounded. The last job starts after 143, 120 and 70 s.
 */
const LEAST = 125;
/**
 * A key that gets its job within this time (milliseconds) raises the bound by one; a slower key lowers it, because a verdict waits behind
 * the same keys. On a machine twice as fast, the last of 500 jobs by works starts after 6.8 s instead of 9.8. The last of 2,000 starts
 * after 50 s instead of 57, and verdicts are stored within 1.4 and 10 s.
 */
const SOON_MS = 6_000;
/**
 * A key without a job after this time (milliseconds) stops counting: its agent is slow or silent. A shorter time would admit more keys just when the
 * server is busy.
 */
const PATIENCE_MS = 20_000;
/** Milliseconds between two cleaned keys while others work: a key costs a dozen deletions, which would delay verdicts. */
const CLEANING_MS = 200;
/** Keys that are cleaned at once after a pause. */
const CLEANING_BURST = 20;

/** Dependencies of `Admission`. */
interface AdmissionDeps {
  readonly clock: Pick<Clock, 'now' | 'setTimer'>;
  /** Receives a key that had to wait and is admitted now. */
  readonly onAdmitted: (key: string) => void;
  /** Initial and least number of admitted keys; default 125. */
  readonly least?: number;
}

/** Admits keys in the order in which they ask. It lives in memory: after a restart the keys ask again. */
export class Admission {
  readonly #deps: AdmissionDeps;
  /** Timers of admitted keys that have not left. */
  readonly #admitted = new Map<string, Disposable>();
  /** Start times of the admitted keys that count against the bound. */
  readonly #counted = new Map<string, number>();
  readonly #waiting = new Set<string>();
  readonly #least: number;
  /** Current bound. */
  #most: number;
  #cleanedAt = 0;

  constructor(deps: AdmissionDeps) {
    this.#deps = deps;
    this.#least = deps.least ?? LEAST;
    this.#most = this.#least;
  }

  /** Admits the key when the bound allows it; `onAdmitted` follows otherwise. An admitted key stays admitted until it leaves. */
  admit(key: string): boolean {
    if (this.#admitted.has(key)) return true;
    if (this.#counted.size >= this.#most) {
      this.#waiting.add(key);
      return false;
    }
    this.#begin(key);
    return true;
  }

  /** Frees the place of a key that has its job or verdict, or has no work any more. */
  leave(key: string): void {
    this.#waiting.delete(key);
    this.#admitted.get(key)?.[Symbol.dispose]();
    this.#admitted.delete(key);
    this.#makeRoom(key);
  }

  /** Returns the time at which one more key may be cleaned, milliseconds since the epoch. */
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

  /** Raises or lowers the bound by one as the leaving key was fast or slow. A key whose patience ended is slow. */
  #makeRoom(left: string): void {
    const begunAt = this.#counted.get(left);
    if (begunAt === undefined) return;
    this.#counted.delete(left);
    const isSoon = this.#deps.clock.now() - begunAt < SOON_MS;
    // Without waiting keys the bound is not tested, so it stays.
    if (this.#waiting.size > 0) this.#most = Math.max(this.#most + (isSoon ? 1 : -1), this.#least);
    for (const key of [...this.#waiting].slice(0, Math.max(this.#most - this.#counted.size, 0))) {
      this.#begin(key);
      this.#deps.onAdmitted(key);
    }
  }
}
