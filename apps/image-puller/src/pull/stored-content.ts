/** Reads what a runtime's store has of layers. */
import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { foreign, readJson } from '@flotilla/api';
import { mapConcurrently } from '@flotilla/pace';
import { chainOf, type Layer, type StoredContent } from '@flotilla/software';
import { z } from 'zod';
import { type Asked, blobSize, isUnpacked, listIngests } from '../socket/containerd.ts';

const PARALLEL_CALLS = 16;

/**
 * Reads blobs of containerd's content store, whole and in part.
 * @throws StoreError UNIMPLEMENTED where the runtime has no content store
 */
export async function readBlobs(asked: Asked, digests: ReadonlySet<string>): Promise<Pick<StoredContent, 'blobs' | 'partial'>> {
  const blobs = await filterBy(digests, async (digest) => (await blobSize(asked, digest)) !== undefined);
  // refs read `layer-sha256:…`
  const arriving = (await listIngests(asked)).map(({ ref, offset }) => [/sha256:[a-f0-9]{64}$/.exec(ref)?.[0] ?? '', offset] as const);
  return { blobs, partial: new Map(arriving.filter(([digest]) => digest !== '' && !blobs.has(digest))) };
}

/** Reads blobs and unpacked layers of containerd. @param snapshotter of its images; undefined where it is unknown */
export async function readContainerd(
  asked: Asked,
  images: readonly { readonly layers: readonly Layer[] }[],
  snapshotter: string | undefined,
): Promise<StoredContent> {
  const chains = new Set(images.flatMap(({ layers }) => chainOf(layers) ?? []));
  const snapshots = snapshotter === undefined ? new Set<string>() : await filterBy(chains, (key) => isUnpacked(asked, snapshotter, key));
  const digests = new Set(images.flatMap(({ layers }) => layers.map(({ digest }) => digest)));
  const unsure = snapshotter === undefined ? 'the runtime does not say where it unpacks layers' : undefined;
  return { ...(await readBlobs(asked, digests)), snapshots, unsure };
}

async function filterBy(keys: ReadonlySet<string>, isThere: (key: string) => Promise<boolean>): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const look = async (key: string): Promise<void> => {
    if (await isThere(key)) found.add(key);
  };
  await mapConcurrently(keys, PARALLEL_CALLS, look, { stopAtFailure: true });
  return found;
}

/** Layers of containers/storage, as far as a pull asks for them. */
const StorageLayers = foreign(
  z.array(
    z.looseObject({
      'compressed-diff-digest': z.string().optional(),
      'diff-digest': z.string().optional(),
      flags: z.looseObject({ incomplete: z.boolean().optional() }).nullish(),
    }),
  ),
);
const MOST_BYTES = 64 * 1024 * 1024;
/** Where the pod has folders of the node. */
const NODE_ROOT = '/host';

const UNSEEN = 'the folder of its images is not mounted: annotate the ManagedCluster with flotilla.io/runtime-storage';

/** Reads the layers of CRI-O's storage beside the folder of its images, which is a list that CRI does not give. */
export async function readStorage(imageFolder: string | undefined): Promise<StoredContent> {
  const nothing = { blobs: new Set<string>(), snapshots: undefined, partial: new Map<string, number>() };
  const driver = /\/([a-z0-9]+)-images\/?$/.exec(imageFolder ?? '')?.[1];
  if (imageFolder === undefined || driver === undefined) return { ...nothing, unsure: UNSEEN };
  const below = join(dirname(imageFolder), `${driver}-layers`, 'layers.json');
  for (const file of [join(NODE_ROOT, below), below]) {
    const layers = await readLayers(file);
    if (layers) return { ...nothing, blobs: new Set(layers) };
  }
  return { ...nothing, unsure: UNSEEN };
}

async function readLayers(file: string): Promise<string[] | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (!found?.isFile() || found.size > MOST_BYTES) return undefined;
  // The runtime may be writing it: then it is no JSON.
  const parsed = StorageLayers.safeParse(readJson(await readFile(file, 'utf8')));
  // A layer that is being written counts for nothing.
  const whole = parsed.data?.filter(({ flags }) => flags?.incomplete !== true);
  return whole?.flatMap((layer) => [layer['compressed-diff-digest'] ?? [], layer['diff-digest'] ?? []].flat());
}
