/** A part of what an upgrade does on its spokes: a job, the rollout, cleaning. Types alone. */
import type { Watch } from '@flotilla/runtime';
import type { SpokeKey } from './spoke-key.ts';

/** Plans one spoke by its stored status and the caches, and applies the plan; true when it wrote. Idempotent; the signal stops it between two writes. */
export type SpokeStep = (key: SpokeKey, signal: AbortSignal) => Promise<boolean>;

/** Missing writes of a part on the hub for one spoke. */
export interface PartPlan {
  /** Description of the missing writes that are due; equal descriptions mean equal effects. Empty: none. */
  readonly writes: string;
  /** When another plan may differ without any event, milliseconds since the epoch. */
  readonly at?: number | undefined;
  /** Nobody waits for it: what upgrades wait for goes first; default false. */
  readonly yields?: boolean | undefined;
}

/** A part as the leader reconciles it. */
export interface SpokePart {
  readonly name: 'precache' | 'backup' | 'rollout' | 'precache-cleaning' | 'backup-cleaning' | 'pins';
  /** Workers take no step of it; default false. */
  readonly leaderAlone?: boolean;
  /** Its keys are those of spokes, or stand for all spokes of an upgrade. */
  readonly watches: readonly Watch[];
  readonly plan: (key: SpokeKey) => PartPlan;
  readonly step: SpokeStep;
  /** Spokes that a key of the whole upgrade stands for, of an upgrade that is gone none; default: none. */
  readonly clustersOf?: (upgradeUid: string) => Iterable<string>;
}
