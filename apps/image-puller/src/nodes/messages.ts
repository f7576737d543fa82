/** Messages of the channel between the pullers of one spoke. */
import { PullerReport } from '@flotilla/api/ran';
import { z } from 'zod';

const Digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const size = z
  .int()
  .min(0)
  .max(2 ** 50);
const port = z.int().min(1).max(65_535);
const Place = z.object({ address: z.string().max(64), port });
const text = z.string().max(253);
/** The cap of the link as of now; absent without one. */
const cap = { bytesPerSecond: z.number().optional() };

/** Annotation `flotilla.io/lead` of the Job. */
export const LeadPlace = Place.extend({ key: z.string().max(64) });
export type LeadPlace = z.output<typeof LeadPlace>;

/** Blobs of which a node says how much it has. */
export const MAX_PARTIALS = 512;

/**
 * `/join`: a node's puller shows who it is; the port is that of its blobs, absent where its runtime shares none, or is not open yet. `partials`: bytes that
 * it has of blobs.
 */
export const Join = z.object({
  token: z.string().max(16 * 1024),
  node: text,
  isOpen: z.boolean(),
  port: port.optional(),
  partials: z
    .record(Digest, size)
    .refine((partials) => Object.keys(partials).length <= MAX_PARTIALS)
    .optional(),
});
export type Join = z.output<typeof Join>;
/** `key` is the secret among those that have joined; `isBeside`: the lead fills this node itself. */
export const Joined = z.object({ id: text, key: z.string().max(64), isBeside: z.boolean(), ...cap });

/** `/beat`: a node's report, its fetches under way, and its verdict once it has one. */
export const Beat = z.object({
  report: PullerReport,
  fetching: z.record(Digest, size),
  exitCode: z.int().optional(),
});
export type Beat = z.output<typeof Beat>;
/** `isOver`: nobody takes blobs any more. */
export const Beaten = z.object({ isOver: z.boolean(), ...cap });

/** `/ask`: a node needs a blob. */
export const Ask = z.object({ digest: Digest, size });
export const Order = z.discriminatedUnion('do', [
  z.object({ do: z.literal('fetch') }),
  z.object({ do: z.literal('copy'), from: z.array(Place.extend({ id: text })).max(8) }),
  z.object({ do: z.literal('wait') }),
]);
export type Order = z.output<typeof Order>;

/** `/tell`: a node has a blob, or could not get it: from the registry, or from the node that it names. */
export const Tell = z.object({ digest: Digest, size, outcome: z.enum(['has', 'failed']), from: text.optional() });
export type Tell = z.output<typeof Tell>;

/** `/hand-over`: a node can keep its blobs no longer. `isNeeded`: others still need some of them. */
export const HandedOver = z.object({ isNeeded: z.boolean() });

/** `/bytes`: a node waits until so many bytes may cross the link; the answer has how many of them. */
export const Bytes = z.object({ bytes: size });
export const Nothing = z.object({});
