/** Costs of the pull of a list on an inspected node, and the space that it needs. Pure. */
import type { HeldLayers, LayerList, NodeInventory } from '@flotilla/api/ran';
import { layerListDigest, unpackBits } from './layer-list.ts';
import { type LayerState, sumLayers } from './layer-needs.ts';

/** Cost of a list on a node. */
export interface NodeNeeds {
  /** Compressed bytes that are pulled. */
  readonly missingBytes: number;
  /** Compressed bytes that are there. */
  readonly storedBytes: number;
  /** Those of them that are still to be unpacked. */
  readonly packedBytes: number;
  readonly missingImages: number;
}

/** Reads a node's answer; undefined when it is about another list. */
export function needsOf(list: LayerList, inventory: NodeInventory): NodeNeeds | undefined {
  const packed = unpackBits(inventory.packed, list.layers.length);
  const images = unpackBits(inventory.images, list.images.length);
  const held = heldOf(list, inventory);
  if (!held || !packed || !images) return undefined;
  const states = new Map(list.layers.map(({ digest }, at): [string, LayerState] => [digest, stateAt(held, packed, at)]));
  const partial = new Map(inventory.partial.map(([at, bytes]) => [list.layers[at]?.digest ?? '', bytes]));
  const sums = sumLayers(list.layers, states, partial);
  return {
    missingBytes: sums.missing,
    storedBytes: sums.stored,
    packedBytes: sums.packed,
    missingImages: images.filter((isThere) => !isThere).length,
  };
}

const stateAt = (held: readonly boolean[], packed: readonly boolean[], at: number): LayerState =>
  held[at] ? (packed[at] ? 'packed' : 'there') : 'missing';

/** Reads what a puller left; undefined when it is about another list. An image counts as there when all its layers are. */
export function needsByReport(list: LayerList, report: HeldLayers): NodeNeeds | undefined {
  const held = heldOf(list, report);
  if (!held) return undefined;
  const states = new Map(list.layers.map(({ digest }, at): [string, LayerState] => [digest, held[at] ? 'there' : 'missing']));
  const sums = sumLayers(list.layers, states, new Map());
  const missingImages = list.images.filter(({ layers }) => layers.some((at) => !held[at])).length;
  return { missingBytes: sums.missing, storedBytes: sums.stored, packedBytes: 0, missingImages };
}

const heldOf = (list: LayerList, { list: digest, held }: HeldLayers): boolean[] | undefined =>
  digest === layerListDigest(list) ? unpackBits(held, list.layers.length) : undefined;

/** Facts from which the space that a pull needs is computed. */
interface SpaceDemand {
  /** Compressed bytes of missing layers, each once. */
  readonly missingBytes: number;
  /** Compressed bytes of stored layers. */
  readonly cachedBytes: number;
  /** Those of them that are still to be unpacked. */
  readonly packedBytes: number;
  /** Store bytes per compressed byte. */
  readonly expansion: number;
  /** `spaceRequired`: bound of the whole pre-cache. */
  readonly spaceRequiredGiB: number | undefined;
}

/** A file system, and the share of it above which the kubelet removes unused images. */
interface Room {
  readonly sizeBytes: number;
  readonly usedBytes: number;
  /** Writable bytes: less than size minus used where blocks are reserved or a quota applies. */
  readonly availableBytes: number;
}

const GIB = 2 ** 30;

/** Store bytes per compressed byte where a runtime stores images: it keeps the blob, and one and a half times its size unpacked. */
export const RUNTIME_EXPANSION = 2.5;

/**
 * Computes the bytes that must be free: the missing layers with their unpacked files, and the files of packed ones, but at least `spaceRequired` less
 * what is there. Zero when nothing is missing.
 */
export function requiredBytes({ missingBytes, cachedBytes, packedBytes, expansion, spaceRequiredGiB }: SpaceDemand): number {
  const toUnpack = packedBytes * (expansion - 1);
  const demand = missingBytes * expansion + toUnpack;
  if (demand === 0) return 0;
  const floor = (spaceRequiredGiB ?? 0) * GIB - (cachedBytes * expansion - toUnpack);
  return Math.ceil(Math.max(demand, floor));
}

/** Computes the bytes that may be stored before the kubelet removes unused images; never more than can be written. */
export const freeBytes = ({ sizeBytes, usedBytes, availableBytes }: Room, thresholdPercent: number): number =>
  Math.min(availableBytes, Math.floor((sizeBytes * thresholdPercent) / 100 - usedBytes));
