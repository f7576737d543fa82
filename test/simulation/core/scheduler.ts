import { Heap } from '@flotilla/control-plane/simulators';
import type { Clock } from '@flotilla/pace';

/** Something that will happen. */
interface Event {
  readonly at: number;
  /** Decides between events of the same time. */
  readonly rank: number;
  readonly order: number;
  /** Undefined once it was called off. */
  fn: (() => void) | undefined;
}

/** The machine's own, whatever stands in its place while a simulation runs. */
const turnOfTheLoop = globalThis.setImmediate;

/** Order of everything that happens in a simulation: by time, and by lot where the time is the same. Time skips from one event to the next. */
export class Scheduler implements Clock {
  readonly #random: () => number;
  readonly #heap = new Heap(isBefore);
  #now: number;
  #orders = 0;
  /** Events that have happened. */
  happened = 0;

  /** @param random in [0, 1), seeded @param now milliseconds since the epoch */
  constructor(random: () => number, now: number) {
    this.#random = random;
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  setTimer(ms: number, fn: () => void): Disposable {
    const entry: Event = { at: this.#now + Math.max(0, ms), rank: this.#random(), order: this.#orders++, fn };
    this.#heap.push(entry);
    return {
      [Symbol.dispose]() {
        entry.fn = undefined;
      },
    };
  }

  /** Lets the next event happen, and all that follows from it at once. False when nothing is left. */
  async step(): Promise<boolean> {
    for (let entry = this.#heap.pop(); entry; entry = this.#heap.pop()) {
      const { fn } = entry;
      if (!fn) continue;
      this.#now = Math.max(this.#now, entry.at);
      this.happened += 1;
      fn();
      // Promises settle before the loop turns; nothing else waits for anything but the scheduler.
      await new Promise<void>((resolve) => turnOfTheLoop(resolve));
      return true;
    }
    return false;
  }
}

const isBefore = (a: Event, b: Event): boolean =>
  a.at < b.at || (a.at === b.at && (a.rank < b.rank || (a.rank === b.rank && a.order < b.order)));
