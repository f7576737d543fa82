/** The question of `flotilla plan --inspect` to a spoke's node, and the answer. */
import { z } from 'zod';

/** Objects of an inspection on a spoke. All but the namespace are named as those of a pre-cache, so the same rights and the same shape hold. */
export const INSPECT_NAMESPACE = 'flotilla-inspect';
/** Name of the inspection's objects in the hub namespace of a spoke. */
export const INSPECT_WORK = 'flotilla-inspect';
/** Value of label `flotilla.io/work` on them. */
export const INSPECT_LABEL = 'inspect';
/** Key of the ConfigMap with the gzipped `LayerList`. */
export const LAYER_LIST_KEY = 'layers.json.gz';

/** Bounds of a list: several releases at once. */
const MOST_LAYERS = 20_000;
const MOST_IMAGES = 4_000;

const digest = z.string().regex(/^sha256:[a-f0-9]{64}$/, 'must be sha256: and 64 hexadecimal digits');
const index = z
  .int()
  .min(0)
  .max(MOST_LAYERS - 1);
const size = z
  .int()
  .min(0)
  .max(2 ** 40);

/** Layers of a spec on one platform, in order, each once; and the images made of them. */
export const LayerList = z.object({
  layers: z
    .array(z.object({ digest, size, diffId: digest.optional().describe('Digest of the unpacked layer, where the image says it.') }))
    .max(MOST_LAYERS),
  images: z
    .array(
      z.object({
        names: z.array(z.object({ pullSpec: z.string().max(1_024), referenceDigest: digest })).max(100),
        layers: z.array(index).max(1_024).describe('Its layers by place in the list, the lowest first.'),
      }),
    )
    .max(MOST_IMAGES),
});
export type LayerList = z.output<typeof LayerList>;

/** One bit a layer or image in base64: the first is the highest bit of the first byte. */
const bits = z
  .string()
  .max(4_096)
  .regex(/^[A-Za-z0-9+/]*={0,2}$/, 'must be base64');
const count = z
  .number()
  .min(0)
  .max(2 ** 60);

/** Layers that a node does not pull, by a digest of the list that was asked about. */
export const HeldLayers = z.object({
  list: digest.describe('Digest of the list.'),
  held: bits.describe('A bit for each layer of it.'),
});
export type HeldLayers = z.output<typeof HeldLayers>;

/** A node's answer to a list. */
export const NodeInventory = HeldLayers.extend({
  packed: bits.describe('Layers that are there and not unpacked.'),
  images: bits.describe('Images that are there under all their names.'),
  partial: z
    .array(z.tuple([index, count]))
    .max(200)
    .describe('Layers that are there in part, by place, with the bytes that are there.'),
  runtime: z.string().max(128).describe('Name and version of the runtime.'),
  architecture: z.string().max(32).describe("The node's, in Go's words."),
  node: z.string().max(253).describe('Its name.'),
  unsure: z.string().max(256).optional().describe('Why more may be there than could be seen.'),
  space: z
    .object({ sizeBytes: count, usedBytes: count, availableBytes: count, thresholdPercent: z.number().min(1).max(100) })
    .describe('File system of the images, and the share above which the kubelet removes unused ones.'),
});
export type NodeInventory = z.output<typeof NodeInventory>;

/** A refusal, or an inventory: value of annotation `flotilla.io/inventory`. */
export const InspectAnswer = z.union([
  z.object({ error: z.string().max(512).describe('Why the node could not be looked at.') }),
  NodeInventory,
]);
export type InspectAnswer = z.output<typeof InspectAnswer>;
