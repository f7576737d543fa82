import { errorMessage } from '@flotilla/api';
import { mapConcurrently } from '@flotilla/pace';
import { type Descriptor, isTransient, parseImageReference, type RegistryClient, resolveImage } from '@flotilla/registry';
import { chainOf, imageLayers, judgeLayers } from '@flotilla/software';
import { CorruptBlobError } from '../errors.ts';
import type { LinkCap } from '../link-cap.ts';
import type { ContentOptions, ContentStore } from './content-store.ts';
import { nextWay } from './next-way.ts';
import type { ExpectedBlob } from './writer.ts';

/** Dependencies of the way by the content store. */
interface ContentWayOptions extends ContentOptions {
  readonly content: ContentStore;
  readonly cap: LinkCap;
  readonly snapshotter: FillDeps['snapshotter'];
}

/** Fetches the blobs of images before the runtime pulls them, and leaves to the runtime what it cannot fetch. */
export class ContentWay {
  readonly #options: ContentWayOptions;
  /** Failures in a row by pull spec, and blobs with wrong bytes; those arrive too, so they count for the whole run. */
  readonly #failures = new Map<string, number>();
  readonly #corrupt = new Map<string, number>();
  /** Failures after which the next try is the runtime's, by pull spec: the registry asked for the wait until then. */
  readonly #left = new Map<string, unknown>();

  constructor(options: ContentWayOptions) {
    this.#options = options;
  }

  /**
   * Puts the blobs of an image into the store.
   * @returns the failure after which the runtime has to fetch them; undefined when they are there
   * @throws a failure that may pass, or NoSpaceError
   */
  async fill(pullSpec: string, layers: readonly ExpectedBlob[]): Promise<{ readonly failure: unknown } | undefined> {
    const { content, logger, signal, cap, sharing } = this.#options;
    if (this.#left.has(pullSpec)) {
      const failure = this.#left.get(pullSpec);
      this.#left.delete(pullSpec);
      return { failure };
    }
    try {
      await fillImage(this.#options, pullSpec, () => this.#failures.delete(pullSpec));
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      const counts = error instanceof CorruptBlobError ? this.#corrupt : this.#failures;
      const failures = (counts.get(pullSpec) ?? 0) + 1;
      counts.set(pullSpec, failures);
      const isCapped = cap.bytesPerSecond !== undefined;
      const way = nextWay(error, { failures, isCapped, isShared: sharing !== undefined });
      if (way === 'runtime after a wait') this.#left.set(pullSpec, error);
      else if (way !== 'runtime') throw error;
      logger.warn({ image: pullSpec, failures, isCapped, err: errorMessage(error) }, 'Leaving the blobs of an image to the runtime');
      if (way === 'runtime after a wait') throw error;
      // The bytes before a broken link are right, and a registry may refuse to go on from others.
      if (!isTransient(error)) await content.drop(layers);
      return { failure: error };
    }
  }
}

/** Layers of one image at once. */
const PARALLEL_LAYERS = 3;

/** Dependencies of filling an image. */
interface FillDeps {
  readonly content: ContentStore;
  readonly client: RegistryClient;
  /** Name of the runtime's snapshotter; undefined when unknown. */
  readonly snapshotter: string | undefined;
  readonly signal: AbortSignal;
}

/** Puts everything of an image into the store that a pull of this name needs; `onBytes` hears of what arrives. */
async function fillImage(deps: FillDeps, pullSpec: string, onBytes: (bytes: number) => void): Promise<void> {
  const { content, client, signal } = deps;
  const image = await resolveImage(client, parseImageReference(pullSpec), { store: content.documents, signal });
  const layers = imageLayers(image);
  // A blob that is there costs nothing to fetch, so the store alone is asked for it.
  const stored = { blobs: new Set<string>(), snapshots: await unpackedOf(deps, chainOf(layers) ?? []), partial: new Map() };
  const states = judgeLayers([{ layers }], stored);
  const needed = image.layers.filter(({ digest }) => states.get(digest) !== 'there');
  const fetch = (layer: Descriptor): Promise<void> => content.fetch(image.reference, layer, onBytes);
  await mapConcurrently(needed, PARALLEL_LAYERS, fetch, { stopAtFailure: true });
}

/** Asks from the top for the highest unpacked layer: all below it are unpacked too. */
async function unpackedOf({ content, snapshotter }: FillDeps, chain: readonly string[]): Promise<ReadonlySet<string>> {
  for (const id of chain.toReversed()) if (snapshotter !== undefined && (await content.hasSnapshot(snapshotter, id))) return new Set([id]);
  return new Set();
}

/** Reads the snapshotter's name from the mount point that the runtime reports for its images. */
export const snapshotterOf = (mountpoint: string): string | undefined => /\.snapshotter\.v1\.([\w-]+)\/?$/.exec(mountpoint)?.[1];
