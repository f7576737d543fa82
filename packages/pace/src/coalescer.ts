/**
 * Sends what is submitted together: all of one turn of the event loop, and all that comes while the sending before is on its way.
 * One sending at a time, in order.
 */
export class Coalescer<T, R = void> {
  readonly #send: (items: readonly T[]) => Promise<R>;
  #items: T[] = [];
  /** The sending that waits for its turn, and the one on its way. */
  #next: Promise<R> | undefined;
  #current: Promise<unknown> = Promise.resolve();

  constructor(send: (items: readonly T[]) => Promise<R>) {
    this.#send = send;
  }

  /** Settles as the sending does that the item travels with. */
  submit(item: T): Promise<R> {
    this.#items.push(item);
    this.#next ??= this.#current.then(endOfTurn, endOfTurn).then(() => this.#sendAll());
    return this.#next;
  }

  /** Resolves when nothing waits or is on its way. */
  async idle(): Promise<void> {
    while (this.#next) await Promise.allSettled([this.#next]);
    await Promise.allSettled([this.#current]);
  }

  #sendAll(): Promise<R> {
    const items = this.#items;
    this.#items = [];
    this.#next = undefined;
    const sending = this.#send(items);
    this.#current = sending;
    return sending;
  }
}

const endOfTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
