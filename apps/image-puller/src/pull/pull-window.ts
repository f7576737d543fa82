import { Semaphore } from '@flotilla/pace';

/** Images that are pulled at once. One that a registry has wait lends its place, so that others go on; as many wait at most as are pulled. */
export class PullWindow {
  readonly #width: number;
  readonly #places: Semaphore;
  #waiting = 0;

  constructor(width: number) {
    this.#width = Math.max(1, width);
    this.#places = new Semaphore(this.#width);
  }

  /** Images that may be under way, with those that wait. */
  get most(): number {
    return 2 * this.#width;
  }

  run<T>(task: () => Promise<T>): Promise<T> {
    return this.#places.run(task);
  }

  /** Lends the place of a running task until the loan is disposed. */
  lend(): Disposable {
    this.#changeBy(1);
    return { [Symbol.dispose]: () => this.#changeBy(-1) };
  }

  #changeBy(change: number): void {
    this.#waiting += change;
    this.#places.width = Math.min(this.most, this.#width + this.#waiting);
  }
}
