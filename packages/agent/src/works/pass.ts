import { backOffMs } from '@flotilla/pace';
import type { FeedbackMode } from './feedback.ts';
import type { WorkStatus } from './status.ts';

/** Hub writes a second about works: the stock agent's limit, apart from actions and views (spec/ocm 4.3). */
export const WORK_HUB_QPS = 50;
/** Burst of hub writes about works before the rate applies (spec/ocm 4.3). */
export const WORK_HUB_BURST = 100;

/** Cadence of passes over a work. */
export interface WorkCadence {
  /** Milliseconds between two reads of feedback and availability while nothing changes. */
  readonly statusSyncMs: number;
  /** Milliseconds between two repairs of drift; up to half as much is added. */
  readonly resyncMs: number;
  /** Default `settled`. */
  readonly feedback?: FeedbackMode;
  /**
   * Milliseconds between two reads of a watched work (`feedbackScrapeType: Watch`). Absent: it is polled like others, unless the caller reports
   * changes by `isTold`.
   */
  readonly watchedReadMs?: number;
  /**
   * Milliseconds for which the first status of a generation waits for the controllers of its watched objects, so that one write says applied,
   * available and the first reading. Absent: not at all, as the stock agent.
   */
  readonly firstReportMs?: number;
}
/** Cadence of the stock work agent (spec/ocm 4.3). */
export const DEFAULT_WORK_CADENCE: WorkCadence = { statusSyncMs: 10_000, resyncMs: 240_000 };

/** `firstReportMs` of our agent, milliseconds: a controller that needs longer is busy, and its reading a write of its own. */
export const FIRST_REPORT_MS = 2000;

/** Memory of a work between two passes; its loss costs one more apply. */
export interface WorkMemory {
  readonly uid: string | undefined;
  readonly generation: number | undefined;
  /** The work is under deletion: objects are released, not applied. */
  readonly isEnding: boolean;
  readonly nextApplyAtMs: number;
  readonly nextReadAtMs: number;
  /** Consecutive reads without a change. */
  readonly quietReads: number;
  /** Consecutive applies with a failed manifest. */
  readonly failures: number;
  /** The hub refused the feedback values, in these words: they are left out until the next apply. */
  readonly valuesRefused?: string | undefined;
  /** First status, which waits for the controllers of watched objects until then. */
  readonly unreported?: { readonly status: WorkStatus; readonly untilMs: number } | undefined;
}

/** Writes of a pass to the hub, in this order, and the time of the next pass. */
export interface WorkPass {
  /** New `metadata.finalizers`. */
  readonly finalizers?: string[];
  readonly status?: WorkStatus;
  readonly memory?: WorkMemory | undefined;
  /** Undefined: only a change of the work causes the next pass. */
  readonly requeueAfterMs?: number;
}

/** Circumstances of a pass. */
export interface WorkMoment {
  readonly nowMs: number;
  /** In [0, 1). */
  readonly random: number;
  readonly cadence: WorkCadence;
  /** A watched object of the work has changed, so it is read before its time. */
  readonly isTold?: boolean;
}

const FIRST_READ_MS = 1000;
/** Milliseconds until the first read of an object whose controller has not looked at it yet. */
const UNTOUCHED_READ_MS = 250;
const LAST_RETRY_MS = 60_000;

/** Milliseconds until the next pass of a work. */
export const untilNext = ({ nextApplyAtMs, nextReadAtMs }: WorkMemory, nowMs: number): number =>
  Math.max(0, Math.min(nextApplyAtMs, nextReadAtMs) - nowMs);

/** Milliseconds until the next read: short after a change, then growing to the steady interval. The stock agent always waits up to 1.9 times that. */
export function readDelay(quietReads: number, { random, cadence }: WorkMoment, isWatched: boolean): number {
  if (cadence.feedback === 'immediate') return cadence.statusSyncMs * (1 + 0.9 * random);
  const steadyMs = Math.min(cadence.statusSyncMs, (isWatched && cadence.watchedReadMs) || Number.POSITIVE_INFINITY);
  return backOffMs({ baseMs: FIRST_READ_MS, maxMs: steadyMs * (1 + random / 10), floor: 1 }, quietReads + 1);
}

/** Milliseconds until the next read while the first status waits so long: short, because a controller looks at a new object at once. */
export const heldReadDelay = (quietReads: number, leftMs: number): number =>
  backOffMs({ baseMs: UNTOUCHED_READ_MS, maxMs: leftMs, floor: 1 }, quietReads + 1);

/** Milliseconds until the next apply: short after a failure, because missing objects often arrive soon. */
export const applyDelay = (failures: number, { random, cadence }: WorkMoment): number =>
  failures === 0
    ? cadence.resyncMs * (1 + random / 2)
    : backOffMs({ baseMs: FIRST_READ_MS, maxMs: Math.min(LAST_RETRY_MS, cadence.resyncMs), floor: 1 }, failures);
