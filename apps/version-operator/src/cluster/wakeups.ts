import { type Clock, pause } from '@flotilla/runtime';

/** Result of `listen`; disposing ends it. */
interface Listening extends Disposable {
  readonly isWoken: boolean;
  after(ms: number, signal: AbortSignal): Promise<void>;
}

const WOKEN = 'woken';

/** Lets whoever waits for something hear that it changed. */
export class Wakeups {
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Something changed: what waits for it goes on. */
  wake(key: string): void {
    for (const end of this.#waiting.get(key) ?? []) end();
  }

  /**
   * Begins to listen for some keys. `after` resolves when one of them was woken since, when the time is over, or when the signal aborts: what
   * happens between listening and waiting is not missed.
   */
  listen(keys: readonly string[]): Listening {
    const clock = this.#clock;
    let isWoken = false;
    let waiting: AbortController | undefined;
    const end = (): void => {
      isWoken = true;
      // with a reason of its own: the default one captures the stack
      waiting?.abort(WOKEN);
    };
    for (const key of keys) {
      const ends = this.#waiting.get(key) ?? new Set();
      this.#waiting.set(key, ends.add(end));
    }
    const forget = (): void => {
      for (const key of keys) {
        const ends = this.#waiting.get(key);
        ends?.delete(end);
        if (ends?.size === 0) this.#waiting.delete(key);
      }
    };
    return {
      get isWoken() {
        return isWoken;
      },
      async after(ms, signal) {
        if (isWoken) return;
        waiting = new AbortController();
        await pause(clock, ms, AbortSignal.any([waiting.signal, signal]));
      },
      [Symbol.dispose]: forget,
    };
  }
}
