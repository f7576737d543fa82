/** Spreads the writes about upgrades that have ended, of which a new leader may have thousands to bring up to date. Pure, but for its memory. */

/** At most five writes a second. */
const INTERVAL_MS = 200;
/** The first turn comes once the upgrades that are there have been looked at, so that the newest is known. */
const START_MS = 1000;

/** One look at an upgrade that has ended. */
interface Look {
  /** RFC 3339. */
  readonly endedAt: string;
  /** Other work goes first. */
  readonly isBusy: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Gives turns to upgrades that have ended, to the newest first. */
export class EndedTurns {
  /** Keys that wait, and when they ended. */
  readonly #waiting = new Map<string, string>();
  #freeAt: number;

  /** @param now milliseconds since the epoch */
  constructor(now: number) {
    this.#freeAt = now + START_MS;
  }

  /** Milliseconds until the next look at the upgrade; 0 is its turn, and takes it. */
  wait(key: string, { endedAt, isBusy, now }: Look): number {
    this.#waiting.set(key, endedAt);
    // A turn further away predates a step back of the clock.
    const freeMs = Math.min(Math.max(this.#freeAt - now, 0), START_MS);
    const ahead = this.#countAhead(key, endedAt);
    if (freeMs > 0 || ahead > 0 || isBusy) return Math.max(freeMs + ahead * INTERVAL_MS, 1) + (isBusy ? INTERVAL_MS : 0);
    this.#waiting.delete(key);
    this.#freeAt = now + INTERVAL_MS;
    return 0;
  }

  /** An upgrade waits no more. */
  forget(key: string): void {
    this.#waiting.delete(key);
  }

  #countAhead(key: string, endedAt: string): number {
    let count = 0;
    for (const [other, end] of this.#waiting) if (end > endedAt || (end === endedAt && other < key)) count += 1;
    return count;
  }
}
