/** The layers of an image list in order, and what a node has of them, as both cross to a spoke and back. Pure. */
import { createHash } from 'node:crypto';
import type { HeldLayers, LayerList } from '@flotilla/api/ran';
import type { WantedImage } from './image-list.ts';
import type { Layer } from './image-source.ts';
import type { LayerState } from './layer-needs.ts';

/** Lists each layer of the images once, in the order of the images. */
export function toLayerList(images: readonly Pick<WantedImage, 'pullSpecs' | 'layers'>[]): LayerList {
  const places = new Map<string, number>();
  const layers: LayerList['layers'] = [];
  const placeOf = ({ digest, size, diffId }: Layer): number => {
    const known = places.get(digest);
    if (known !== undefined) return known;
    places.set(digest, layers.length);
    layers.push({ digest, size, ...(diffId !== undefined && { diffId }) });
    return layers.length - 1;
  };
  const listed = images.map((image) => ({
    names: image.pullSpecs.map(({ pullSpec, referenceDigest }) => ({ pullSpec, referenceDigest })),
    layers: image.layers.map(placeOf),
  }));
  return { layers, images: listed };
}

/** Digest of a list: equal lists have equal places. */
export const layerListDigest = (list: LayerList): string =>
  `sha256:${createHash('sha256')
    .update(JSON.stringify([list.layers.map(({ digest }) => digest), list.images.map(({ names, layers }) => [names, layers])]))
    .digest('hex')}`;

/** Images of a list, with their layers in full. */
export const imagesOfList = ({ layers, images }: LayerList) =>
  images.map(({ names, layers: places }) => ({ names, layers: places.flatMap((place) => layers[place] ?? []) }));

/** Layers that a node does not pull, a bit each. */
export const heldLayers = (list: LayerList, states: ReadonlyMap<string, LayerState>): HeldLayers => ({
  list: layerListDigest(list),
  held: packBits(list.layers.map(({ digest }) => states.get(digest) !== 'missing')),
});

/** Packs answers, the first into the highest bit of the first byte. */
export function packBits(answers: readonly boolean[]): string {
  const bytes = Buffer.alloc(Math.ceil(answers.length / 8));
  for (const [at, answer] of answers.entries()) if (answer) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (0x80 >> (at & 7));
  return bytes.toString('base64');
}

/** Unpacks so many answers; undefined for another number of them. */
export function unpackBits(packed: string, count: number): boolean[] | undefined {
  const bytes = Buffer.from(packed, 'base64');
  if (bytes.length !== Math.ceil(count / 8)) return undefined;
  return Array.from({ length: count }, (_, at) => ((bytes[at >> 3] ?? 0) & (0x80 >> (at & 7))) !== 0);
}
