import type { Clock } from '@flotilla/pace';
import type { Scheduler } from './scheduler.ts';

/** A process of a simulation: whatever it waits for passes its clock, and nothing of it happens once it was killed. */
export class SimulatedProcess implements Clock {
  readonly name: string;
  readonly #scheduler: Scheduler;
  #alive = true;
  /** Nothing of it happens before. */
  #asleepUntil = Number.NEGATIVE_INFINITY;
  /** Milliseconds by which its clock is wrong. */
  skewMs = 0;

  constructor(name: string, scheduler: Scheduler) {
    this.name = name;
    this.#scheduler = scheduler;
  }

  get isAlive(): boolean {
    return this.#alive;
  }

  now(): number {
    return this.#scheduler.now() + this.skewMs;
  }

  setTimer(ms: number, fn: () => void): Disposable {
    let timer: Disposable;
    const fire = (): void => {
      if (!this.#alive) return;
      const leftMs = this.#asleepUntil - this.#scheduler.now();
      if (leftMs > 0) timer = this.#scheduler.setTimer(leftMs, fire);
      else fn();
    };
    timer = this.#scheduler.setTimer(ms, fire);
    return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
  }

  /** Resolves after so many milliseconds; never once it was killed. */
  after(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.setTimer(ms, resolve);
    });
  }

  /** Ends it without a word, as SIGKILL does: what it asked for is done, and no answer comes. */
  kill(): void {
    this.#alive = false;
  }

  /** Stops it for a while, as a machine without CPU does. */
  sleep(ms: number): void {
    this.#asleepUntil = Math.max(this.#asleepUntil, this.#scheduler.now() + ms);
  }
}
