/** Runs `work` over all items, at most `width` at once, starting the next as soon as one ends. Results in order; the first failure is thrown after all ended. */
export async function mapConcurrently<T, R>(items: readonly T[], width: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const failures: unknown[] = [];
  const entries = items.entries();
  const worker = async () => {
    for (const [index, item] of entries) {
      try {
        results[index] = await work(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(width, items.length)) }, worker));
  if (failures.length > 0) throw failures[0];
  return results;
}

/** At most `width` tasks at once, first come first served. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(width: number) {
    this.#free = Math.max(1, width);
  }

  /** Runs the task when there is room. */
  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}
