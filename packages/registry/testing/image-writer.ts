import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { constants, crc32, createDeflateRaw, createZstdCompress } from 'node:zlib';
import { pack } from 'tar-stream';
import type { BlobStore } from '../src/image-graph.ts';
import { type Descriptor, type ImageConfig, MediaType } from '../src/manifest.ts';
import type { Platform } from '../src/platform.ts';

/** One path of a layer. Content is bytes, a file on disk with its size, a symlink's target, or nothing for a directory. */
export interface LayerFile {
  /** Path from the image's root, without a leading slash. */
  path: string;
  /** Permission bits; default 0o644, for directories 0o755. */
  mode?: number;
  content: { bytes: Buffer | string } | { file: string; size: number } | { symlink: string } | 'directory';
}

/** Compression of a layer. */
type Compression = 'gzip' | 'zstd' | 'none';

/** A layer to write: files, or a finished tar stream. */
interface LayerInput {
  content: { files: readonly LayerFile[] } | { tar: AsyncIterable<Buffer> };
  compression: Compression;
  /** Compression level of the method; default gzip 6, zstd 3. */
  level?: number;
}

/** An image to write. */
interface ImageInput {
  /** The `config` part (Entrypoint, Env, User, Labels …). */
  config?: ImageConfig['config'];
  layers: readonly (LayerInput | WrittenLayer)[];
  platform: Platform;
  annotations?: Record<string, string>;
  /** Modification time of every file and `created` of the image, seconds since 1970; default 0. */
  mtime?: number;
}

/** A layer in the store; several images may share it. */
export interface WrittenLayer {
  descriptor: Descriptor;
  /** Digest of the uncompressed tar. */
  diffId: string;
}

const CHUNK = 64 * 1024;
/** Header without name and time, with "unknown" system: the same bytes on every machine. */
const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
const LAYER_TYPE = { gzip: MediaType.ociLayerGzip, zstd: MediaType.ociLayerZstd, none: MediaType.ociLayer } as const;

/** Writes an image; the same input gives the same digest. Returns the manifest's descriptor with its platform. */
export async function writeImage(store: BlobStore, input: ImageInput): Promise<Descriptor> {
  const mtime = input.mtime ?? 0;
  const layers: WrittenLayer[] = [];
  for (const layer of input.layers) layers.push('diffId' in layer ? layer : await writeLayer(store, layer, { mtime }));
  const configuration = {
    created: new Date(mtime * 1000).toISOString(),
    os: input.platform.os,
    architecture: input.platform.architecture,
    ...(input.platform.variant ? { variant: input.platform.variant } : {}),
    config: input.config ?? {},
    rootfs: { type: 'layers', diff_ids: layers.map((layer) => layer.diffId) },
  };
  const config = { mediaType: MediaType.ociConfig, ...(await putJson(store, configuration)) };
  const manifest = {
    schemaVersion: 2,
    mediaType: MediaType.ociManifest,
    config,
    layers: layers.map((layer) => layer.descriptor),
    ...(input.annotations ? { annotations: input.annotations } : {}),
  };
  return { mediaType: MediaType.ociManifest, ...(await putJson(store, manifest)), platform: input.platform };
}

/** Writes an index over existing images. */
export async function writeIndex(
  store: BlobStore,
  manifests: readonly Descriptor[],
  annotations?: Record<string, string>,
): Promise<Descriptor> {
  const index = { schemaVersion: 2, mediaType: MediaType.ociIndex, manifests, ...(annotations ? { annotations } : {}) };
  return { mediaType: MediaType.ociIndex, ...(await putJson(store, index)) };
}

/** Writes one layer: sorted entries, owner 0:0, one modification time, a fixed gzip header. */
export async function writeLayer(store: BlobStore, layer: LayerInput, options: { mtime?: number } = {}): Promise<WrittenLayer> {
  const tar = 'tar' in layer.content ? layer.content.tar : tarFiles(layer.content.files, options.mtime ?? 0);
  const hash = createHash('sha256');
  const hashed = tapped(evenChunks(tar), (chunk) => hash.update(chunk));
  const written = await store.putBlob(compress(hashed, layer.compression, layer.level));
  return { descriptor: { mediaType: LAYER_TYPE[layer.compression], ...written }, diffId: `sha256:${hash.digest('hex')}` };
}

async function putJson(store: BlobStore, document: unknown) {
  return store.putBlob(Buffer.from(JSON.stringify(document)));
}

/** Packs files as a tar stream: creates parents and sorts by path, so that the given order does not matter. */
async function* tarFiles(files: readonly LayerFile[], mtime: number): AsyncGenerator<Buffer> {
  const all = new Map<string, LayerFile>();
  for (const file of files) {
    const segments = file.path.split('/');
    for (let depth = 1; depth < segments.length; depth++) {
      const parent = segments.slice(0, depth).join('/');
      if (!all.has(parent)) all.set(parent, { path: parent, content: 'directory' });
    }
    all.set(file.path, file);
  }
  const sorted = [...all.values()].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  const archive = pack();
  const filling = fill(archive, sorted, new Date(mtime * 1000)).catch((error: unknown) => {
    archive.destroy(error instanceof Error ? error : new Error(String(error)));
  });
  for await (const chunk of archive) if (Buffer.isBuffer(chunk)) yield chunk;
  await filling;
}

async function fill(archive: ReturnType<typeof pack>, files: readonly LayerFile[], mtime: Date): Promise<void> {
  const owner = { uid: 0, gid: 0, uname: '', gname: '', mtime };
  for (const { path, mode, content } of files) {
    if (content === 'directory') archive.entry({ ...owner, name: `${path}/`, type: 'directory', mode: mode ?? 0o755 });
    else if ('symlink' in content) archive.entry({ ...owner, name: path, type: 'symlink', linkname: content.symlink, mode: 0o777 });
    else if ('bytes' in content) archive.entry({ ...owner, name: path, mode: mode ?? 0o644 }, Buffer.from(content.bytes));
    else {
      await new Promise<void>((resolve, reject) => {
        const entry = archive.entry({ ...owner, name: path, mode: mode ?? 0o644, size: content.size }, (error) =>
          error ? reject(error) : resolve(),
        );
        pipeline(createReadStream(content.file), entry, (error) => error && reject(error));
      });
    }
  }
  archive.finalize();
}

/** Cuts the source into equal chunks, because compressors may cut their output by their input's chunks. */
async function* evenChunks(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pending: Buffer[] = [];
  let size = 0;
  for await (const chunk of source) {
    pending.push(chunk);
    size += chunk.length;
    if (size < CHUNK) continue;
    const joined = Buffer.concat(pending);
    let at = 0;
    for (; joined.length - at >= CHUNK; at += CHUNK) yield joined.subarray(at, at + CHUNK);
    pending = [joined.subarray(at)];
    size = joined.length - at;
  }
  if (size > 0) yield Buffer.concat(pending);
}

async function* tapped(source: AsyncIterable<Buffer>, see: (chunk: Buffer) => void): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    see(chunk);
    yield chunk;
  }
}

async function* compress(source: AsyncGenerator<Buffer>, method: Compression, level?: number): AsyncGenerator<Buffer> {
  if (method === 'none') {
    yield* source;
    return;
  }
  if (method === 'zstd') {
    const packer = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: level ?? 3, [constants.ZSTD_c_checksumFlag]: 1 } });
    pipeline(Readable.from(source, { objectMode: false }), packer, () => {});
    yield* packer;
    return;
  }
  let checksum = 0;
  let size = 0;
  const counted = tapped(source, (chunk) => {
    checksum = crc32(chunk, checksum);
    size += chunk.length;
  });
  const packer = createDeflateRaw({ level: level ?? 6 });
  yield GZIP_HEADER;
  pipeline(Readable.from(counted, { objectMode: false }), packer, () => {});
  yield* packer;
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(checksum >>> 0, 0);
  trailer.writeUInt32LE(size % 2 ** 32, 4);
  yield trailer;
}
