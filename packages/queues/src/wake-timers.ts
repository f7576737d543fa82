import type { Clock } from '@flotilla/pace';

/** One exact timer per slot, in process memory: whoever owns the truth sets them again after a restart. */
export class WakeTimers {
  readonly #clock: Clock;
  readonly #timers = new Map<string, { readonly at: number; readonly handle: Disposable }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Number of timers waiting. */
  get size(): number {
    return this.#timers.size;
  }

  /** Calls `fire` once at `atMs` (epoch), never before it. A slot keeps its earliest time: a later one is ignored. */
  set(slot: string, atMs: number, fire: () => void): void {
    const current = this.#timers.get(slot);
    if (current && current.at <= atMs) return;
    current?.handle[Symbol.dispose]();
    this.#arm(slot, atMs, fire);
  }

  /** Forgets a slot. */
  clear(slot: string): void {
    this.#timers.get(slot)?.handle[Symbol.dispose]();
    this.#timers.delete(slot);
  }

  /** Forgets every slot. */
  clearAll(): void {
    for (const slot of [...this.#timers.keys()]) this.clear(slot);
  }

  #arm(slot: string, at: number, fire: () => void): void {
    // A timer measures a span, and may end before the clock on the wall shows the time.
    const look = () => {
      if (this.#clock.now() < at) return this.#arm(slot, at, fire);
      this.#timers.delete(slot);
      fire();
    };
    this.#timers.set(slot, { at, handle: this.#clock.setTimer(Math.max(at - this.#clock.now(), 0), look) });
  }
}
