import type { Clock } from '@flotilla/pace';

/** Calls a function once nothing has refreshed it for a time. Refreshing costs no timer. */
export class IdleTimer implements Disposable {
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #onIdle: () => void;
  #refreshedAt: number;
  #timer: Disposable;

  /** @param idleMs milliseconds of silence */
  constructor(clock: Clock, idleMs: number, onIdle: () => void) {
    this.#clock = clock;
    this.#idleMs = idleMs;
    this.#onIdle = onIdle;
    this.#refreshedAt = clock.now();
    this.#timer = this.#arm(idleMs);
  }

  /** Begins the time anew. */
  refresh(): void {
    this.#refreshedAt = this.#clock.now();
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }

  #arm(ms: number): Disposable {
    return this.#clock.setTimer(ms, () => {
      const leftMs = this.#refreshedAt + this.#idleMs - this.#clock.now();
      if (leftMs <= 0) this.#onIdle();
      // A clock that is put back makes it no longer.
      else this.#timer = this.#arm(Math.min(leftMs, this.#idleMs));
    });
  }
}
