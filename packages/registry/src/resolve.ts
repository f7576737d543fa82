import type { DocumentStore } from './blob-store.ts';
import type { RegistryClient } from './client.ts';
import { RegistryError, RegistryErrorCode } from './errors.ts';
import { formatImageReference, type ImageReference, pinImageReference } from './image-reference.ts';
import {
  currentPlatform,
  type Descriptor,
  ImageConfig,
  ImageIndex,
  ImageManifest,
  isIndexType,
  MAX_CONFIG_BYTES,
  MAX_MANIFEST_BYTES,
  manifestTypeOf,
  type Platform,
  parseDocument,
  selectPlatform,
} from './manifest.ts';

/** Image of one platform behind a reference. */
export interface ResolvedImage {
  reference: ImageReference;
  digest: string;
  mediaType: string;
  manifest: ImageManifest;
  config: ImageConfig;
  /** Layers, the lowest first, as in the manifest. */
  layers: Descriptor[];
  /** Document of the reference itself: an index, or the manifest. */
  top: Descriptor;
}

interface ResolveOptions {
  /** Default: linux on the processor of this process. */
  platform?: Platform;
  signal?: AbortSignal;
  /** Store of documents, which are read from it and written to it. */
  store?: DocumentStore;
}

/** An index may point to an index, but nobody nests deeper. */
const MAX_INDEX_DEPTH = 3;

/**
 * Resolves a reference to one platform's manifest and configuration.
 * @throws RegistryError `_NO_PLATFORM`, `_BAD_MANIFEST`, and errors of fetching
 */
export async function resolveImage(
  client: RegistryClient,
  reference: ImageReference,
  options: ResolveOptions = {},
): Promise<ResolvedImage> {
  const details = { image: formatImageReference(reference), host: reference.host };
  let document = await loadManifest(client, reference, options);
  const top: Descriptor = { mediaType: document.mediaType, digest: document.digest, size: document.bytes.length };
  for (let depth = 0; isIndexType(document.mediaType); depth++) {
    if (depth >= MAX_INDEX_DEPTH)
      throw new RegistryError(RegistryErrorCode.badManifest, `${details.image}: indexes nested deeper than ${MAX_INDEX_DEPTH}`, details);
    const index = parseDocument('index', document.bytes, ImageIndex, details);
    const chosen =
      depth === 0 || index.manifests.length !== 1
        ? selectPlatform(index, options.platform ?? currentPlatform(), details)
        : index.manifests[0];
    if (!chosen) throw new RegistryError(RegistryErrorCode.badManifest, `${details.image}: empty index`, details);
    document = await loadManifest(client, pinImageReference(reference, chosen.digest), options);
  }
  const manifest = parseDocument('manifest', document.bytes, ImageManifest, details);
  const config = parseDocument(
    'configuration',
    await loadConfig(client, reference, { ...options, descriptor: manifest.config }),
    ImageConfig,
    details,
  );
  return { reference, digest: document.digest, mediaType: document.mediaType, manifest, config, layers: manifest.layers, top };
}

async function loadManifest(client: RegistryClient, reference: ImageReference, { store, signal }: ResolveOptions) {
  if (reference.digest && (await store?.has(reference.digest))) {
    const bytes = await store?.readBlob(reference.digest, MAX_MANIFEST_BYTES);
    if (bytes)
      return { digest: reference.digest, bytes, mediaType: manifestTypeOf(bytes, undefined, { image: formatImageReference(reference) }) };
  }
  const fetched = await client.fetchManifest(reference, { signal });
  await store?.putBlob(fetched.bytes);
  return fetched;
}

async function loadConfig(
  client: RegistryClient,
  reference: ImageReference,
  { store, signal, descriptor }: ResolveOptions & { descriptor: Descriptor },
) {
  if (await store?.has(descriptor.digest)) {
    const bytes = await store?.readBlob(descriptor.digest, MAX_CONFIG_BYTES);
    if (bytes) return bytes;
  }
  const bytes = await client.readBlob(reference, descriptor, { maxBytes: MAX_CONFIG_BYTES, signal });
  await store?.putBlob(bytes);
  return bytes;
}
