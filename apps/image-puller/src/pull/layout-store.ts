import { statfs } from 'node:fs/promises';
import { downloadImage, OciLayout, parseImageReference, type RegistryClient } from '@flotilla/registry';
import { NoSpaceError } from '../errors.ts';
import type { StoreUsage } from '../space/space.ts';
import type { ImageStore } from './store.ts';

/** Blobs of one image at once; images run in parallel too. */
const PARALLEL_BLOBS = 3;

/** Opens a store in an OCI layout directory, filled by our own downloader. */
export async function openLayoutStore(directory: string, client: RegistryClient): Promise<ImageStore> {
  const layout = await OciLayout.open(directory);
  return {
    description: `OCI layout ${directory}`,
    findsImages: false,
    fetchedBy: 'puller',
    async findLoss({ name }) {
      return (await layout.findImage(name.pullSpec))?.digest === name.referenceDigest ? undefined : 'the image is not there';
    },
    digestsOf: async (pullSpec) => [(await layout.findImage(pullSpec))?.digest ?? []].flat(),
    async pull({ pullSpec }, _layers, signal) {
      const reference = parseImageReference(pullSpec);
      await downloadImage(reference, { client, layout, parallelBlobs: PARALLEL_BLOBS, signal }).catch((error: unknown) => {
        throw isFull(error) ? new NoSpaceError(error.message, { cause: error }) : error;
      });
      return 'puller';
    },
    usage: () => measure(directory),
    async stored(images) {
      const blobs = new Set<string>();
      const partial = new Map<string, number>();
      for (const digest of new Set(images.flatMap(({ layers }) => layers.map((layer) => layer.digest)))) {
        if (await layout.has(digest)) blobs.add(digest);
        else partial.set(digest, await layout.partialSize(digest));
      }
      return { blobs, snapshots: undefined, partial };
    },
    async layerBytes(layers) {
      const found = await Promise.all(
        layers.map(async ({ digest, size }) => [digest, (await layout.has(digest)) ? size : await layout.partialSize(digest)] as const),
      );
      return new Map(found.filter(([, bytes]) => bytes > 0));
    },
    async [Symbol.asyncDispose]() {},
  };
}

/** Measures the file system of a path, as `df` does. */
export async function measure(path: string): Promise<StoreUsage> {
  const { bsize, blocks, bfree, bavail } = await statfs(path);
  return { path, sizeBytes: blocks * bsize, usedBytes: (blocks - bfree) * bsize, availableBytes: bavail * bsize };
}

/** True when a write failed for lack of space. */
function isFull(error: unknown): error is Error {
  for (let e: unknown = error; e instanceof Error; e = e.cause)
    if ('code' in e && (e.code === 'ENOSPC' || e.code === 'EDQUOT')) return true;
  return error instanceof Error && /ENOSPC|no space left/i.test(error.message);
}
