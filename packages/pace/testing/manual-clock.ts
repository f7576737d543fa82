import type { Clock } from '@flotilla/pace';

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly fn: () => void;
}

/** Clock that stands still until it is advanced. */
export class ManualClock implements Clock {
  #now: number;
  #timers: Timer[] = [];
  #order = 0;

  constructor(now = Date.parse('2026-01-01T00:00:00Z')) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  setTimer(ms: number, fn: () => void): Disposable {
    const timer = { at: this.#now + Math.max(0, ms), order: this.#order++, fn };
    this.#timers.push(timer);
    return {
      [Symbol.dispose]: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }

  /** Timers that have not fired. */
  get pending(): number {
    return this.#timers.length;
  }

  /** Time of the next timer, in milliseconds since the epoch. */
  get nextAt(): number | undefined {
    return this.#next()?.at;
  }

  /** Advances by `ms` and fires due timers in order, each at its own time; pending promises run after each. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await runPending();
    for (let next = this.#next(); next && next.at <= end; next = this.#next()) {
      const due = next;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.#now = Math.max(this.#now, due.at);
      due.fn();
      await runPending();
    }
    this.#now = end;
    await runPending();
  }

  #next(): Timer | undefined {
    return this.#timers.toSorted((a, b) => a.at - b.at || a.order - b.order)[0];
  }
}

/** Lets pending promise callbacks and immediates run. */
const runPending = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
