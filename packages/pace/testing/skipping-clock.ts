import { type Clock, systemClock } from '@flotilla/pace';

interface Timer {
  readonly at: number;
  readonly fn: () => void;
  armed: Disposable;
}

/** Clock of the machine that can be put ahead, for tests on real servers, whose time does not stand still. */
export class SkippingClock implements Clock {
  readonly #timers = new Set<Timer>();
  #aheadMs = 0;

  now(): number {
    return systemClock.now() + this.#aheadMs;
  }

  setTimer(ms: number, fn: () => void): Disposable {
    const timer: Timer = { at: this.now() + Math.max(0, ms), fn, armed: systemClock.setTimer(ms, () => this.#fire(timer)) };
    this.#timers.add(timer);
    return { [Symbol.dispose]: () => this.#drop(timer) };
  }

  /** Puts the clock ahead; due timers fire now, in order. */
  skip(ms: number): void {
    this.#aheadMs += ms;
    const now = this.now();
    for (const timer of [...this.#timers].toSorted((a, b) => a.at - b.at)) {
      if (!this.#timers.has(timer)) continue;
      if (timer.at <= now) {
        this.#fire(timer);
        continue;
      }
      timer.armed[Symbol.dispose]();
      timer.armed = systemClock.setTimer(timer.at - now, () => this.#fire(timer));
    }
  }

  #fire(timer: Timer): void {
    this.#drop(timer);
    timer.fn();
  }

  #drop(timer: Timer): void {
    this.#timers.delete(timer);
    timer.armed[Symbol.dispose]();
  }
}
