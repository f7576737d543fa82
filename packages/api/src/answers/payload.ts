import { z } from 'zod';
import { Figure } from './figure.ts';

/** One operator that a release waits for. */
const PayloadWait = z.object({
  operator: z.string().describe('Name of the ClusterOperator.'),
  says: z.string().describe('Its own condition, in its own words.'),
  since: z.string().optional().describe('Since when the condition is so; absent where the operator does not say.'),
  isNamed: z.boolean().describe('The ClusterVersion names it as what it waits for.'),
});
export type PayloadWait = z.output<typeof PayloadWait>;

/** Progress of a release on a cluster. */
export const PayloadStatusAnswer = z.object({
  server: z.string().describe('Address of the API server of the cluster.'),
  stage: z
    .enum(['applied', 'applying', 'failing', 'refused', 'unseen'])
    .describe('refused: the release that is wanted is not taken. unseen: no operator has looked at the ClusterVersion yet.'),
  version: z.string().optional().describe('The release that is applied, or being applied.'),
  from: z.string().optional().describe('The release before it.'),
  startedAt: z.string().optional().describe('When it was begun.'),
  completedAt: z.string().optional().describe('When it was applied.'),
  level: z
    .object({ done: z.int().describe('Manifests that are applied.'), total: z.int().describe('Manifests of the release.') })
    .optional()
    .describe('How far it is; absent where the operator does not say.'),
  says: z.string().describe("The ClusterVersion's own sentence."),
  since: z.string().optional().describe('Since when it is in this stage.'),
  waits: z.array(PayloadWait).describe('Operators that are waited for, at most twenty, those that the ClusterVersion names first.'),
  secondsLeft: Figure.describe('Until it is applied.'),
  endsAt: z.string().optional().describe('When that is; absent where nobody can tell.'),
  notes: z.array(z.string()).describe('What could not be looked at.'),
});
export type PayloadStatusAnswer = z.output<typeof PayloadStatusAnswer>;
