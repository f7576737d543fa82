import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { errorMessage } from '@flotilla/api';
import { InspectAnswer, LAYER_LIST_KEY, LayerList, type NodeInventory } from '@flotilla/api/ran';
import { mapConcurrently } from '@flotilla/pace';
import { currentPlatform } from '@flotilla/registry';
import { heldLayers, imagesOfList, judgeLayers, packBits, refuse } from '@flotilla/software';
import type { ImageStore } from '../pull/store.ts';
import { readBounded } from '../small-file.ts';

/** Bound of a ConfigMap. */
const MOST_PACKED = 1024 * 1024;
/** Bound of the list in it. */
const MOST_UNPACKED = 16 * 1024 * 1024;
const PARALLEL_IMAGES = 8;
/** Layers in part that an answer names; nobody leaves so many. */
const MOST_PARTIAL = 200;
/** Characters of an error. */
const MOST_ERROR = 400;

/** Dependencies of an inspection. It has no registry. */
interface InspectDeps {
  readonly specDir: string;
  readonly nodeName: string;
  readonly gcThresholdPercent: () => Promise<number>;
  readonly openStore: () => Promise<ImageStore>;
  readonly signal: AbortSignal;
}

/** Says what the node has of the layers of a list, or why it could not be looked at. Changes nothing. */
export async function inspectNode(deps: InspectDeps): Promise<InspectAnswer> {
  try {
    const list = await readLayerList(deps.specDir);
    await using store = await deps.openStore();
    return InspectAnswer.parse(await lookAt(list, store, deps));
  } catch (error) {
    return { error: errorMessage(error).slice(0, MOST_ERROR) };
  }
}

async function lookAt(list: LayerList, store: ImageStore, { nodeName, gcThresholdPercent, signal }: InspectDeps): Promise<NodeInventory> {
  const images = imagesOfList(list);
  const there: boolean[] = [];
  await mapConcurrently(
    images.entries(),
    PARALLEL_IMAGES,
    async ([at, { names, layers }]) => {
      const needed = layers.map(({ digest }) => digest);
      const losses = await Promise.all(names.map((name) => store.findLoss({ name, layers: needed }, signal)));
      there[at] = losses.every((loss) => loss === undefined);
    },
    { stopAtFailure: true },
  );
  const missing = images.filter((_, at) => !there[at]);
  const content = await store.stored(missing, signal);
  const states = judgeLayers(
    missing,
    content,
    images.filter((_, at) => there[at]),
  );
  const partial = list.layers.flatMap(({ digest }, at): [number, number][] => {
    const bytes = content.partial.get(digest) ?? 0;
    return bytes > 0 && states.get(digest) === 'missing' ? [[at, bytes]] : [];
  });
  const { sizeBytes, usedBytes, availableBytes } = await store.usage(signal);
  return {
    ...heldLayers(list, states),
    packed: packBits(list.layers.map(({ digest }) => states.get(digest) === 'packed')),
    images: packBits(there),
    partial: partial.slice(0, MOST_PARTIAL),
    runtime: (store.runtime ?? store.description).slice(0, 128),
    architecture: currentPlatform().architecture,
    node: nodeName.slice(0, 253),
    ...(content.unsure !== undefined && { unsure: content.unsure.slice(0, 256) }),
    space: { sizeBytes, usedBytes, availableBytes, thresholdPercent: await gcThresholdPercent() },
  };
}

/**
 * Reads the list from the mounted ConfigMap.
 * @throws SpecError naming the key and the problem
 */
async function readLayerList(folder: string): Promise<LayerList> {
  try {
    const packed = await readBounded(join(folder, LAYER_LIST_KEY), MOST_PACKED);
    const text = await promisify(gunzip)(packed, { maxOutputLength: MOST_UNPACKED });
    return LayerList.parse(JSON.parse(text.toString('utf8')));
  } catch (error) {
    throw refuse(LAYER_LIST_KEY, `cannot be used: ${errorMessage(error).slice(0, 200)}`, error);
  }
}
