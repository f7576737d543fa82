/** A share of the runs for steps that more urgent ones keep overtaking. */
export interface Reserve {
  /** Wake priorities from this one on take part. */
  readonly from: number;
  /** One of so many runs is the oldest of them, however urgent the others are. */
  readonly every: number;
}

/** Says which step gets the reserved run: of those that take part, the one that waits longest. */
export class LateLane {
  readonly #reserve: Reserve | undefined;
  /** In the order they began to wait. */
  readonly #keys = new Set<string>();
  #started = 0;

  constructor(reserve: Reserve | undefined) {
    this.#reserve = reserve;
  }

  /** A step waits with this wake priority, for the first time or with a new one. */
  waits(key: string, priority: number): void {
    if (this.#reserve && priority >= this.#reserve.from) this.#keys.add(key);
    else this.#keys.delete(key);
  }

  /** A step waits no more. */
  leaves(key: string): void {
    this.#keys.delete(key);
  }

  /** Counts a run that started while `waiting` steps wait in all; returns the step whose turn it is, which then has left. */
  next(waiting: number): string | undefined {
    if (!this.#reserve || ++this.#started % this.#reserve.every !== 0) return undefined;
    // Nothing overtakes when all that wait take part.
    if (this.#keys.size === waiting) return undefined;
    const [oldest] = this.#keys;
    if (oldest !== undefined) this.#keys.delete(oldest);
    return oldest;
  }
}
