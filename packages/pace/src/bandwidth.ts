import { type Clock, pause } from './clock.ts';

/** Lateness of a timer that the next transfer may make up, in milliseconds; more would be a burst. */
const MADE_UP_MS = 10;

/** Spaces transfers so that a link carries at most so many bytes a second. Time without transfers gives no credit. */
export class BandwidthLimit {
  readonly #bytesPerMs: number;
  readonly #clock: Clock;
  /** Time at which the link is free again. */
  #freeAt = Number.NEGATIVE_INFINITY;
  /** Milliseconds of the last transfer, which bound the wait when the machine's time is set back. */
  #lastMs = 0;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(bytesPerSecond: number, clock: Clock) {
    this.#bytesPerMs = bytesPerSecond / 1_000;
    this.#clock = clock;
  }

  /**
   * Waits until these bytes may be transferred, first come first served.
   * @throws the signal's reason
   */
  take(bytes: number, signal?: AbortSignal): Promise<void> {
    const turn = this.#queue.then(() => this.#spend(bytes, signal));
    this.#queue = turn.catch(() => undefined);
    return turn;
  }

  async #spend(bytes: number, signal: AbortSignal | undefined): Promise<void> {
    const waitMs = Math.min(this.#freeAt - this.#clock.now(), this.#lastMs);
    if (waitMs > 0) await pause(this.#clock, waitMs, signal);
    signal?.throwIfAborted();
    const now = this.#clock.now();
    this.#lastMs = bytes / this.#bytesPerMs;
    const from = waitMs > 0 ? Math.min(now, Math.max(this.#freeAt, now - MADE_UP_MS)) : now;
    this.#freeAt = from + this.#lastMs;
  }
}
