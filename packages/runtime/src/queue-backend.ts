import type { Clock } from '@flotilla/pace';
import type { Logger } from './logger.ts';

/** Port from a work queue to its backend. */
export interface BackendOptions {
  /** Processes that use the same name share the keys of a shared store. */
  readonly name: string;
  /** Runs at the same time in this process. */
  readonly concurrency: number;
  /** Runs a key, as the store has it: whoever else writes there decides what it is. Never rejects. */
  readonly run: (key: unknown) => Promise<void>;
  /** A key that was added here ran in another process. */
  readonly onRunElsewhere: (key: string) => void;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Where keys wait for their run, in order; each at most once, and never while it runs. */
export interface QueueBackend {
  /** Other processes may run keys too: who adds a key here does not know when its run begins. */
  readonly isShared: boolean;
  /** Adds a key; free while it waits, once more after the run it has. What the store loses is added again. */
  add(key: string): void;
  /** Its run began in this process. */
  begun(key: string): void;
  /** Begins no more runs; waits for those under way, at most `graceMs` if given. */
  close(graceMs: number | undefined): Promise<void>;
}

/** Opens the backend of one queue. */
export type OpenBackend = (options: BackendOptions) => QueueBackend;

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
