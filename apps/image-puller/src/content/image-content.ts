import { mapConcurrently } from '@flotilla/pace';
import { type Descriptor, parseImageReference, type RegistryClient, resolveImage } from '@flotilla/registry';
import { chainOf, imageLayers, judgeLayers } from '@flotilla/software';
import type { ContentStore } from './content-store.ts';

/** Layers of one image at once. */
const PARALLEL_LAYERS = 3;

/** Dependencies of filling an image. */
export interface FillDeps {
  readonly content: ContentStore;
  readonly client: RegistryClient;
  /** Name of the runtime's snapshotter; undefined when unknown. */
  readonly snapshotter: string | undefined;
  readonly signal: AbortSignal;
}

/** Puts everything of an image into the store that a pull of this name needs; `onBytes` hears of what arrives. */
export async function fillImage(deps: FillDeps, pullSpec: string, onBytes: (bytes: number) => void): Promise<void> {
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
