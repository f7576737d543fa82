import { z } from 'zod';
import { Figure } from './figure.ts';
import { FoldedWait } from './why.ts';

/** Where an upgrade is, in a word. */
export const UpgradeStage = z.enum([
  'unplanned',
  'refused',
  'pre-caching',
  'waiting',
  'preparing',
  'rolling-out',
  'between-batches',
  'cleaning-up',
  'done',
  'partial',
  'failed',
  'timed-out',
  'deleting',
]);
export type UpgradeStage = z.output<typeof UpgradeStage>;

const ENDED: ReadonlySet<UpgradeStage> = new Set(['done', 'partial', 'failed', 'timed-out', 'deleting']);
/** True where nothing in the upgrade begins any more. */
export const hasEnded = ({ stage }: { readonly stage: UpgradeStage }): boolean => ENDED.has(stage);

/** True for an upgrade that got to its end without edits of its spec, which came too late: what its author wants now is not done. */
export const endedWithoutEdits = ({
  stage,
  edits,
}: Pick<StatusAnswer, 'stage'> & { readonly edits?: StatusAnswer['edits'] | null }): boolean =>
  stage === 'done' && edits?.state === 'ignored';

/** Sign of a hub that decides. */
export const HubSign = z.object({
  state: z.enum(['leads', 'silent', 'unseen']).describe('unseen: the Lease could not be read or is not there.'),
  holder: z.string().optional().describe('Who holds the Lease.'),
  renewedAt: z.string().optional().describe('When it was renewed last.'),
  why: z.string().optional().describe('Why nobody can tell.'),
});
export type HubSign = z.output<typeof HubSign>;

/** Clusters whose part has failed for the same cause. */
export const FoldedFailure = z.object({
  says: z.string().describe('The cause, as the example has it.'),
  clusters: z.int().describe('How many failed for it.'),
  example: z.string().describe('One of them.'),
});
export type FoldedFailure = z.output<typeof FoldedFailure>;

/** State of a cluster of the current batch, and the managed upgrade below it. */
export const SpokeProgress = z.object({
  name: z.string().describe('The cluster.'),
  state: z.string().describe('Its state in the batch.'),
  at: z.string().optional().describe('The policy or ManifestWork it is at.'),
  managed: z
    .array(z.string())
    .optional()
    .describe('What its UpgradeConfig or ClusterVersion reports, as far as objects of the hub show it.'),
});
export type SpokeProgress = z.output<typeof SpokeProgress>;

/** The window in which batches of an upgrade start. */
export const WindowState = z.object({
  state: z.enum(['none', 'open', 'closed', 'invalid']).describe('none: it needs no window.'),
  closesAt: z.string().optional().describe('When an open one closes, or the next one does.'),
  opensAt: z.string().optional().describe('When a closed one opens.'),
  says: z.string().optional().describe('Why it is closed or invalid, or what is odd about it.'),
});
export type WindowState = z.output<typeof WindowState>;

/** The window of an upgrade, and the annotations that make it. */
export const WindowAnswer = z.object({
  upgrade: z.string().describe('The ClusterGroupUpgrade, namespace/name.'),
  window: WindowState.describe('How it is now.'),
  annotations: z.record(z.string(), z.string()).describe('Its annotations.'),
});
export type WindowAnswer = z.output<typeof WindowAnswer>;

/** Edits of the spec that the status is not about. */
const SpecEdits = z.object({
  state: z
    .enum(['unprocessed', 'ignored'])
    .describe('unprocessed: no hub has processed them yet. ignored: they came too late to count (condition EditsIgnored).'),
  says: z.string().describe('The same as a sentence.'),
});

/** Progress of an upgrade. */
export const StatusAnswer = z.object({
  upgrade: z.string().describe('The ClusterGroupUpgrade, namespace/name.'),
  stage: UpgradeStage.describe('Where it is. partial: it has ended, and some clusters did not get there.'),
  says: z.string().describe("The hub's own words on it."),
  edits: SpecEdits.optional().describe('Edits of the spec that the rest is not about; absent where there are none.'),
  hub: HubSign.describe('Whether a hub decides now.'),
  batch: z
    .object({ current: z.int().describe('From 1; 0 before the first.'), of: z.int().describe('Batches of the plan.') })
    .describe('Where in the plan it is.'),
  paused: z.string().optional().describe('Why it is paused; absent where it is not.'),
  window: WindowState.describe('The window in which batches start.'),
  clusters: z
    .object({
      total: z.int().describe('Clusters of the upgrade that have something to do.'),
      done: z.int().describe('Complete.'),
      failed: z.int().describe('Failed or timed out.'),
      inBatch: z.int().describe('Under way.'),
      left: z.int().describe('Still to come.'),
    })
    .describe('Clusters by how far they are.'),
  cached: z
    .object({
      done: z.int().describe('Clusters that have the images.'),
      failed: z.int().describe('Clusters that could not get them.'),
      pulling: z.int().describe('Clusters that pull now.'),
      of: z.int().describe('Clusters that are to have them.'),
      states: z.record(z.string(), z.int()).describe('Clusters by pre-caching state.'),
      bytesDone: Figure.describe('Bytes that are there.'),
      bytesTotal: Figure.describe('Bytes that are needed.'),
      bytesPerSecond: Figure.describe('Rate over all clusters that pull.'),
      secondsLeft: Figure.describe('Time until all have them.'),
    })
    .optional()
    .describe('Pre-caching; absent for an upgrade without.'),
  ends: z
    .object({
      seconds: Figure.describe('Time until the last batch has ended, or until it times out where that is earlier: at-most.'),
      latestAt: z.string().optional().describe('When it times out.'),
      fitsWindow: z.boolean().optional().describe('The last batch ends before the window closes, by that forecast.'),
    })
    .optional()
    .describe('Expected end of the rollout; absent before its start and after its end.'),
  waits: z.array(FoldedWait).describe('What clusters wait for, the worst first.'),
  failures: z.array(FoldedFailure).describe('Why clusters failed, the largest first.'),
  current: z.array(SpokeProgress).describe('Clusters of the current batch that are not done, at most twenty.'),
  oldest: z
    .object({
      cluster: z.string().describe('The cluster that was heard of longest ago.'),
      observedAt: z.string().optional().describe('When; absent where it never was.'),
    })
    .optional()
    .describe('Oldest observation among the clusters that are not done.'),
  notes: z.array(z.string()).describe('What could not be looked at, and the right that is missing.'),
});
export type StatusAnswer = z.output<typeof StatusAnswer>;
