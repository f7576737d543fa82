/** A part of what an upgrade does on its spokes: a job, the rollout, cleaning. Types alone. */
import type { Watch } from '@flotilla/runtime';
import type { SpokeKey } from './spoke-key.ts';

/**
 * Plans one spoke by its stored status and the caches, and applies the plan; true when it wrote. Idempotent; the signal stops it between two writes.
 * @param planned plan that this process has made at this moment; default: the step makes it
 */
export type SpokeStep<P = never> = (key: SpokeKey, signal: AbortSignal, planned?: P) => Promise<boolean>;

/** Missing writes of a part on the hub for one spoke. */
export interface PartPlan {
  /** Description of the missing writes that are due; equal descriptions mean equal effects. Empty: none. */
  readonly writes: string;
  /** Makes these writes, at the moment of the plan; absent where there are none. */
  readonly apply?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
  /** When another plan may differ without any event, milliseconds since the epoch. */
  readonly at?: number | undefined;
  /** Nobody waits for it: what upgrades wait for goes first; default false. */
  readonly yields?: boolean | undefined;
}

/** A part as the leader reconciles it. */
export interface SpokePart {
  readonly name: 'precache' | 'backup' | 'rollout' | 'precache-cleaning' | 'backup-cleaning' | 'pins';
  /** Its keys are those of spokes, or stand for all spokes of an upgrade. */
  readonly watches: readonly Watch[];
  readonly plan: (key: SpokeKey) => PartPlan;
  /** Step of any process that has the key from a queue; absent: the leader alone takes its steps. */
  readonly step?: SpokeStep;
  /** Spokes that a key of the whole upgrade stands for, of an upgrade that is gone none; default: none. */
  readonly clustersOf?: (upgradeUid: string) => Iterable<string>;
}
