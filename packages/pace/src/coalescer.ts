/** Sends submitted items together: all items of one turn of the event loop, or all during the previous send. One send at a time, in order. */
export class Coalescer<T, R = void> {
  readonly #send: (items: readonly T[]) => Promise<R>;
  #items: T[] = [];
  /** The send that waits, and the one under way. */
  #next: Promise<R> | undefined;
  #current: Promise<unknown> = Promise.resolve();

  constructor(send: (items: readonly T[]) => Promise<R>) {
    this.#send = send;
  }

  /** Resolves or rejects with the send of this item. */
  submit(item: T): Promise<R> {
    this.#items.push(item);
    this.#next ??= this.#current.then(endOfTurn, endOfTurn).then(() => this.#sendAll());
    return this.#next;
  }

  /** Resolves when nothing waits or is under way. */
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
