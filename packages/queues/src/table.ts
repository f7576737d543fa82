import { BackupState, PrecacheState, PrecachingSpec } from '@flotilla/api/ran';
import { z } from 'zod';

/** One queue: its name in the store, what a job carries, and how runs are bounded and repeated. Times are milliseconds. */
export interface QueueDefinition<P> {
  readonly name: string;
  readonly payload: z.ZodType<P>;
  /** What work is about: wakes for the same key are one piece of work. */
  readonly key: (payload: P) => string;
  /** A run that takes longer is aborted and counts as failed. */
  readonly runTimeoutMs: number;
  /** First and longest delay after failures in a row; jitter is on top. */
  readonly backoff: { readonly baseMs: number; readonly maxMs: number };
  /** A process that dies keeps its runs this long, twice at most; default 15 000. */
  readonly lockMs?: number;
}

/** A queue whose keys one process keeps in memory (`startStepQueue`). */
export interface StepQueueDefinition<P> extends QueueDefinition<P> {
  /** A job that has not started after this long is added again, in case the store lost it; then after twice as long, and so on. */
  readonly watchdogMs: number;
  /** A job that another process must have, since this one has nothing to do, is replaced after this long. More than `runTimeoutMs`. */
  readonly remoteTimeoutMs: number;
}

/** The upgrade that work is for. */
const Upgrade = z.object({ namespace: z.string().min(1), name: z.string().min(1), uid: z.string().min(1) });

/**
 * A step of one cluster's job. It carries what the leader knows and no cache says, so that any process can run it; everything else the
 * step observes. Answers name `known` again: what was known when a step began may be out of date when it ends.
 */
const spokeJobStep = <S extends z.ZodType<string>, I extends z.ZodType>(state: S, inputs: I) =>
  z.object({
    upgrade: Upgrade,
    cluster: z.string().min(1),
    known: z.object({
      state,
      /** State in the upgrade's status. */
      stored: state.optional(),
      /** Who else runs such a job on the cluster. */
      heldBy: z.string().optional(),
      /** That one has its verdict for the cluster. */
      holderEnded: z.boolean().optional(),
      /** Since when the cluster is waited for while it has no view, milliseconds since the epoch. */
      since: z.number(),
      /** Why its last steps failed. */
      trouble: z.string().optional(),
      /** Counts changes of `inputs`. */
      revision: z.int(),
    }),
    /** Clusters of the upgrade. */
    clusters: z.int(),
    inputs,
  });

/** A step of one cluster's pre-caching. */
export const PrecacheStep = spokeJobStep(
  PrecacheState,
  z.object({
    spec: PrecachingSpec,
    /** Image of the puller. */
    image: z.string(),
    profile: z.enum(['least-privilege', 'talm']),
    /** Seconds the job may run. */
    jobSeconds: z.int(),
  }),
);
export type PrecacheStep = z.output<typeof PrecacheStep>;

/** A step of one cluster's backup. */
export const BackupStep = spokeJobStep(BackupState, z.object({ /** Image that takes the backup. */ image: z.string() }));
export type BackupStep = z.output<typeof BackupStep>;

/** What has to be true once for a whole batch. Batches count from 1; 0 is the time before the first. */
export const RolloutBatch = z.object({ upgrade: Upgrade, batch: z.int().min(0) });
export type RolloutBatch = z.output<typeof RolloutBatch>;

/** What has to be true for one cluster of a rollout; what that is, the processor reads from the stored status. */
export const RolloutStep = z.object({
  upgrade: Upgrade,
  cluster: z.string().min(1),
  phase: z.enum(['prepare', 'remediate', 'complete', 'cleanup']),
});
export type RolloutStep = z.output<typeof RolloutStep>;

/** The queue of a kind of job on spokes. */
const spokeJobQueue = <P extends { readonly upgrade: z.output<typeof Upgrade>; readonly cluster: string }>(
  name: string,
  payload: z.ZodType<P>,
): StepQueueDefinition<P> => ({
  name,
  payload,
  key: ({ upgrade, cluster }) => `${upgrade.uid}/${cluster}`,
  runTimeoutMs: 60_000,
  watchdogMs: 5_000,
  remoteTimeoutMs: 120_000,
  backoff: { baseMs: 500, maxMs: 60_000 },
});

const define = <P>(definition: QueueDefinition<P>): QueueDefinition<P> => definition;

/** Every queue. Producers and workers both parse payloads with what stands here. */
export const queues = {
  // Step queues: the leader keeps their keys in memory (startStepQueue, startStepWorker).
  precacheStep: spokeJobQueue('precache-step', PrecacheStep),
  backupStep: spokeJobQueue('backup-step', BackupStep),
  // Batches and their steps: their keys are in the store alone (startBatchQueue, startBatchWorker).
  rolloutBatch: define({
    name: 'rollout-batch',
    payload: RolloutBatch,
    key: ({ upgrade, batch }) => `${upgrade.uid}/${batch}`,
    runTimeoutMs: 60_000,
    backoff: { baseMs: 500, maxMs: 60_000 },
  }),
  rolloutStep: define({
    name: 'rollout-step',
    payload: RolloutStep,
    key: ({ upgrade, cluster, phase }) => `${upgrade.uid}/${cluster}/${phase}`,
    runTimeoutMs: 60_000,
    backoff: { baseMs: 500, maxMs: 60_000 },
  }),
} as const;
