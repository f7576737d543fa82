import { z } from 'zod';
import { Figure } from './figure.ts';
import { WindowState } from './status.ts';

/** Clusters that would pull alike. */
export const PlannedPull = z.object({
  clusters: z.int().describe('How many they are.'),
  example: z.string().describe('One of them.'),
  says: z.string().describe('What is known of their images.'),
  architecture: z.string().optional().describe("Their nodes', in Go's words; absent where nobody said it."),
  runtime: z.string().optional().describe('Name and version of their container runtime; absent where nobody said it.'),
  images: z.object({ missing: Figure.describe('Images that are not there.'), of: z.int().describe('Images in all.') }).optional(),
  bytes: Figure.describe('Compressed bytes that each pulls.'),
  space: Figure.describe('Bytes that must be free on each.'),
  free: Figure.describe('Bytes that are free below the threshold of the kubelet, on the one with the least.'),
  seconds: Figure.describe('Time of the pull, on the slowest.'),
  fits: z.boolean().optional().describe('There is room for it; absent where nobody can say.'),
});
export type PlannedPull = z.output<typeof PlannedPull>;

/** Plan of an upgrade, before anything moves. */
export const PlanAnswer = z.object({
  upgrade: z.string().describe('The ClusterGroupUpgrade, namespace/name.'),
  refused: z.string().optional().describe('Why the hub would not start it, in its words; the rest is then as far as it is known.'),
  batches: z.array(z.array(z.string())).describe('Clusters by batch, canaries first.'),
  compliant: z.int().describe('Clusters of the upgrade that have nothing to do.'),
  changes: z.array(z.string()).describe('Policies that would be enforced, or templates that would be rolled out, in order.'),
  window: WindowState.describe('The window in which batches start.'),
  hours: z
    .object({
      count: z.int().describe('How many they are.'),
      clusters: z.array(z.string()).describe('Of them, at most ten.'),
    })
    .optional()
    .describe("Clusters whose own hours, on their ManagedCluster, have no time in the upgrade's window; absent where there are none."),
  images: z
    .object({
      count: z.int().describe('Images that could be read, each digest once.'),
      layers: z.int().describe('Their layers, each once.'),
      bytes: z.number().describe('Compressed bytes of these layers.'),
      unread: z.int().describe('Images that could not be read: with any, the figures of pulls are unknown.'),
      platform: z.string().describe('For which the images were looked up.'),
      unresolved: z
        .array(z.object({ image: z.string(), why: z.string() }))
        .describe('Images that could not be read, each with its cause, at most ten.'),
    })
    .optional()
    .describe('The images to pre-cache; absent for an upgrade that pre-caches none, or where nobody looked.'),
  pulls: z.array(PlannedPull).describe('What clusters pull, alike ones together, the largest group first.'),
  bytes: Figure.describe('Bytes that all of them pull together.'),
  precache: z
    .object({
      seconds: z.number().describe('Time until the window opens.'),
      inTime: z.int().describe('Clusters whose pull would end by then, begun now.'),
      late: z.int().describe('Clusters whose pull would not.'),
      unknown: z.int().describe('Clusters of which nobody can say it.'),
    })
    .optional()
    .describe('Pulls against a window that is still closed; absent without one.'),
  rollout: z
    .object({
      seconds: Figure.describe('Time of all batches.'),
      windowSeconds: z.number().optional().describe('How long the window is open, or stays so.'),
      fits: z.boolean().optional().describe('They end before the window closes; absent where nobody can say.'),
    })
    .describe('The batches against the window.'),
  digest: z
    .string()
    .optional()
    .describe('Binds the upgrade to this plan as annotation flotilla.io/plan; absent where there is no whole plan.'),
  notes: z.array(z.string()).describe('What the figures leave out, and what could not be looked at.'),
});
export type PlanAnswer = z.output<typeof PlanAnswer>;
