import type { DocumentStore } from './blob-store.ts';
import { type Descriptor, ImageIndex, ImageManifest, isIndexType, MAX_MANIFEST_BYTES, parseDocument } from './manifest.ts';

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
