import { type QueueStore, queues, startBatchQueue, startBatchWorker, type WorkerHandle } from '@flotilla/queues';
import type { Client, Logger } from '@flotilla/runtime';
import { createBatchStep } from './batch-step.ts';
import type { PlacementCaches } from './caches.ts';
import type { RolloutQueue } from './engine.ts';
import { lookAgain } from './look-again.ts';
import type { SpokeCaches } from './spoke/caches.ts';
import { createSpokeStep } from './spoke/spoke-step.ts';

/** What both ends of the queue need. */
interface QueueDeps {
  readonly store: QueueStore;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

const ends = { batch: queues.rolloutBatch, child: queues.rolloutStep };

/** The leader's end: a batch is one flow of its spokes' steps. A store that is away is asked again by whoever watches the world. */
export function openRolloutQueue({ store, logger, signal }: QueueDeps): RolloutQueue & AsyncDisposable {
  const queue = startBatchQueue({ ...ends, store, signal, log: logger });
  const report = (err: unknown) => logger.error({ err }, 'Asking for a rollout step failed');
  return {
    addBatch: (batch, steps) => void queue.add({ batch, children: steps.map((step) => ({ ...step })) }).catch(report),
    addStep: (step) => void queue.addChild({ ...step }).catch(report),
    [Symbol.asyncDispose]: () => queue.close(),
  };
}

/** Runs batches and steps, in whatever process; the caches are its own, and filled. */
export function startRolloutWorker(
  deps: QueueDeps & {
    readonly client: Client;
    readonly caches: SpokeCaches & PlacementCaches;
    /** Milliseconds since the epoch. */
    readonly now: () => number;
    /** Seconds between a spoke's reports of a Subscription or InstallPlan. */
    readonly viewSeconds: number;
    /** Decide as the reference does. */
    readonly talmStrict: boolean;
    /** Steps of different spokes that run at the same time in this process. */
    readonly concurrency: number;
    /** The watches that steps are asked for by are another process's: this one's may be behind. */
    readonly isRemote: boolean;
  },
): WorkerHandle {
  const { store, logger, signal, concurrency, isRemote } = deps;
  const [batch, step] = [createBatchStep(deps), createSpokeStep(deps)];
  return startBatchWorker({
    ...ends,
    store,
    signal,
    log: logger,
    concurrency,
    processBatch: isRemote ? lookAgain(batch, queues.rolloutBatch.key) : batch,
    processChild: isRemote ? lookAgain(step, queues.rolloutStep.key) : step,
  });
}
