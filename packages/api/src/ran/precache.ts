import { z } from 'zod';

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

/** States that end a cluster's pre-caching. */
export const isFinalPrecacheState = (state: PrecacheState): boolean =>
  state === 'Succeeded' || state === 'PrecacheTimeout' || state === 'UnrecoverableError';

/** How far one spoke's pull is. */
export const PrecacheProgress = z.object({
  imagesDone: z.int().describe('Images present on the node.'),
  imagesTotal: z.int().describe('Images needed.'),
  bytesDone: z.int().describe('Compressed bytes present on the node, each layer counted once.'),
  bytesTotal: z.int().describe('Compressed bytes needed, each layer counted once.'),
  bytesPerSecond: z.int().describe('Rate over the last seconds.'),
});
export type PrecacheProgress = z.output<typeof PrecacheProgress>;

/** Phases of the puller, in order. */
export const PullerPhase = z.enum(['listing', 'checking-space', 'pulling', 'done', 'failed']);
export type PullerPhase = z.output<typeof PullerPhase>;

/**
 * What the puller prints once a second, writes into annotation `flotilla.io/progress` of its Job as JSON, and leaves as its
 * termination message.
 */
export const PullerReport = z.object({
  phase: PullerPhase,
  ...PrecacheProgress.shape,
  /** Images whose bytes are not counted: the registry did not tell them, the node's runtime was left to find them. */
  imagesUnsized: z.int().optional(),
  /** Bytes read from registries to build the list: they cross the link again when the runtime pulls their images. */
  bytesForList: z.int().optional(),
  /** Images that could not be pulled, at most ten; texts of at most 256 characters, where `…` stands for the image's name and what is left out. */
  failures: z.array(z.object({ image: z.string(), error: z.string() })).default([]),
  /** Set at the end: why it failed, or absent. */
  message: z.string().optional(),
  /** RFC 3339. */
  at: z.string(),
});
export type PullerReport = z.output<typeof PullerReport>;

/** Exit codes of the image puller. */
export const PullerExit = {
  done: 0,
  /** Anything not listed below. */
  internal: 1,
  badSpec: 10,
  registryRefused: 11,
  noSpace: 12,
  partlyDone: 13,
  interrupted: 14,
} as const;

/** `spaceRequired` when nobody says otherwise, in GiB (spec/talm 3.3); for a platform image or additional images alone (spec/talm 4.1). */
export const DEFAULT_SPACE_REQUIRED = '35';
