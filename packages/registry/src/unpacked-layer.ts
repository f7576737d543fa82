import { createGunzip, createZstdDecompress, type Gunzip, type ZstdDecompress } from 'node:zlib';
import { RegistryError, RegistryErrorCode } from './errors.ts';
import { isZstd, ZstdFrames } from './zstd-frames.ts';

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
