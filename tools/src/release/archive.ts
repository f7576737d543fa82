import { type LayerFile, MemoryBlobs, writeLayer } from '@flotilla/registry/testing';

/** Packs files as `.tar.gz`: sorted, without owners, every time the same; equal input gives equal bytes. */
export async function archive(files: readonly LayerFile[], mtime: number): Promise<Buffer> {
  const blobs = new MemoryBlobs();
  const { descriptor } = await writeLayer(blobs, { content: { files }, compression: 'gzip' }, { mtime });
  return blobs.readBlob(descriptor.digest, Number.POSITIVE_INFINITY);
}
