import type { Clock } from '@flotilla/pace';

/** One exact timer per key, in process memory: whoever owns the truth sets them again after a restart. */
export class KeyTimers {
  readonly #clock: Clock;
  readonly #fire: (key: string, priority: number) => void;
  readonly #timers = new Map<string, { readonly at: number; priority: number; readonly handle: Disposable }>();

  /** @param fire called once per timer, never early, with the lowest priority that was asked for */
  constructor(clock: Clock, fire: (key: string, priority: number) => void) {
    this.#clock = clock;
    this.#fire = fire;
  }

  /** Number of timers waiting. */
  get size(): number {
    return this.#timers.size;
  }

  /**
   * Fires at `at` (milliseconds since the epoch). A key keeps its earliest time: a later one only lowers the priority.
   * @param isSpan what counts is the time from now until then: a clock that steps back delays it by nothing
   */
  set(key: string, at: number, priority: number, isSpan = false): void {
    const current = this.#timers.get(key);
    const best = Math.min(priority, current?.priority ?? priority);
    if (current && current.at <= at) {
      current.priority = best;
      return;
    }
    current?.handle[Symbol.dispose]();
    this.#arm(key, at, best, isSpan);
  }

  /** Forgets the timer of a key. */
  clear(key: string): void {
    this.#timers.get(key)?.handle[Symbol.dispose]();
    this.#timers.delete(key);
  }

  /** Forgets every timer. */
  clearAll(): void {
    for (const key of [...this.#timers.keys()]) this.clear(key);
  }

  #arm(key: string, at: number, priority: number, isSpan = false): void {
    const handle = this.#clock.setTimer(Math.max(at - this.#clock.now(), 0), () => {
      const best = this.#timers.get(key)?.priority ?? priority;
      // A timer measures a span, and may end before the clock on the wall shows the time.
      if (!isSpan && this.#clock.now() < at) return this.#arm(key, at, best);
      this.#timers.delete(key);
      this.#fire(key, best);
    });
    this.#timers.set(key, { at, priority, handle });
  }
}
