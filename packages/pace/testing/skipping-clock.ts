import { type Clock, systemClock } from '@flotilla/pace';

interface Timer {
  readonly at: number;
  readonly fn: () => void;
  armed: Disposable;
}

/** Clock of the machine that can be put ahead, and be faster than it, for tests beside what does not stand still. */
export class SkippingClock implements Clock {
  readonly #timers = new Set<Timer>();
  readonly #speed: number;
  readonly #start = systemClock.now();
  #aheadMs = 0;

  /** @param speed seconds that pass in one second of the machine; default 1 */
  constructor(speed = 1) {
    this.#speed = speed;
  }

  now(): number {
    return this.#start + (systemClock.now() - this.#start) * this.#speed + this.#aheadMs;
  }

  setTimer(ms: number, fn: () => void): Disposable {
    const wait = Math.max(0, ms);
    const timer: Timer = { at: this.now() + wait, fn, armed: this.#arm(wait, () => this.#fire(timer)) };
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
      timer.armed = this.#arm(timer.at - now, () => this.#fire(timer));
    }
  }

  #arm(ms: number, fire: () => void): Disposable {
    return systemClock.setTimer(ms / this.#speed, fire);
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
