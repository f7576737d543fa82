/** Bytes of `\r\n`. */
const LINE_END = 2;
const [CR, LF, ARRAY, BULK] = [0x0d, 0x0a, 0x2a, 0x24];
/** Longest line that is no text: a type and a number. */
const HEADER_BYTES = 32;

/**
 * Follows the replies of a Redis connection (RESP2) and says when one is larger than a bound, as soon as its length is announced. Several
 * replies in one chunk, and one reply in many chunks, count as they are. Pure but for what it remembers.
 */
export class ReplyBound {
  readonly #maxBytes: number;
  /** Elements that are still to come, for each array that is open. */
  readonly #open: number[] = [];
  #header = '';
  #lineBytes = 0;
  /** Bytes of a bulk text that are still to come, its end included. */
  #skip = 0;
  #total = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Takes what came; false once a reply is beyond the bound. */
  take(chunk: Uint8Array): boolean {
    for (let at = 0; at < chunk.length; ) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, chunk.length - at);
        at += skipped;
        this.#skip -= skipped;
        if (this.#skip === 0) this.#endElement();
        continue;
      }
      const end = chunk.indexOf(LF, at);
      const part = chunk.subarray(at, end === -1 ? chunk.length : end);
      at += part.length + (end === -1 ? 0 : 1);
      this.#takeLine(part);
      if (end !== -1) this.#endLine();
      if (this.#total + this.#lineBytes > this.#maxBytes) return false;
    }
    return true;
  }

  #takeLine(part: Uint8Array): void {
    this.#lineBytes += part.length;
    if (this.#header.length < HEADER_BYTES) this.#header += Buffer.from(part.subarray(0, HEADER_BYTES)).toString('latin1');
  }

  #endLine(): void {
    const type = this.#header.charCodeAt(0);
    const length = type === ARRAY || type === BULK ? Number.parseInt(this.#header.slice(1), 10) : 0;
    this.#total += this.#lineBytes;
    this.#header = '';
    this.#lineBytes = 0;
    if (type === BULK && length >= 0) {
      this.#total += length;
      this.#skip = length + LINE_END;
    } else if (type === ARRAY && length > 0) {
      // An announcement costs the reader a place for each element.
      this.#total += length;
      this.#open.push(length);
    } else if (type !== CR) this.#endElement();
  }

  #endElement(): void {
    while (this.#open.length > 0) {
      const left = (this.#open.pop() ?? 0) - 1;
      if (left > 0) {
        this.#open.push(left);
        return;
      }
    }
    this.#total = 0;
  }
}
