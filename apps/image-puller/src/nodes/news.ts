import type { Clock } from '@flotilla/pace';

/** Milliseconds after which waiting ends without news: some answers change by time alone. */
const TICK_MS = 500;

/** Wakes whoever waits for a change. */
export class News {
  readonly #clock: Clock;
  readonly #wakers = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits for the next change, a moment, or the abort of the signal. */
  async next(signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => resolve();
    using _timer = this.#clock.setTimer(TICK_MS, wake);
    this.#wakers.add(wake);
    signal?.addEventListener('abort', wake);
    await promise;
    signal?.removeEventListener('abort', wake);
    this.#wakers.delete(wake);
  }

  tell(): void {
    for (const wake of this.#wakers) wake();
    this.#wakers.clear();
  }
}
