import type { Line, LineOptions, QueueStore } from './line.ts';
import { keyId, type StepKey } from './step-key.ts';

/** Lines in this process's memory: nothing to install, no worker processes. */
export function openInProcessStore(): QueueStore {
  const nothing = async () => {};
  return {
    kind: 'in-process',
    description: "this process's own memory",
    serverPid: () => undefined,
    flush: nothing,
    line: (options) => new InProcessLine(options),
    close: nothing,
    [Symbol.asyncDispose]: nothing,
  };
}

class InProcessLine implements Line {
  readonly isShared = false;
  readonly #options: LineOptions;
  /** Those that wait, in order, by priority. */
  readonly #waiting = new Map<number, Map<string, StepKey>>();
  readonly #turns = new Set<Promise<void>>();
  #priorities: readonly number[] = [];
  #pumping = false;
  #closed = false;

  constructor(options: LineOptions) {
    this.#options = options;
  }

  put(key: StepKey, priority: number): void {
    let waiting = this.#waiting.get(priority);
    if (!waiting) {
      waiting = new Map();
      this.#waiting.set(priority, waiting);
      this.#priorities = [...this.#waiting.keys()].toSorted((a, b) => a - b);
    }
    waiting.set(keyId(key), key);
    this.#pump();
  }

  promote(key: StepKey, priority: number): void {
    for (const waiting of this.#waiting.values()) waiting.delete(keyId(key));
    this.put(key, priority);
  }

  taken(): void {
    // It left the line with its turn.
  }

  async close(graceMs: number): Promise<void> {
    this.#closed = true;
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, graceMs);
    await Promise.race([Promise.all(this.#turns), late.promise]);
    clearTimeout(timer);
  }

  /** After the turn of the event loop, so that what is put together is ordered by priority. */
  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    setImmediate(() => {
      this.#pumping = false;
      while (!this.#closed && this.#turns.size < this.#options.concurrency) {
        const key = this.#next();
        if (!key) return;
        const turn = this.#options.take(key).finally(() => {
          this.#turns.delete(turn);
          this.#pump();
        });
        this.#turns.add(turn);
      }
    });
  }

  #next(): StepKey | undefined {
    for (const priority of this.#priorities) {
      const waiting = this.#waiting.get(priority);
      for (const [id, key] of waiting ?? []) {
        waiting?.delete(id);
        return key;
      }
    }
    return undefined;
  }
}
