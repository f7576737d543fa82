import type { Clock } from '@flotilla/runtime';

/** So often an object is mended at once; then ever later, because somebody else keeps changing it. */
const AT_ONCE = 3;
const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 60_000;
/** An object that nobody has touched for so long is mended at once again. */
const FORGOTTEN_AFTER_MS = 10 * 60_000;

/** Delays the mending of a drifted object: two writers that undo each other's work must not do it as fast as they can. */
export class MendPace {
  readonly #clock: Clock;
  readonly #mended = new Map<string, { readonly times: number; readonly lastMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  delayMs(key: string): number {
    const { times, lastMs } = this.#known(key);
    if (times < AT_ONCE) return 0;
    const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (times - AT_ONCE));
    return Math.max(0, lastMs + delay - this.#clock.now());
  }

  count(key: string): void {
    this.#mended.set(key, { times: this.#known(key).times + 1, lastMs: this.#clock.now() });
  }

  #known(key: string): { readonly times: number; readonly lastMs: number } {
    const known = this.#mended.get(key);
    if (known && this.#clock.now() - known.lastMs < FORGOTTEN_AFTER_MS) return known;
    this.#mended.delete(key);
    return { times: 0, lastMs: 0 };
  }
}
