import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { link, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FlotillaError } from '@flotilla/api';
import { Descriptor, OciLayout } from '@flotilla/registry';
import { type LayerFile, type WrittenLayer, writeLayer } from '@flotilla/registry/testing';
import { z } from 'zod';

/** A finished layer, and the file in the cache that holds its compressed bytes. */
export type CachedLayer = WrittenLayer & { readonly file: string };

const LayerRecord = z.object({ descriptor: Descriptor, diffId: z.string() });

/** Bump when the way a layer is written changes: it is part of every cache key. */
const FORMAT = 2;

/**
 * The layer for a key, from the cache folder or made from `files`. The key must name everything the files depend on.
 * Several processes may ask for the same layer at once: each makes it, all get the same bytes.
 */
export async function cachedLayer(folder: string, key: string, files: () => Promise<readonly LayerFile[]>): Promise<CachedLayer> {
  const name = createHash('sha256').update(`${FORMAT}\n${key}`).digest('hex').slice(0, 32);
  const file = join(folder, `${name}.tar.gz`);
  const recordFile = join(folder, `${name}.json`);
  const record = await readRecord(recordFile, file);
  if (record) return { ...record, file };

  const scratch = join(folder, `${name}.${process.pid}`);
  await mkdir(scratch, { recursive: true });
  try {
    const layout = await OciLayout.open(scratch);
    // gzip and not zstd: every runtime in use reads it.
    const written = await writeLayer(layout, { content: { files: await files() }, compression: 'gzip' });
    await rename(layout.blobPath(written.descriptor.digest), file);
    await writeWhole(recordFile, JSON.stringify(written));
    return { ...written, file };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** The cache's record of a layer, or undefined when it or its file is missing, cut short or not ours. */
async function readRecord(recordFile: string, file: string): Promise<WrittenLayer | undefined> {
  const text = await readFile(recordFile, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const record = LayerRecord.safeParse(JSON.parse(text));
  const size = await stat(file).then(
    (found) => found.size,
    () => -1,
  );
  return record.success && record.data.descriptor.size === size ? record.data : undefined;
}

/**
 * Puts a layer into a layout unless it is there: as a link where both are on one file system, else as a copy.
 * Throws `FLOTILLA_IMAGES_CACHE` when the cached bytes are no longer what they were.
 */
export async function placeLayer(layout: OciLayout, { descriptor: { digest }, file }: CachedLayer): Promise<void> {
  if (await layout.has(digest)) return;
  if (`sha256:${await fileDigest(file, 'sha256', 'hex')}` !== digest) {
    await rm(file, { force: true });
    throw new FlotillaError('FLOTILLA_IMAGES_CACHE', `${file} was damaged and is removed: run the same command again`);
  }
  try {
    await link(file, layout.blobPath(digest));
  } catch {
    // Another file system, or one without links.
    await layout.putBlob(createReadStream(file, { highWaterMark: 1024 * 1024 }));
  }
}

/** Writes a small file so that a reader sees the old one or the new one, never half of it. */
export async function writeWhole(file: string, text: string): Promise<void> {
  const partial = `${file}.${process.pid}.partial`;
  await writeFile(partial, text);
  await rename(partial, file);
}

/** Digest of a file, read as a stream. */
export async function fileDigest(file: string, algorithm: 'sha256' | 'sha512', encoding: 'hex' | 'base64'): Promise<string> {
  const hash = createHash(algorithm);
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return hash.digest(encoding);
}
