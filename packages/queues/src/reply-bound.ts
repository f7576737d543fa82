/** Bytes of `\r\n`. */
const LINE_END = 2;
const [CR, LF, ARRAY, BULK] = [0x0d, 0x0a, 0x2a, 0x24];
/** Longest line without text: a type and a number. */
const HEADER_BYTES = 32;

/**
 * Follows the replies of a Redis connection (RESP2) and reports one that exceeds a bound as soon as its length is announced. Chunks and replies need
 * not coincide.
 */
export class ReplyBound {
  readonly #maxBytes: number;
  /** Missing elements of each open array. */
  readonly #open: number[] = [];
  #header = '';
  #lineBytes = 0;
  /** Missing bytes of a bulk text, with its end. */
  #skip = 0;
  #total = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Consumes a chunk; false once a reply exceeds the bound. */
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
      // An announced array costs the reader memory for each element.
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
