/** The payloads of the rollout's queues: identities alone. */
import type { RolloutBatch, RolloutStep } from '@flotilla/queues';

/** Payload of a spoke's step (queue `rolloutStep`). */
export type SpokeStep = Readonly<RolloutStep>;

/** Payload of a batch (queue `rolloutBatch`). `batch` counts from 1; 0 is the time before the first. */
export type BatchStep = Readonly<RolloutBatch>;
