/** Longest delay setTimeout takes; longer waits are made of several. */
const MAX_DELAY = 2 ** 31 - 1;

/** One exact timer per slot, in process memory: whoever owns the truth sets them again after a restart. */
export class WakeTimers {
  readonly #timers = new Map<string, { at: number; handle: NodeJS.Timeout }>();

  /** Number of timers waiting. */
  get size(): number {
    return this.#timers.size;
  }

  /** Calls `fire` once at `atMs` (epoch), never before it. A slot keeps its earliest time: a later one is ignored. */
  set(slot: string, atMs: number, fire: () => void): void {
    const current = this.#timers.get(slot);
    if (current && current.at <= atMs) return;
    clearTimeout(current?.handle);
    const arm = (): NodeJS.Timeout => {
      const delay = Math.min(Math.max(atMs - Date.now(), 0), MAX_DELAY);
      // setTimeout may fire a millisecond early by the wall clock, so the time is looked at again.
      return setTimeout(() => (Date.now() < atMs ? this.#rearm(slot, atMs, arm()) : this.#fire(slot, fire)), delay);
    };
    this.#timers.set(slot, { at: atMs, handle: arm() });
  }

  /** Forgets a slot. */
  clear(slot: string): void {
    clearTimeout(this.#timers.get(slot)?.handle);
    this.#timers.delete(slot);
  }

  /** Forgets every slot. */
  clearAll(): void {
    for (const slot of [...this.#timers.keys()]) this.clear(slot);
  }

  #rearm(slot: string, at: number, handle: NodeJS.Timeout): void {
    this.#timers.set(slot, { at, handle });
  }

  #fire(slot: string, fire: () => void): void {
    this.#timers.delete(slot);
    fire();
  }
}
