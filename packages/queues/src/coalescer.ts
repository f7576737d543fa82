/**
 * Sends what is submitted together: all of one turn of the event loop, and all that comes while the sending before is on its way.
 * One sending at a time, in order.
 */
export class Coalescer<T> {
  readonly #send: (items: readonly T[]) => Promise<void>;
  #items: T[] = [];
  /** The sending that waits for its turn, and the one on its way. */
  #next: Promise<void> | undefined;
  #current: Promise<void> = Promise.resolve();

  constructor(send: (items: readonly T[]) => Promise<void>) {
    this.#send = send;
  }

  /** Settles as the sending does that the item travels with. */
  submit(item: T): Promise<void> {
    this.#items.push(item);
    this.#next ??= this.#current.then(endOfTurn, endOfTurn).then(() => this.#sendAll());
    return this.#next;
  }

  /** Resolves when nothing waits or is on its way. */
  async idle(): Promise<void> {
    while (this.#next) await Promise.allSettled([this.#next]);
    await Promise.allSettled([this.#current]);
  }

  #sendAll(): Promise<void> {
    const items = this.#items;
    this.#items = [];
    this.#next = undefined;
    this.#current = this.#send(items);
    return this.#current;
  }
}

const endOfTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
