/** How many spokes begin at the same time: what has begun gets its job, and its verdict, before others begin. */

import type { Clock } from '@flotilla/runtime';
import { keyId, type StepKey } from '../step-key.ts';

/**
 * Spokes on their way to a job at the same time, until the job is there, at first and at least. All at once they would only wait for each other,
 * and a verdict behind all of them: with 2,000 spokes and jobs of 20 s on a slow machine with two cores a verdict is stored within 9 s with 100,
 * 24 s with 200 and a minute with no bound, the last job starts after 143, 120 and 70 s (`npm run bench:precache`).
 */
const LEAST = 125;
/**
 * Milliseconds to its job within which a spoke shows that one more can be served, and beyond which that it is one too many: a verdict waits
 * behind the same spokes as a job. On a machine twice as fast the last of 500 jobs by works starts after 6.8 s rather than 9.8, of 2,000 after
 * 50 s rather than 57, and their verdicts are stored within 1.4 and 10 s.
 */
const SOON_MS = 6_000;
/**
 * A spoke that has no job after so long does not keep others back: its agent is slow or silent. Longer than a server that has much to do takes:
 * else more and more would begin just then.
 */
const PATIENCE_MS = 20_000;

/** What the count of those that begin needs. */
export interface BeginningsDeps {
  readonly clock: Pick<Clock, 'now' | 'setTimer'>;
  /** It is the turn of a spoke that was kept back. */
  readonly onTurn: (key: StepKey) => void;
  /** How many at first, and at least; default 125. */
  readonly least?: number;
}

/** The spokes that begin now, and those that wait for their turn, in the order in which they asked. In memory: after a restart they ask again. */
export class Beginnings {
  readonly #deps: BeginningsDeps;
  /** Those that have had their turn. */
  readonly #begun = new Map<string, Disposable>();
  /** Of these, those that keep others back, with when they began. */
  readonly #counted = new Map<string, number>();
  readonly #waiting = new Map<string, StepKey>();
  readonly #least: number;
  /** How many may be on their way now. */
  #most: number;

  constructor(deps: BeginningsDeps) {
    this.#deps = deps;
    this.#least = deps.least ?? LEAST;
    this.#most = this.#least;
  }

  /** Whether the spoke may begin now; if not, `onTurn` tells when. One that may keeps its turn until it leaves. */
  mayBegin(key: StepKey): boolean {
    const id = keyId(key);
    if (this.#begun.has(id)) return true;
    if (this.#counted.size >= this.#most) {
      this.#waiting.set(id, key);
      return false;
    }
    this.#begin(id);
    return true;
  }

  /** The spoke has its job, its verdict, or nothing to do any more. */
  leave(key: StepKey): void {
    const id = keyId(key);
    this.#waiting.delete(id);
    this.#begun.get(id)?.[Symbol.dispose]();
    this.#begun.delete(id);
    this.#makeRoom(id);
  }

  stop(): void {
    for (const timer of this.#begun.values()) timer[Symbol.dispose]();
    this.#begun.clear();
    this.#counted.clear();
    this.#waiting.clear();
  }

  #begin(id: string): void {
    this.#waiting.delete(id);
    this.#counted.set(id, this.#deps.clock.now());
    const timer = this.#deps.clock.setTimer(PATIENCE_MS, () => this.#makeRoom(id));
    this.#begun.set(id, timer);
  }

  /** For one more, or one less, as that one got its job soon or late; whoever has none when patience ends is late. */
  #makeRoom(left: string): void {
    const begunAt = this.#counted.get(left);
    if (begunAt === undefined) return;
    this.#counted.delete(left);
    const isSoon = this.#deps.clock.now() - begunAt < SOON_MS;
    // Where nobody waits nothing is learnt of what more would do.
    if (this.#waiting.size > 0) this.#most = Math.max(this.#most + (isSoon ? 1 : -1), this.#least);
    for (const [id, key] of [...this.#waiting].slice(0, Math.max(this.#most - this.#counted.size, 0))) {
      this.#begin(id);
      this.#deps.onTurn(key);
    }
  }
}
