/** Costs of the pull of a list on an inspected node. Pure. */
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
