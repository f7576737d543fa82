import { backOffMs } from '@flotilla/pace';
import { createLogger, type ReconcileContext } from '@flotilla/runtime';
import type { TimerHeap } from '../timer-heap.ts';

const BACK_OFF = { baseMs: 5, maxMs: 10_000, floor: 1 };

/** Surroundings of a reconcile: tests hear of it by events, and its end waits for timers. */
export const UNHEARD: ReconcileContext = {
  logger: createLogger({ name: 'simulated-agent', level: 'silent' }),
  signal: new AbortController().signal,
};

/** One worker over a set of names: each name once in the queue, one at a time, errors again with back-off. */
export class Lane {
  readonly #queue = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #work: (key: string) => Promise<void>;
  readonly #timers: TimerHeap;
  readonly #onError: (error: unknown) => void;
  #busy = false;
  #open = true;
  #stopped = false;

  constructor(work: (key: string) => Promise<void>, timers: TimerHeap, onError: (error: unknown) => void) {
    this.#work = work;
    this.#timers = timers;
    this.#onError = onError;
  }

  add(key: string): void {
    this.#queue.add(key);
    this.#pump();
  }

  /** Nothing new starts; what is asked meanwhile is kept. */
  pause(): void {
    this.#open = false;
  }

  resume(): void {
    this.#open = true;
    this.#pump();
  }

  stop(): void {
    this.#stopped = true;
    this.#queue.clear();
  }

  #pump(): void {
    if (this.#busy || !this.#open || this.#stopped) return;
    const next = this.#queue.values().next();
    if (next.done) return;
    this.#queue.delete(next.value);
    this.#busy = true;
    void this.#run(next.value);
  }

  async #run(key: string): Promise<void> {
    try {
      await this.#work(key);
      this.#failures.delete(key);
    } catch (error) {
      if (this.#stopped) return;
      const failures = this.#failures.get(key) ?? 0;
      this.#failures.set(key, failures + 1);
      this.#onError(error);
      this.#timers.after(backOffMs(BACK_OFF, failures + 1), () => this.add(key));
    } finally {
      this.#busy = false;
      this.#pump();
    }
  }
}
