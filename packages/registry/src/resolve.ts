import type { RegistryClient } from './client.ts';
import { RegistryError, RegistryErrorCode, type RegistryErrorDetails } from './errors.ts';
import type { DocumentStore } from './image-graph.ts';
import { formatImageReference, type ImageReference, pinImageReference } from './image-reference.ts';
import {
  type Descriptor,
  ImageConfig,
  ImageIndex,
  ImageManifest,
  isImageType,
  isIndexType,
  MAX_CONFIG_BYTES,
  MAX_MANIFEST_BYTES,
  manifestTypeOf,
  parseDocument,
} from './manifest.ts';
import { currentPlatform, type Platform, platformRank } from './platform.ts';

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

/** Bytes from which a configuration is worth a store's own way: most have a few kilobytes. */
const LARGE_CONFIG_BYTES = 64 * 1024;
/** An index may point to an index, but nobody nests deeper. */
const MAX_INDEX_DEPTH = 3;

interface ImageDocument {
  readonly digest: string;
  readonly mediaType: string;
  readonly bytes: Buffer;
}

interface LoadedImage extends ImageDocument {
  readonly manifest: ImageManifest;
  readonly config: ImageConfig;
}

/**
 * Resolves a reference to one platform's manifest and configuration.
 * @throws RegistryError `_NO_PLATFORM`, `_BAD_MANIFEST`, and errors of fetching
 */
export async function resolveImage(
  client: RegistryClient,
  reference: ImageReference,
  options: ResolveOptions = {},
): Promise<ResolvedImage> {
  const document = await loadManifest(client, reference, options);
  const top: Descriptor = { mediaType: document.mediaType, digest: document.digest, size: document.bytes.length };
  const walk = new IndexWalk(client, reference, options);
  const { digest, mediaType, manifest, config } = isIndexType(document.mediaType)
    ? await walk.choose(document, 0)
    : await walk.load(document);
  return { reference, digest, mediaType, manifest, config, layers: manifest.layers, top };
}

/**
 * Refuses an image that no index leads to and that another platform runs: a runtime would take it by its name. One that says no platform is taken.
 * @throws RegistryError `_NO_PLATFORM`
 */
export function requirePlatform({ reference, digest, top, config }: ResolvedImage, wanted: Platform = currentPlatform()): void {
  const { os = '', architecture = '', variant } = config;
  const offered = { os, architecture, variant };
  if (top.digest !== digest || architecture === '' || platformRank(wanted, offered) !== undefined) return;
  throw noPlatformError([offered], wanted, { image: formatImageReference(reference), host: reference.host });
}

/** Finds the image of a platform below an index, as the runtime does. */
class IndexWalk {
  readonly #client: RegistryClient;
  readonly #reference: ImageReference;
  readonly #options: ResolveOptions;
  readonly #wanted: Platform;
  readonly #details: RegistryErrorDetails;

  constructor(client: RegistryClient, reference: ImageReference, options: ResolveOptions) {
    this.#client = client;
    this.#reference = reference;
    this.#options = options;
    this.#wanted = options.platform ?? currentPlatform();
    this.#details = { image: formatImageReference(reference), host: reference.host };
  }

  async load(document: ImageDocument): Promise<LoadedImage> {
    const manifest = parseDocument('manifest', document.bytes, ImageManifest, this.#details);
    const bytes = await loadConfig(this.#client, this.#reference, { ...this.#options, descriptor: manifest.config });
    return { ...document, manifest, config: parseDocument('configuration', bytes, ImageConfig, this.#details) };
  }

  /** @throws RegistryError `_NO_PLATFORM` when neither a platform of an entry nor one of a configuration is the wanted one */
  async choose({ bytes }: ImageDocument, depth: number): Promise<LoadedImage> {
    if (depth >= MAX_INDEX_DEPTH)
      throw new RegistryError(
        RegistryErrorCode.badManifest,
        `${this.#details.image}: indexes nested deeper than ${MAX_INDEX_DEPTH}`,
        this.#details,
      );
    const index = parseDocument('index', bytes, ImageIndex, this.#details);
    const { best, unnamed } = chooseEntries(index, this.#wanted);
    if (best) {
      const document = await this.#fetch(best);
      return isIndexType(document.mediaType) ? this.choose(document, depth + 1) : this.load(document);
    }
    let unread: RegistryError | undefined;
    for (const entry of unnamed) {
      try {
        const found = await this.#tryUnnamed(entry, depth);
        if (found) return found;
      } catch (error) {
        if (!(error instanceof RegistryError) || !NOT_THIS_ENTRY.has(error.code)) throw error;
        if (UNREAD.has(error.code)) unread ??= error;
      }
    }
    if (unread) throw unread;
    const offered = index.manifests.map(({ platform }) => platform);
    throw noPlatformError(offered, this.#wanted, this.#details);
  }

  /** Reads an entry that names no platform; undefined when its configuration names another one. */
  async #tryUnnamed(entry: Descriptor, depth: number): Promise<LoadedImage | undefined> {
    const document = await this.#fetch(entry);
    if (isIndexType(document.mediaType)) return this.choose(document, depth + 1);
    const image = await this.load(document);
    const { os = '', architecture = '', variant } = image.config;
    return platformRank(this.#wanted, { os, architecture, variant }) === undefined ? undefined : image;
  }

  #fetch(entry: Descriptor): Promise<ImageDocument> {
    return loadManifest(this.#client, pinImageReference(this.#reference, entry.digest), this.#options);
  }
}

/** Codes of an entry that is there and cannot be read: told where no other entry is the image. */
const UNREAD: ReadonlySet<string> = new Set([RegistryErrorCode.badManifest, RegistryErrorCode.tooLarge]);
/** Codes after which another entry may still be the image. */
const NOT_THIS_ENTRY: ReadonlySet<string> = new Set([RegistryErrorCode.noPlatform, RegistryErrorCode.notFound, ...UNREAD]);

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
  if (descriptor.size > MAX_CONFIG_BYTES) {
    const image = formatImageReference(reference);
    const message = `${image} has a configuration of ${descriptor.size} bytes, and at most ${MAX_CONFIG_BYTES} are read; build it with fewer labels and less history`;
    throw new RegistryError(RegistryErrorCode.tooLarge, message, { image, host: reference.host });
  }
  if (store?.obtainShared && descriptor.size >= LARGE_CONFIG_BYTES) return await store.obtainShared(reference, descriptor, signal);
  const bytes = await client.readBlob(reference, descriptor, { maxBytes: MAX_CONFIG_BYTES, signal });
  await store?.putBlob(bytes);
  return bytes;
}

/** Entries without a platform that are read at most, each for one or two requests. */
const MOST_UNNAMED = 64;

/** Entries of an index in the order in which a runtime tries them. */
interface Choices {
  /** The best entry that names a platform which runs. */
  readonly best: Descriptor | undefined;
  /** Entries without a platform: their own configuration has it. */
  readonly unnamed: readonly Descriptor[];
}

/** Orders the entries of an index as containerd does: the best platform first, whatever their order. Attestations never match. */
function chooseEntries({ manifests }: ImageIndex, wanted: Platform): Choices {
  const ranked = manifests.flatMap((entry) => {
    const rank = entry.platform && platformRank(wanted, entry.platform);
    return rank === undefined ? [] : [{ entry, rank }];
  });
  const best = ranked.toSorted((a, b) => a.rank - b.rank)[0]?.entry;
  const unnamed = manifests.filter(({ platform, mediaType }) => platform === undefined && (mediaType === '' || isImageType(mediaType)));
  return { best, unnamed: unnamed.slice(0, MOST_UNNAMED) };
}

/** Builds the error of an image that is not for the platform, with the platforms that it has; undefined for one that says none. */
function noPlatformError(has: readonly (Platform | undefined)[], wanted: Platform, details: RegistryErrorDetails): RegistryError {
  const offered = has.slice(0, 20).map((platform) => (platform ? platformName(platform) : 'an entry without a platform'));
  const problem = `has no image for ${platformName(wanted)}; it has ${offered.join(', ') || 'none that can be read'}`;
  return new RegistryError(RegistryErrorCode.noPlatform, `${details.image} ${problem}`, details);
}

const platformName = ({ os, architecture, variant }: Platform): string => [os, architecture, variant].filter(Boolean).join('/') || 'none';
