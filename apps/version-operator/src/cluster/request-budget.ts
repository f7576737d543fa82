/** How many requests are under way at once; the rest wait their turn. Watches do not count. */
export class RequestBudget {
  #limit: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** At least one. What is under way goes on. */
  set limit(limit: number) {
    this.#limit = Math.max(1, limit);
    this.#next();
  }

  async run<T>(request: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#limit) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running++;
    try {
      return await request();
    } finally {
      this.#running--;
      this.#next();
    }
  }

  /** The place is taken for whoever is let in, before that one runs. */
  #next(): void {
    while (this.#running < this.#limit) {
      const begin = this.#waiting.shift();
      if (!begin) return;
      this.#running++;
      begin();
    }
  }
}
