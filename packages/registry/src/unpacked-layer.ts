import { createGunzip, createZstdDecompress, type Gunzip, type ZstdDecompress } from 'node:zlib';
import { RegistryError, RegistryErrorCode } from './errors.ts';

type Unpacker = Gunzip | ZstdDecompress;

/**
 * Unpacks a layer's bytes: all members of a gzip, all frames of a zstd stream. The first bytes decide the format, because media types in registries
 * may lie. The source is read to its end.
 * @throws RegistryError `FLOTILLA_REGISTRY_BAD_LAYER` for data after the last member or frame; Node's errors for broken ones
 */
export async function* unpackLayer(source: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const first = await firstBytes(source);
  const whole = prepend(first, source);
  if (first[0] === 0x1f && first[1] === 0x8b) yield* unpackWith(createGunzip(), whole);
  else if (isZstd(first)) yield* unpackWith(createZstdDecompress(), framesOf(whole));
  else yield* whole;
}

/** Reads at least a magic number; less at the end of the source. */
async function firstBytes(source: AsyncGenerator<Buffer>): Promise<Buffer> {
  let bytes: Buffer = Buffer.alloc(0);
  while (bytes.length < 4) {
    const next = await source.next();
    if (next.done) break;
    bytes = bytes.length === 0 ? next.value : Buffer.concat([bytes, next.value]);
  }
  return bytes;
}

async function* prepend(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (first.length > 0) yield first;
  yield* rest;
}

async function* framesOf(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const frames = new ZstdFrames();
  for await (const chunk of source) yield* frames.split(chunk);
  frames.end();
}

async function* unpackWith(unpacker: Unpacker, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const feeding = feed(unpacker, source);
  feeding.catch((error: unknown) => unpacker.destroy(error instanceof Error ? error : new Error(String(error))));
  // Its errors arrive through the iteration, or below after its end.
  unpacker.on('error', () => undefined);
  try {
    yield* unpacker;
    await feeding;
  } finally {
    unpacker.destroy();
  }
}

/** Writes the source to the unpacker. An unpacker that consumes less than it received has found its end. */
async function feed(unpacker: Unpacker, source: AsyncIterable<Buffer>): Promise<void> {
  let stop = (): void => undefined;
  unpacker.once('close', () => stop());
  let fed = 0;
  let ended = false;
  for await (const chunk of source) {
    if (ended) refuseLeftOver(chunk);
    else if (unpacker.destroyed) return;
    else {
      const { promise, resolve } = Promise.withResolvers<void>();
      stop = resolve;
      unpacker.write(chunk, () => resolve());
      await promise;
      fed += chunk.length;
      ended = fed > unpacker.bytesWritten && !unpacker.errored;
      if (ended) refuseLeftOver(chunk.subarray(chunk.length - (fed - unpacker.bytesWritten)));
    }
  }
  unpacker.end();
}

/** Refuses other bytes than zeros, which are padding for gzip too. */
function refuseLeftOver(bytes: Buffer): void {
  if (bytes.some((byte) => byte !== 0)) throw new RegistryError(RegistryErrorCode.badLayer, 'it has data after its end');
}

/** Bound of frames: each costs a call of the decompressor, even an empty one. Images of 100,000 files in a few frames each stay below. */
const MAX_FRAMES = 250_000;
const FRAME_MAGIC = 0xfd2fb528;
/** The last hex digit is free. */
const SKIPPABLE_MAGIC = 0x184d2a50;

const badFrame = (problem: string) => new RegistryError(RegistryErrorCode.badLayer, `zstd: ${problem}`);

/** True when bytes start a zstd stream: with a frame, or with a skippable one. */
function isZstd(bytes: Buffer): boolean {
  return bytes.length >= 4 && (bytes.readUInt32LE(0) === FRAME_MAGIC || isSkippable(bytes.readUInt32LE(0)));
}

const isSkippable = (magic: number): boolean => (magic & 0xfffffff0) >>> 0 === SKIPPABLE_MAGIC;

/** Next part of the stream: a field that must be whole, or bytes to pass on or skip. */
type Part = 'magic' | 'skipSize' | 'descriptor' | 'header' | 'blockHeader' | 'block' | 'checksum' | 'skipped';

const FIELD_BYTES: Partial<Record<Part, number>> = { magic: 4, skipSize: 4, descriptor: 1, blockHeader: 3 };

/**
 * Cuts a zstd stream at the ends of its frames (RFC 8878, 3.1), and drops skippable ones. Node's decompressor ignores bytes after the first frame of
 * a piece, so no piece may have two frames.
 */
class ZstdFrames {
  #part: Part = 'magic';
  #left = 4;
  #field: number[] = [];
  #checksum = false;
  #lastBlock = false;
  #frames = 0;
  /** The frame's magic number was read and must still be passed on. */
  #starts = false;

  /**
   * Splits a chunk into pieces, none with the end of one frame and the start of another.
   * @throws RegistryError `_BAD_LAYER`
   */
  *split(chunk: Buffer): Generator<Buffer> {
    let from = 0;
    for (let at = 0; at < chunk.length; ) {
      const wasInFrame = this.#isInFrame;
      const taken = Math.min(this.#left, chunk.length - at);
      if (FIELD_BYTES[this.#part] !== undefined) this.#field.push(...chunk.subarray(at, at + taken));
      this.#left -= taken;
      at += taken;
      while (this.#left === 0) this.#enterNext();
      if (wasInFrame && this.#isInFrame) continue;
      if (wasInFrame) yield this.#piece(chunk.subarray(from, at));
      from = at;
    }
    if (from < chunk.length) yield this.#piece(chunk.subarray(from));
  }

  /** Prepends the magic number, which is known to start a frame only after it was read. */
  #piece(bytes: Buffer): Buffer {
    const piece = this.#starts ? Buffer.concat([MAGIC_BYTES, bytes]) : bytes;
    this.#starts = false;
    return piece;
  }

  get #isInFrame(): boolean {
    return this.#part !== 'magic' && this.#part !== 'skipSize' && this.#part !== 'skipped';
  }

  /**
   * Ends the stream after the last byte.
   * @throws RegistryError when it stops inside a frame
   */
  end(): void {
    if (this.#part !== 'magic' || this.#field.length > 0) throw badFrame('it ends in the middle of a frame');
  }

  #enter(part: Part, left: number = FIELD_BYTES[part] ?? 0): void {
    this.#part = part;
    this.#left = left;
    this.#field = [];
  }

  #enterNext(): void {
    const value = this.#field.reduce((sum, byte, index) => sum + byte * 2 ** (8 * index), 0);
    if (this.#part === 'magic') this.#enterFrame(value);
    else if (this.#part === 'skipSize') this.#enter('skipped', value);
    else if (this.#part === 'descriptor') this.#enterHeader(value);
    else if (this.#part === 'header') this.#enter('blockHeader');
    else if (this.#part === 'blockHeader') this.#enterBlock(value);
    else if (this.#part === 'block' && !this.#lastBlock) this.#enter('blockHeader');
    else if (this.#part === 'block' && this.#checksum) this.#enter('checksum', 4);
    else this.#enter('magic');
  }

  #enterFrame(magic: number): void {
    if (++this.#frames > MAX_FRAMES) throw badFrame(`it has more than ${MAX_FRAMES} frames`);
    if (isSkippable(magic)) this.#enter('skipSize');
    else if (magic === FRAME_MAGIC) {
      this.#starts = true;
      this.#enter('descriptor');
    } else throw badFrame('it has data after its last frame');
  }

  #enterHeader(descriptor: number): void {
    const singleSegment = (descriptor & 0x20) !== 0;
    const contentSize = [singleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
    const dictionary = [0, 1, 2, 4][descriptor & 3] ?? 0;
    this.#checksum = (descriptor & 4) !== 0;
    this.#enter('header', (singleSegment ? 0 : 1) + dictionary + contentSize);
  }

  #enterBlock(header: number): void {
    this.#lastBlock = (header & 1) !== 0;
    // A run-length block has one byte, whatever its unpacked size.
    this.#enter('block', ((header >> 1) & 3) === 1 ? 1 : header >> 3);
  }
}

const MAGIC_BYTES = Buffer.from('28b52ffd', 'hex');
