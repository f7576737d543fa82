import type { BackendOptions, QueueBackend } from './queue-backend.ts';

/** Keys wait in this process's memory. */
export class MemoryBackend implements QueueBackend {
  readonly isShared = false;
  readonly #options: BackendOptions;
  /** Those that wait, in order. */
  readonly #waiting = new Set<string>();
  readonly #runs = new Set<Promise<void>>();
  #isPumping = false;
  #isClosed = false;

  constructor(options: BackendOptions) {
    this.#options = options;
  }

  add(key: string): void {
    this.#waiting.add(key);
    this.#pump();
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

  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    queueMicrotask(() => {
      this.#isPumping = false;
      for (const key of this.#waiting) {
        if (this.#isClosed || this.#runs.size >= this.#options.concurrency) return;
        this.#waiting.delete(key);
        const run = this.#options.run(key).finally(() => {
          this.#runs.delete(run);
          this.#pump();
        });
        this.#runs.add(run);
      }
    });
  }
}
