import { RegistryError, RegistryErrorCode } from './errors.ts';

/** Header of one tar entry, with names as in the archive. */
export interface TarEntry {
  name: string;
  type: 'file' | 'directory' | 'symlink' | 'hardlink' | 'other';
  linkName: string;
  /** Bytes of content; 0 for all types but files. */
  size: number;
}

/** Receives an entry's content in pieces; undefined skips it. */
export type EntrySink = ((chunk: Buffer) => void) | undefined;

const BLOCK = 512;
/** Bytes of the longest pax or GNU long-name record. Path limits are far below. */
const MAX_EXTENSION_BYTES = 1024 * 1024;

const badTar = (problem: string) => new RegistryError(RegistryErrorCode.badLayer, `layer is not a sound tar archive: ${problem}`);

/**
 * Parses a pushed tar stream (ustar, pax, GNU long names), and buffers at most a header or a bounded extension record. tar-stream's own reader
 * buffers extension records of any announced size.
 */
export class TarScanner {
  readonly #onEntry: (entry: TarEntry) => EntrySink;
  readonly #header = Buffer.alloc(BLOCK);
  #filled = 0;
  #remaining = 0;
  #padding = 0;
  #sink: EntrySink;
  #onContentEnd: (() => void) | undefined;
  #zeroBlocks = 0;
  #extensions: { path?: string; linkpath?: string; size?: number } = {};

  constructor(onEntry: (entry: TarEntry) => EntrySink) {
    this.#onEntry = onEntry;
  }

  /**
   * Consumes the next bytes.
   * @throws RegistryError `FLOTILLA_REGISTRY_BAD_LAYER`
   */
  write(chunk: Buffer): void {
    for (let at = 0; at < chunk.length && this.#zeroBlocks < 2; ) {
      if (this.#remaining > 0) at += this.#takeContent(chunk, at);
      else if (this.#padding > 0) {
        const skipped = Math.min(this.#padding, chunk.length - at);
        this.#padding -= skipped;
        at += skipped;
      } else at += this.#takeHeader(chunk, at);
    }
  }

  /**
   * Ends the archive after the last byte.
   * @throws RegistryError when it stops inside an entry
   */
  end(): void {
    if (this.#remaining > 0 || (this.#filled > 0 && this.#zeroBlocks < 2)) throw badTar('it ends in the middle of an entry');
  }

  #takeContent(chunk: Buffer, at: number): number {
    const piece = chunk.subarray(at, at + this.#remaining);
    this.#sink?.(piece);
    this.#remaining -= piece.length;
    if (this.#remaining === 0) this.#onContentEnd?.();
    return piece.length;
  }

  #takeHeader(chunk: Buffer, at: number): number {
    const copied = chunk.copy(this.#header, this.#filled, at, at + BLOCK - this.#filled);
    this.#filled += copied;
    if (this.#filled < BLOCK) return copied;
    this.#filled = 0;
    if (this.#header.every((byte) => byte === 0)) this.#zeroBlocks++;
    else {
      this.#zeroBlocks = 0;
      this.#startEntry(this.#header);
    }
    return copied;
  }

  #startEntry(header: Buffer): void {
    verifyChecksum(header);
    const flag = String.fromCharCode(header[156] ?? 0);
    const size = readNumber(header.subarray(124, 136));
    if (flag === 'x' || flag === 'g' || flag === 'L' || flag === 'K') {
      this.#startExtension(flag, size);
      return;
    }
    const type = entryType(flag);
    const content = type === 'file' || type === 'other' ? (this.#extensions.size ?? size) : 0;
    const entry: TarEntry = {
      name: this.#extensions.path ?? headerName(header),
      type,
      linkName: this.#extensions.linkpath ?? readText(header.subarray(157, 257)),
      // Old GNU sparse files and devices may carry data that is not their content.
      size: type === 'file' ? content : 0,
    };
    this.#extensions = {};
    this.#begin(content, this.#onEntry(entry), undefined);
  }

  #startExtension(flag: string, size: number): void {
    if (size > MAX_EXTENSION_BYTES) throw badTar(`an extension record of ${size} bytes`);
    const pieces: Buffer[] = [];
    this.#begin(
      size,
      (piece) => pieces.push(Buffer.from(piece)),
      () => {
        const bytes = Buffer.concat(pieces);
        if (flag === 'L') this.#extensions.path = readText(bytes);
        else if (flag === 'K') this.#extensions.linkpath = readText(bytes);
        else if (flag === 'x') Object.assign(this.#extensions, parsePax(bytes));
      },
    );
  }

  #begin(size: number, sink: EntrySink, onContentEnd: (() => void) | undefined): void {
    this.#remaining = size;
    this.#padding = (BLOCK - (size % BLOCK)) % BLOCK;
    this.#sink = sink;
    this.#onContentEnd = onContentEnd;
  }
}

function entryType(flag: string): TarEntry['type'] {
  if (flag === '0' || flag === '\0' || flag === '7') return 'file';
  if (flag === '1') return 'hardlink';
  if (flag === '2') return 'symlink';
  if (flag === '5') return 'directory';
  return 'other';
}

function headerName(header: Buffer): string {
  const name = readText(header.subarray(0, 100));
  const isUstar = header.toString('latin1', 257, 262) === 'ustar' && header[262] === 0;
  const prefix = isUstar ? readText(header.subarray(345, 500)) : '';
  return prefix ? `${prefix}/${name}` : name;
}

function readText(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString('utf8', 0, end < 0 ? bytes.length : end);
}

/** Parses octal text, or GNU's base 256 when the top bit is set. */
function readNumber(field: Buffer): number {
  let value = 0;
  if ((field[0] ?? 0) & 0x80) {
    for (const [index, byte] of field.entries()) value = value * 256 + (index === 0 ? byte & 0x7f : byte);
  } else {
    const text = field.toString('latin1').replaceAll(/[\0 ]+/g, '');
    if (!/^[0-7]*$/.test(text)) throw badTar('a size that is not a number');
    value = text === '' ? 0 : Number.parseInt(text, 8);
  }
  if (!Number.isSafeInteger(value)) throw badTar('a size out of range');
  return value;
}

function verifyChecksum(header: Buffer): void {
  let sum = 8 * 0x20;
  for (const [index, byte] of header.entries()) if (index < 148 || index >= 156) sum += byte;
  if (sum !== readNumber(header.subarray(148, 156))) throw badTar('a header with a wrong checksum');
}

/** Parses pax records: `<length> <key>=<value>\n`, the length counting itself. */
function parsePax(bytes: Buffer): { path?: string; linkpath?: string; size?: number } {
  const found: { path?: string; linkpath?: string; size?: number } = {};
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const length = Number(bytes.toString('latin1', at, Math.max(at, space)));
    if (space < 0 || !Number.isInteger(length) || length <= space - at + 1 || at + length > bytes.length)
      throw badTar('a broken pax record');
    const record = bytes.toString('utf8', space + 1, at + length - 1);
    const equals = record.indexOf('=');
    const [key, value] = [record.slice(0, equals), record.slice(equals + 1)];
    if (key === 'path' || key === 'linkpath') found[key] = value;
    if (key === 'size') {
      if (!/^\d{1,15}$/.test(value)) throw badTar('a pax size that is not a number');
      found.size = Number(value);
    }
    at += length;
  }
  return found;
}
