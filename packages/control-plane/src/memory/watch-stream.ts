import type { AnswerStream } from '@flotilla/runtime';

const encoder = new TextEncoder();

/** The body of a watch: lines that are pushed into it, until it ends. */
export class WatchStream implements AnswerStream {
  readonly #lines: string[] = [];
  readonly #deliver: (wake: () => void) => void;
  readonly #onEnd: () => void;
  #ended = false;
  #wake: (() => void) | undefined;

  /** @param deliver wakes the reader @param onEnd called once, when nobody reads any more or no line comes */
  constructor(deliver: (wake: () => void) => void, onEnd: () => void) {
    this.#deliver = deliver;
    this.#onEnd = onEnd;
  }

  /** Adds a line. */
  push(line: string): void {
    if (this.#ended) return;
    this.#lines.push(line);
    this.#wakeReader();
  }

  /** No more lines come. Those that were pushed are read. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd();
    this.#wakeReader();
  }

  destroy(): void {
    this.#lines.length = 0;
    this.end();
  }

  /** It never fails. */
  on(): void {}

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, undefined> {
    for (;;) {
      const line = this.#lines.shift();
      if (line !== undefined) yield encoder.encode(line);
      else if (this.#ended) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }

  #wakeReader(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    if (wake) this.#deliver(wake);
  }
}
