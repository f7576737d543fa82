import { z } from 'zod';
import { HeldLayers } from './inventory.ts';

/** Pre-caching states as stored in status (spec/talm 0, 3.4). */
export const PrecacheState = z.enum([
  'NotStarted',
  'PreparingToStart',
  'Starting',
  'Active',
  'Succeeded',
  'PrecacheTimeout',
  'UnrecoverableError',
]);
export type PrecacheState = z.output<typeof PrecacheState>;

/** True for states that end a cluster's pre-caching. */
export const isFinalPrecacheState = (state: PrecacheState): boolean =>
  state === 'Succeeded' || state === 'PrecacheTimeout' || state === 'UnrecoverableError';

/** True for states in which a cluster's pre-caching has ended without its images. */
export const hasFailedPrecache = (state: PrecacheState): boolean => isFinalPrecacheState(state) && state !== 'Succeeded';

/** Progress of one spoke's pull. */
export const PrecacheProgress = z.object({
  imagesDone: z.int().describe('Images present on the node.'),
  imagesTotal: z.int().describe('Images needed.'),
  bytesDone: z.int().describe('Compressed bytes present on the node, each layer counted once.'),
  bytesTotal: z.int().describe('Compressed bytes needed, each layer counted once.'),
  bytesPerSecond: z.int().describe('Rate over the last seconds.'),
  at: z
    .string()
    .meta({ format: 'date-time' })
    .optional()
    .describe("When the puller reported these figures first, by the node's clock; absent where it gave no time."),
});
export type PrecacheProgress = z.output<typeof PrecacheProgress>;

/** Phases of the puller, in order. */
export const PullerPhase = z.enum(['listing', 'checking-space', 'pulling', 'proving', 'done', 'failed']);
export type PullerPhase = z.output<typeof PullerPhase>;

/** Most nodes that a report names with their failures. */
export const MAX_FAILED_NODES = 5;

/** Most risks that a report names. */
export const MAX_RISKS = 8;

/** Nodes of one spoke, summed. */
export const NodesProgress = z.object({
  total: z.int().min(0).describe('Nodes that are to be filled.'),
  done: z.int().min(0).describe('Nodes that have every image.'),
  failed: z.int().min(0).describe('Nodes whose pull ended without every image.'),
  absent: z.int().min(0).describe('Nodes without word for longer than is waited for them.'),
  slowest: z
    .object({
      node: z.string().max(253).describe('Name of the node.'),
      bytesDone: z.int().min(0).describe('Compressed bytes present on it.'),
      bytesTotal: z.int().min(0).describe('Compressed bytes needed on it.'),
    })
    .optional()
    .describe('Node with the most bytes left, while nodes pull.'),
  problems: z
    .array(
      z.object({
        node: z.string().max(253).describe('Name of the node.'),
        message: z.string().max(256).describe('Reason for which it failed, is absent or is waited for.'),
      }),
    )
    .max(MAX_FAILED_NODES)
    .optional()
    .describe('Failed and absent nodes, then those that are waited for, at most five.'),
});
export type NodesProgress = z.output<typeof NodesProgress>;

const cluster = z.string().describe('Cluster of the node.');
/** The same of all clusters of an upgrade. */
export const PrecacheNodes = NodesProgress.extend({
  slowest: NodesProgress.shape.slowest.unwrap().extend({ cluster }).optional().describe('Node with the most bytes left, while nodes pull.'),
  problems: z
    .array(NodesProgress.shape.problems.unwrap().element.extend({ cluster }))
    .max(MAX_FAILED_NODES)
    .optional()
    .describe('Failed and absent nodes, then those that are waited for, at most five.'),
});
export type PrecacheNodes = z.output<typeof PrecacheNodes>;

/** Way of pinning: by each node's runtime, or by PinnedImageSets of the cluster. */
export const PinWay = z.enum(['runtime', 'pinned-image-set']);
export type PinWay = z.output<typeof PinWay>;

/**
 * Report of the puller: printed once a second, written as JSON into annotation `flotilla.io/progress` of its Job, and left as its termination
 * message.
 */
export const PullerReport = z.object({
  phase: PullerPhase,
  ...PrecacheProgress.shape,
  /** Images without counted bytes: the registry gave no size, and the node's runtime had to find them. */
  imagesUnsized: z.int().optional(),
  /** Bytes read from registries to build the list that are transferred again when their images are pulled. */
  bytesForList: z.int().optional(),
  /** Fetches the blobs: the puller, which resumes and may be capped, or the node's runtime. Absent from older pullers. */
  fetchedBy: z.enum(['puller', 'runtime']).optional(),
  /** Pulls that the puller left to the runtime, where it fetches itself. */
  imagesByRuntime: z.int().optional(),
  /** Layers that are there, a bit each, of the list that was made; absent before it and from older pullers. */
  layers: HeldLayers.optional(),
  /** Failed images, at most ten. Names have at most 256 characters, errors 512; `…` replaces the image's name and omitted parts. */
  failures: z.array(z.object({ image: z.string(), error: z.string() })).default([]),
  /** Node that the report is about. Absent from older pullers. */
  node: z.string().max(253).optional(),
  /** Names of images that the runtime says are pinned; absent where none was asked for. */
  namesPinned: z.int().optional(),
  /** Settings and facts that would take cached images away, or keep the kubelet from using them, each with its value, and its node where that is not the report's; of a proof. */
  risks: z
    .array(z.object({ name: z.string().max(64), value: z.string().max(128), node: z.string().max(253).optional() }))
    .max(MAX_RISKS)
    .optional(),
  /** Nodes of the spoke, where there are more; images and bytes are then the sums of all of them. */
  nodes: NodesProgress.optional(),
  /** Cause of the failure, at the end; before it, what failed and is tried again; else absent. */
  message: z.string().optional(),
  /** Time in RFC 3339. */
  at: z.string(),
});
export type PullerReport = z.output<typeof PullerReport>;

/** Exit codes of the image puller. */
export const PullerExit = {
  done: 0,
  /** Any failure not listed below. */
  internal: 1,
  badSpec: 10,
  registryRefused: 11,
  noSpace: 12,
  partlyDone: 13,
  interrupted: 14,
  /** A proof found less than was cached. */
  missing: 15,
  /** Nothing is wrong but that nodes stayed away. */
  absent: 16,
} as const;

/** Default of `spaceRequired` in GiB (spec/talm 3.3); for a platform image or additional images alone (spec/talm 4.1). */
export const DEFAULT_SPACE_REQUIRED = '35';
