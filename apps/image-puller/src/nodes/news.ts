import type { Clock } from '@flotilla/pace';

/** Milliseconds after which waiting ends without news: some answers change by time alone. */
const TICK_MS = 500;

/** Wakes whoever waits for a change: thousands wait at once, so each is woken by what concerns it. */
export class News {
  readonly #clock: Clock;
  readonly #all = new Set<() => void>();
  readonly #byTopic = new Map<string, Set<() => void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits for the next change of one of these topics or of everything, a moment, or the abort of the signal. */
  async next({ about = [], signal }: { readonly about?: readonly string[]; readonly signal?: AbortSignal } = {}): Promise<void> {
    if (signal?.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => resolve();
    using _timer = this.#clock.setTimer(TICK_MS, wake);
    this.#add(wake, about);
    signal?.addEventListener('abort', wake);
    await promise;
    signal?.removeEventListener('abort', wake);
    this.#remove(wake, about);
  }

  /** Tells of a change; default: of everything. */
  tell(topics?: readonly string[]): void {
    const wakers = topics ? topics.flatMap((topic) => [...(this.#byTopic.get(topic) ?? [])]) : this.#all;
    for (const wake of wakers) wake();
  }

  #add(wake: () => void, about: readonly string[]): void {
    this.#all.add(wake);
    for (const topic of about) {
      const wakers = this.#byTopic.get(topic) ?? new Set();
      this.#byTopic.set(topic, wakers.add(wake));
    }
  }

  #remove(wake: () => void, about: readonly string[]): void {
    this.#all.delete(wake);
    for (const topic of about) {
      const wakers = this.#byTopic.get(topic);
      wakers?.delete(wake);
      if (wakers?.size === 0) this.#byTopic.delete(topic);
    }
  }
}
