/** Keeps the earliest time at which a pass asks to run again, because no watch may wake it. */
export class Timers {
  #earliestMs: number | undefined;

  /** In so many milliseconds; undefined asks for nothing. */
  lookAgain(afterMs: number | undefined): void {
    if (afterMs === undefined) return;
    this.#earliestMs = Math.min(this.#earliestMs ?? Number.POSITIVE_INFINITY, Math.max(0, afterMs));
  }

  get result(): { readonly requeueAfterMs?: number } {
    return this.#earliestMs === undefined ? {} : { requeueAfterMs: this.#earliestMs };
  }
}
