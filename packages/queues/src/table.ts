import { z } from 'zod';

/** One queue: its name in the store, what a job carries, and how runs are bounded and repeated. Times are milliseconds. */
export interface QueueDefinition<P> {
  readonly name: string;
  readonly payload: z.ZodType<P>;
  /** What work is about: wakes for the same key are one piece of work. */
  readonly key: (payload: P) => string;
  /** A run that takes longer is aborted and counts as failed. */
  readonly runTimeoutMs: number;
  /** A job that has not started after this long is added again, in case the store lost it; then after twice as long, and so on. */
  readonly watchdogMs: number;
  /** First and longest delay after failures in a row; jitter is on top. */
  readonly backoff: { readonly baseMs: number; readonly maxMs: number };
}

/** A step of one cluster's pre-caching: names alone, the step observes everything else. */
export const PrecacheStep = z.object({
  upgrade: z.object({ namespace: z.string().min(1), name: z.string().min(1), uid: z.string().min(1) }),
  cluster: z.string().min(1),
});
export type PrecacheStep = z.output<typeof PrecacheStep>;

const define = <P>(definition: QueueDefinition<P>): QueueDefinition<P> => definition;

/** Every queue. Producers and workers both parse payloads with what stands here. */
export const queues = {
  precacheStep: define({
    name: 'precache-step',
    payload: PrecacheStep,
    key: ({ upgrade, cluster }) => `${upgrade.uid}/${cluster}`,
    runTimeoutMs: 60_000,
    watchdogMs: 5_000,
    backoff: { baseMs: 500, maxMs: 60_000 },
  }),
} as const;
