import { type Clock, pause } from './clock.ts';

/** Lateness of a timer that the next transfer may make up, in milliseconds; more would be a burst. */
const MADE_UP_MS = 10;

/** Share of a second that one transfer takes: a second gets at most one too many, three percent. */
const TRANSFERS_PER_SECOND = 32;
/** Smaller ones would be headers for the most part. Below 512 KiB a second the rate holds in longer intervals. */
const LEAST_TRANSFER = 16 * 1024;
const MOST_TRANSFER = 4 * 1024 * 1024;

/** Spaces transfers so that a link carries at most so many bytes a second. Time without transfers gives no credit. */
export class BandwidthLimit {
  readonly #clock: Clock;
  #bytesPerSecond: number | undefined;
  #changed = new AbortController();
  /** Time at which the link is free again. */
  #freeAt = Number.NEGATIVE_INFINITY;
  /** Milliseconds of the last transfer, which bound the wait when the machine's time is set back. */
  #lastMs = 0;
  #queue: Promise<unknown> = Promise.resolve();

  /** @param bytesPerSecond undefined: no bound, until there is one */
  constructor(bytesPerSecond: number | undefined, clock: Clock) {
    this.#bytesPerSecond = bytesPerSecond;
    this.#clock = clock;
  }

  get bytesPerSecond(): number | undefined {
    return this.#bytesPerSecond;
  }

  /** From now on, also for whoever waits: by a higher rate the last transfer is over earlier. */
  set bytesPerSecond(value: number | undefined) {
    if (value === this.#bytesPerSecond) return;
    const left = Math.min(1, (this.#bytesPerSecond ?? 0) / (value ?? Number.POSITIVE_INFINITY));
    const now = this.#clock.now();
    this.#lastMs *= left;
    this.#freeAt = now + Math.max(0, this.#freeAt - now) * left;
    this.#bytesPerSecond = value;
    this.#changed.abort();
    this.#changed = new AbortController();
  }

  /**
   * Waits until bytes may be transferred, first come first served.
   * @returns how many: at most these, and what takes no more than a moment at the rate of then
   * @throws the signal's reason
   */
  take(bytes: number, signal?: AbortSignal): Promise<number> {
    const turn = this.#queue.then(() => this.#spend(bytes, signal));
    this.#queue = turn.catch(() => undefined);
    return turn;
  }

  async #spend(bytes: number, signal: AbortSignal | undefined): Promise<number> {
    let hasWaited = false;
    for (let isOld = true; isOld; ) {
      const waitMs = Math.min(this.#freeAt - this.#clock.now(), this.#lastMs);
      const changed = this.#changed.signal;
      if (waitMs > 0) await pause(this.#clock, waitMs, signal ? AbortSignal.any([changed, signal]) : changed);
      signal?.throwIfAborted();
      hasWaited ||= waitMs > 0;
      isOld = changed.aborted;
    }
    const now = this.#clock.now();
    const rate = this.#bytesPerSecond ?? Number.POSITIVE_INFINITY;
    const granted = Math.min(bytes, MOST_TRANSFER, Math.max(LEAST_TRANSFER, Math.floor(rate / TRANSFERS_PER_SECOND)));
    this.#lastMs = (granted / rate) * 1_000;
    const from = hasWaited ? Math.min(now, Math.max(this.#freeAt, now - MADE_UP_MS)) : now;
    this.#freeAt = from + this.#lastMs;
    return granted;
  }
}
