import type { Write } from '../../../writes/apply.ts';

/** Missing writes of a spoke, in order, and the time of its next plan. */
export class SpokePlan {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly writes: Write[] = [];
  /** Earliest time at which another plan may differ without any event, milliseconds since the epoch. */
  requeueAt: number | undefined;

  constructor(now: number) {
    this.now = now;
  }

  add(...writes: readonly Write[]): void {
    this.writes.push(...writes);
  }

  /**
   * Requests another plan; the earliest of several times counts.
   * @param at milliseconds since the epoch
   */
  requeue(at: number): void {
    this.requeueAt = Math.min(this.requeueAt ?? at, at);
  }
}
