import type { ImageReference } from './image-reference.ts';
import { type Descriptor, ImageIndex, ImageManifest, isIndexType, MAX_MANIFEST_BYTES, parseDocument } from './manifest.ts';

/** Content of a blob to write: at once or as a stream. */
export type BlobContent = Buffer | AsyncIterable<Buffer>;

/** Store of manifests and configurations by digest. */
export interface DocumentStore {
  has(digest: string): Promise<boolean>;
  /** Reads a whole blob and verifies it; refuses more than `maxBytes`. */
  readBlob(digest: string, maxBytes: number): Promise<Buffer>;
  /** Writes a blob and returns its digest and size; an existing one stays. */
  putBlob(content: Buffer): Promise<{ digest: string; size: number }>;
  /** Fetches a large blob on a way of the store's own, by which others may have it too, and reads it. Absent: it is read from the registry. */
  obtainShared?(reference: ImageReference, blob: Descriptor, signal?: AbortSignal): Promise<Buffer>;
}

/** Store of blobs by digest: a layout directory, or memory for fixtures. */
export interface BlobStore extends DocumentStore {
  /** Streams an existing blob. */
  openBlob(digest: string): AsyncIterable<Buffer>;
  putBlob(content: BlobContent): Promise<{ digest: string; size: number }>;
}

/** Parts of an image in a store: manifests, children first, and every blob once. */
interface ImageParts {
  manifests: Descriptor[];
  blobs: Descriptor[];
  /** Manifests that an index names and the store lacks. */
  absent: Descriptor[];
}

/** Collects the parts below a manifest or index. Platforms of an index that the store lacks are left out. */
export async function listImageParts(store: DocumentStore, top: Descriptor): Promise<ImageParts> {
  const manifests = new Map<string, Descriptor>();
  const blobs = new Map<string, Descriptor>();
  const absent: Descriptor[] = [];
  await visit(top, 0);
  return { manifests: [...manifests.values()], blobs: [...blobs.values()], absent };

  async function visit(descriptor: Descriptor, depth: number): Promise<void> {
    if (manifests.has(descriptor.digest)) return;
    const bytes = await store.readBlob(descriptor.digest, MAX_MANIFEST_BYTES);
    if (isIndexType(descriptor.mediaType) && depth < 3) {
      const index = parseDocument('index', bytes, ImageIndex);
      for (const child of index.manifests) {
        if (await store.has(child.digest)) await visit(child, depth + 1);
        else absent.push(child);
      }
    } else {
      const { config, layers } = parseDocument('manifest', bytes, ImageManifest);
      for (const blob of [config, ...layers]) blobs.set(blob.digest, blob);
    }
    manifests.set(descriptor.digest, descriptor);
  }
}
