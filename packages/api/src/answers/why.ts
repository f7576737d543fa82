import { z } from 'zod';

/** Everything that a spoke, or an upgrade as a whole, can wait for. The first that applies is the cause. */
export const WaitCause = z.enum([
  'hub-silent',
  'not-planned',
  'refused',
  'cluster-missing',
  'cluster-denied',
  'cluster-unavailable',
  'agent-silent',
  'precache-line',
  'precache-claim',
  'precache-prepare',
  'precache-start',
  'precache-pull',
  'precache-problem',
  'gate-precaching',
  'gate-enable',
  'gate-annotations',
  'paused',
  'held',
  'cluster-hours',
  'limit',
  'gate-window',
  'gate-blocking',
  'gate-backup',
  'gate-filter',
  'placement',
  'wave',
  'batch',
  'edits',
  'leave',
  'policy',
  'work',
  'soak',
  'clean-up',
  'done',
  'failed',
  'not-a-member',
]);
export type WaitCause = z.output<typeof WaitCause>;

/** One step of the chain: what is so, and the evidence for it. */
export const WhyLink = z.object({
  says: z.string().describe('What is so, in a sentence.'),
  object: z.string().describe('Kind and name of the object that shows it, on the hub.'),
  field: z.string().describe('Path of the field.'),
  value: z.string().describe('Its value.'),
  observedAt: z.string().optional().describe('When this was last known to be so; absent where nobody can tell.'),
  isUnknown: z.boolean().describe('The evidence is too old to go by, or could not be read.'),
});
export type WhyLink = z.output<typeof WhyLink>;

/** End of a wait. */
export const Release = z.object({
  says: z.string().describe('A sentence: what would release it.'),
  byItself: z.boolean().describe('It ends without anybody doing anything.'),
  at: z.string().optional().describe('When it ends by itself at the latest, where that is known.'),
});
export type Release = z.output<typeof Release>;

/** Why one spoke, or the upgrade as a whole, waits. */
export const WhyAnswer = z.object({
  upgrade: z.string().describe('The ClusterGroupUpgrade, namespace/name.'),
  cluster: z.string().optional().describe('The spoke that was asked about; absent for the upgrade as a whole.'),
  cause: WaitCause.describe('What all of the chain waits for.'),
  isCertain: z.boolean().describe('No link of the chain is unknown.'),
  chain: z.array(WhyLink).describe('From what was asked about to the cause.'),
  release: Release.describe('What releases the last link.'),
  notes: z.array(z.string()).describe('What could not be looked at, and the right that is missing.'),
});
export type WhyAnswer = z.output<typeof WhyAnswer>;

/** Spokes that wait for the same. */
export const FoldedWait = z.object({
  cause: WaitCause.describe('What they wait for.'),
  says: z.string().describe('The same as a sentence.'),
  clusters: z.int().describe('How many wait for it.'),
  example: z.string().describe('One of them.'),
  since: z.string().optional().describe('Since when, where that is known.'),
});
export type FoldedWait = z.output<typeof FoldedWait>;

/** Why the spokes of an upgrade wait: causes with counts, the worst first, and the chain of the first. */
export const WhyAllAnswer = z.object({
  upgrade: z.string().describe('The ClusterGroupUpgrade, namespace/name.'),
  waits: z
    .array(FoldedWait)
    .describe(
      'At most twenty causes: failures, then silent clusters, then what is blocked, then what goes on; of those the one that most wait for first.',
    ),
  first: WhyAnswer.describe('The chain of the example of the first cause, or of the upgrade itself when no spoke waits.'),
});
export type WhyAllAnswer = z.output<typeof WhyAllAnswer>;
