import { createHash } from 'node:crypto';
import { mapConcurrently } from '@flotilla/pace';
import { type Descriptor, parseImageReference, type RegistryClient, resolveImage } from '@flotilla/registry';
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
  const { content, client, snapshotter, signal } = deps;
  const image = await resolveImage(client, parseImageReference(pullSpec), { store: content.documents, signal });
  const hasSnapshot = async (key: string): Promise<boolean> => snapshotter !== undefined && (await content.hasSnapshot(snapshotter, key));
  const needed = await layersToFetch(image.layers, image.config.rootfs?.diff_ids ?? [], hasSnapshot);
  const fetch = (layer: Descriptor): Promise<void> => content.fetch(image.reference, layer, onBytes);
  await mapConcurrently(needed, PARALLEL_LAYERS, fetch, { stopAtFailure: true });
}

/** Lists the layers above the highest unpacked one: a runtime may discard layers that it has unpacked, and does not fetch them again. */
export async function layersToFetch(
  layers: readonly Descriptor[],
  diffIds: readonly string[],
  hasSnapshot: (chainId: string) => Promise<boolean>,
): Promise<readonly Descriptor[]> {
  // An image whose configuration says something else is the runtime's to judge.
  if (diffIds.length !== layers.length) return layers;
  const chain = chainIds(diffIds);
  for (let top = chain.length; top > 0; top--) if (await hasSnapshot(chain[top - 1] ?? '')) return layers.slice(top);
  return layers;
}

/** Names of the snapshots of each layer with all below it (OCI image-spec, ChainID). */
export function chainIds(diffIds: readonly string[]): string[] {
  const chain: string[] = [];
  for (const diffId of diffIds) {
    const below = chain.at(-1);
    chain.push(below === undefined ? diffId : `sha256:${createHash('sha256').update(`${below} ${diffId}`).digest('hex')}`);
  }
  return chain;
}

/** Reads the snapshotter's name from the mount point that the runtime reports for its images. */
export const snapshotterOf = (mountpoint: string): string | undefined => /\.snapshotter\.v1\.([\w-]+)\/?$/.exec(mountpoint)?.[1];
