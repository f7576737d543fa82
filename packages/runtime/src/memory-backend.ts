import type { BackendOptions, QueueBackend } from './queue-backend.ts';

/** Keys wait in this process's memory. */
export class MemoryBackend implements QueueBackend {
  readonly isShared = false;
  readonly #options: BackendOptions;
  /** Those that wait, in order, by priority. */
  readonly #waiting = new Map<number, Set<string>>();
  readonly #runs = new Set<Promise<void>>();
  #priorities: readonly number[] = [];
  #isPumping = false;
  #isClosed = false;

  constructor(options: BackendOptions) {
    this.#options = options;
  }

  add(key: string, priority: number): void {
    let waiting = this.#waiting.get(priority);
    if (!waiting) {
      waiting = new Set();
      this.#waiting.set(priority, waiting);
      this.#priorities = [...this.#waiting.keys()].toSorted((a, b) => a - b);
    }
    waiting.add(key);
    this.#pump();
  }

  promote(key: string, priority: number): void {
    for (const waiting of this.#waiting.values()) waiting.delete(key);
    this.add(key, priority);
  }

  begun(): void {
    // It left the queue when its run began.
  }

  async close(graceMs: number | undefined): Promise<void> {
    this.#isClosed = true;
    const late = Promise.withResolvers<void>();
    const timer = graceMs === undefined ? undefined : this.#options.clock.setTimer(graceMs, late.resolve);
    await Promise.race([Promise.all(this.#runs), late.promise]);
    timer?.[Symbol.dispose]();
  }

  /** At once for keys of one priority; for several after the turn of the event loop, so that what is added together is ordered. */
  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    const soon = this.#priorities.length > 1 ? setImmediate : queueMicrotask;
    soon(() => {
      this.#isPumping = false;
      while (!this.#isClosed && this.#runs.size < this.#options.concurrency) {
        const key = this.#next();
        if (key === undefined) return;
        const run = this.#options.run(key).finally(() => {
          this.#runs.delete(run);
          this.#pump();
        });
        this.#runs.add(run);
      }
    });
  }

  #next(): string | undefined {
    for (const priority of this.#priorities) {
      const waiting = this.#waiting.get(priority);
      for (const key of waiting ?? []) {
        waiting?.delete(key);
        return key;
      }
    }
    return undefined;
  }
}
