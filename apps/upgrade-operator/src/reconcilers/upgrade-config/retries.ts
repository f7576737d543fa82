/** The times of passes that no watch wakes. */
import { type BackOff, backOffMs } from '@flotilla/runtime';

/** Schedules retries of work that no watch wakes, and remembers its last message. Kept in the process alone: another begins afresh. */
export class Retries {
  readonly #backOff: BackOff;
  #current: { readonly what: string; failures: number; message?: string } | undefined;
  readonly #done = new Set<string>();

  /** @param maxMs longest time between two tries */
  constructor(maxMs: number) {
    this.#backOff = { baseMs: Math.min(1_000, maxMs), maxMs };
  }

  /** Milliseconds until the next try of what failed; more from failure to failure of the same. */
  after(what: string): number {
    if (this.#current?.what !== what) this.#current = { what, failures: 0 };
    this.#current.failures += 1;
    return backOffMs(this.#backOff, this.#current.failures);
  }

  /** Nothing fails any more. */
  reset(): void {
    this.#current = undefined;
  }

  /** True when the last try did not fail with this message. */
  isNews(what: string, message: string): boolean {
    if (this.#current?.what !== what) this.#current = { what, failures: 0 };
    const isNews = this.#current.message !== message;
    this.#current.message = message;
    return isNews;
  }

  /** It need not be done again by this process. */
  noteDone(what: string): void {
    this.#done.add(what);
  }

  isDone(what: string): boolean {
    return this.#done.has(what);
  }
}

/** Keeps the earliest time at which a pass asks to run again, because no watch may wake it. */
export class Timers {
  #earliestMs: number | undefined;

  /** In so many milliseconds; undefined asks for nothing. */
  requeueAfter(afterMs: number | undefined): void {
    if (afterMs === undefined) return;
    this.#earliestMs = Math.min(this.#earliestMs ?? Number.POSITIVE_INFINITY, Math.max(0, afterMs));
  }

  get result(): { readonly requeueAfterMs?: number } {
    return this.#earliestMs === undefined ? {} : { requeueAfterMs: this.#earliestMs };
  }
}
