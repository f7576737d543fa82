import type { Clock } from '@flotilla/pace';

/** Longest sleep, in milliseconds: a machine that was suspended wakes with a clock that stepped, which no timer notices. */
const LOOK_MS = 60_000;

/** One exact timer per key, in process memory: whoever owns the truth sets them again after a restart. */
export class KeyTimers {
  readonly #clock: Clock;
  readonly #fire: (key: string) => void;
  readonly #timers = new Map<string, { readonly at: number; readonly handle: Disposable }>();

  /** @param fire called once per timer, never early */
  constructor(clock: Clock, fire: (key: string) => void) {
    this.#clock = clock;
    this.#fire = fire;
  }

  /** Number of timers waiting. */
  get size(): number {
    return this.#timers.size;
  }

  /**
   * Fires at `at` (milliseconds since the epoch). A key keeps its earliest time.
   * A clock that steps past the time is noticed within a minute.
   * @param isSpan the time from now until then counts too: a clock that steps back delays it by nothing
   */
  set(key: string, at: number, isSpan = false): void {
    const current = this.#timers.get(key);
    if (current && current.at <= at) return;
    current?.handle[Symbol.dispose]();
    const spanMs = Math.max(at - this.#clock.now(), 0);
    this.#arm({ key, at, spanMs: isSpan ? spanMs : undefined });
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

  #arm({ key, at, spanMs }: Timer): void {
    const sleepMs = Math.min(spanMs ?? Math.max(at - this.#clock.now(), 0), LOOK_MS);
    const handle = this.#clock.setTimer(sleepMs, () => {
      const leftMs = spanMs === undefined ? undefined : spanMs - sleepMs;
      // A timer measures a span, and may end before the clock on the wall shows the time.
      if (this.#clock.now() < at && leftMs !== 0) return this.#arm({ key, at, spanMs: leftMs });
      this.#timers.delete(key);
      this.#fire(key);
    });
    this.#timers.set(key, { at, handle });
  }
}

interface Timer {
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Milliseconds that are left whatever the clock on the wall shows; absent: it decides alone. */
  readonly spanMs: number | undefined;
}

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
