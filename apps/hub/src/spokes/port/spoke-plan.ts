import type { Write } from '../../writes/apply.ts';

/** The writes that a spoke is missing, in their order, and when there may be others. */
export class SpokePlan {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly writes: Write[] = [];
  /** The earliest moment at which another plan may differ although nothing happens, milliseconds since the epoch. */
  wakeAt: number | undefined;

  constructor(now: number) {
    this.now = now;
  }

  add(...writes: readonly Write[]): void {
    this.writes.push(...writes);
  }

  /** Asks for another plan then; the earliest of several counts. @param at milliseconds since the epoch */
  wake(at: number): void {
    this.wakeAt = Math.min(this.wakeAt ?? at, at);
  }
}
