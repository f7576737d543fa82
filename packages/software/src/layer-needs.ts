/** Layers that a pull brings to a node, by the rule of its runtime. Pure. */
import { createHash } from 'node:crypto';
import type { Layer } from './image-source.ts';

/** Content of a runtime's store. */
export interface StoredContent {
  /** Compressed layers that are stored whole, by digest. */
  readonly blobs: ReadonlySet<string>;
  /** Chain ids of unpacked layers; undefined for a runtime that takes a layer by its digest wherever it stood. */
  readonly snapshots: ReadonlySet<string> | undefined;
  /** Bytes of layers that arrived in part, and with which a pull goes on. */
  readonly partial: ReadonlyMap<string, number>;
  /** Why more may be stored than is listed here; absent where that is all. */
  readonly unsure?: string | undefined;
}

/** A layer on a node: `missing` is pulled, `packed` is still to be unpacked, `there` costs nothing. */
export type LayerState = 'missing' | 'packed' | 'there';

/** An image, as far as its layers go. */
interface Layered {
  readonly layers: readonly Layer[];
}

/**
 * Judges the layers of images that a node lacks. containerd skips unpacked layers, and from the first that is not on it fetches every blob that its
 * content store lacks. CRI-O takes a layer by its compressed digest. A layer that images need differently counts as the dearest.
 * @param present images that the node has: their layers are there for a runtime that goes by digests
 */
export function judgeLayers(images: readonly Layered[], content: StoredContent, present: readonly Layered[] = []): Map<string, LayerState> {
  const states = new Map<string, LayerState>();
  const shared = new Set(content.snapshots ? [] : present.flatMap(({ layers }) => layers.map(({ digest }) => digest)));
  for (const image of images) {
    const unpacked = countUnpacked(image, content.snapshots);
    for (const [index, { digest }] of image.layers.entries()) {
      const state = index < unpacked || shared.has(digest) ? 'there' : content.blobs.has(digest) ? 'packed' : 'missing';
      const known = states.get(digest);
      if (known === undefined || COST[state] > COST[known]) states.set(digest, state);
    }
  }
  return states;
}

const COST: Readonly<Record<LayerState, number>> = { there: 0, packed: 1, missing: 2 };

/** Counts the lowest layers of an image that are unpacked, one on the other. */
function countUnpacked({ layers }: Layered, snapshots: ReadonlySet<string> | undefined): number {
  const chain = snapshots && chainOf(layers);
  return chain ? chain.findLastIndex((id) => snapshots.has(id)) + 1 : 0;
}

/** Chain ids of an image's layers; undefined where the image does not say what they unpack to. */
export function chainOf(layers: readonly Layer[]): readonly string[] | undefined {
  const diffIds = layers.flatMap(({ diffId }) => diffId ?? []);
  return diffIds.length === layers.length ? chainIds(diffIds) : undefined;
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

/** Bytes that a node still gets and has, each layer once. */
interface LayerBytes {
  readonly missing: number;
  /** Stored layers, and parts of layers. */
  readonly stored: number;
  /** Stored layers that are still to be unpacked. */
  readonly packed: number;
}

/** Sums the layers of a list up. @param states of layers of missing images; any other layer is there */
export function sumLayers(layers: Iterable<Layer>, states: ReadonlyMap<string, LayerState>, partial: StoredContent['partial']): LayerBytes {
  let [missing, stored, packed] = [0, 0, 0];
  for (const { digest, size } of new Map([...layers].map((layer) => [layer.digest, layer])).values()) {
    const state = states.get(digest) ?? 'there';
    const have = state === 'missing' ? Math.min(partial.get(digest) ?? 0, size) : size;
    missing += size - have;
    stored += have;
    if (state === 'packed') packed += size;
  }
  return { missing, stored, packed };
}
