/** Options of `mapConcurrently`. */
interface ConcurrencyOptions {
  /** Start no further item after an error; default false: all are started. */
  readonly stopAtFailure?: boolean;
}

/**
 * Runs `work` over all items, at most `width` at once, starting the next as soon as one ends. Results are in order; the first failure is thrown after
 * all started work has ended.
 */
export async function mapConcurrently<T, R>(
  items: Iterable<T>,
  width: number,
  work: (item: T) => Promise<R>,
  { stopAtFailure = false }: ConcurrencyOptions = {},
): Promise<R[]> {
  const results: R[] = [];
  const failures: unknown[] = [];
  // All lanes share one iterator, so each takes the next item when it is free.
  const iterator = Iterator.from(items);
  let begun = 0;
  const lane = async (): Promise<void> => {
    for (let next = iterator.next(); !next.done; next = iterator.next()) {
      const index = begun++;
      try {
        results[index] = await work(next.value);
      } catch (error) {
        failures.push(error);
      }
      if (stopAtFailure && failures.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, width) }, lane));
  if (failures.length > 0) throw failures[0];
  return results;
}

/** Runs at most `width` tasks at once, first come first served. */
export class Semaphore {
  #width: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(width: number) {
    this.#width = Math.max(1, width);
  }

  /** At least one. What runs goes on. */
  set width(width: number) {
    this.#width = Math.max(1, width);
    this.#next();
  }

  /** Runs the task when there is room. */
  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#running < this.#width) this.#running++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      this.#running--;
      this.#next();
    }
  }

  /** Takes the place for the next task before that one runs. */
  #next(): void {
    while (this.#running < this.#width) {
      const begin = this.#waiting.shift();
      if (!begin) return;
      this.#running++;
      begin();
    }
  }
}
