import { backOffMs } from '@flotilla/pace';
import type { FeedbackMode } from './feedback.ts';
import type { WorkStatus } from './status.ts';

/** Hub writes of one agent about works: the stock agent's limit, apart from actions and views (spec/ocm 4.3). */
export const WORK_HUB_QPS = 50;
/** Writes of works to the hub at once, before the rate counts (spec/ocm 4.3). */
export const WORK_HUB_BURST = 100;

/** How often a work is looked at, and how. */
export interface WorkCadence {
  /** Milliseconds between two reads of feedback and availability while nothing changes. */
  readonly statusSyncMs: number;
  /** Milliseconds between two repairs of drift; up to half as much is added. */
  readonly resyncMs: number;
  /** Default `settled`. */
  readonly feedback?: FeedbackMode;
  /**
   * Milliseconds between two reads of a work that asks to be watched (`feedbackScrapeType: Watch`). Absent: it is polled like the others,
   * unless whoever makes the passes says by `isTold` that an object has changed.
   */
  readonly watchedReadMs?: number;
}
/** As often as the stock work agent looks (spec/ocm 4.3). */
export const DEFAULT_WORK_CADENCE: WorkCadence = { statusSyncMs: 10_000, resyncMs: 240_000 };

/** What an agent remembers of a work between two passes; losing it means one more apply. */
export interface WorkMemory {
  readonly uid: string | undefined;
  readonly generation: number | undefined;
  /** It is being deleted: the objects are released, not applied. */
  readonly isEnding: boolean;
  readonly nextApplyAtMs: number;
  readonly nextReadAtMs: number;
  /** Reads in a row that found no change. */
  readonly quietReads: number;
  /** Applies in a row with a manifest that failed. */
  readonly failures: number;
}

/** What a pass wants written to the hub, in this order, and when to look again. */
export interface WorkPass {
  /** New `metadata.finalizers`. */
  readonly finalizers?: string[];
  readonly status?: WorkStatus;
  readonly memory?: WorkMemory | undefined;
  /** Undefined: when the work changes. */
  readonly requeueAfterMs?: number;
}

/** When and how a pass is made. */
export interface WorkMoment {
  readonly nowMs: number;
  /** In [0, 1). */
  readonly random: number;
  readonly cadence: WorkCadence;
  /** A watched object of the work has changed: it is read now, whenever it would be due. */
  readonly isTold?: boolean;
}

const FIRST_READ_MS = 1000;
const LAST_RETRY_MS = 60_000;

/** Milliseconds until a work is due again. */
export const untilNext = ({ nextApplyAtMs, nextReadAtMs }: WorkMemory, nowMs: number): number =>
  Math.max(0, Math.min(nextApplyAtMs, nextReadAtMs) - nowMs);

/** Soon after a change, then less and less often, at last at the steady pace; the stock agent always waits up to 1.9 times that. */
export function readDelay(quietReads: number, { random, cadence }: WorkMoment, isWatched: boolean): number {
  if (cadence.feedback === 'immediate') return cadence.statusSyncMs * (1 + 0.9 * random);
  const steadyMs = Math.min(cadence.statusSyncMs, (isWatched && cadence.watchedReadMs) || Number.POSITIVE_INFINITY);
  return backOffMs({ baseMs: FIRST_READ_MS, maxMs: steadyMs * (1 + random / 10), floor: 1 }, quietReads + 1);
}

/** A failed manifest is tried again soon: what it lacks is often on its way. */
export const applyDelay = (failures: number, { random, cadence }: WorkMoment): number =>
  failures === 0
    ? cadence.resyncMs * (1 + random / 2)
    : backOffMs({ baseMs: FIRST_READ_MS, maxMs: Math.min(LAST_RETRY_MS, cadence.resyncMs), floor: 1 }, failures);
