/** Estimates how long a rollout still takes, by the time its batches took so far. Pure. */
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { closedMs } from '../gates/window.ts';
import { RolloutClock } from './rollout-clock.ts';

/** Times are milliseconds. */
interface Pace {
  /** Mean of the batches that have ended; undefined in the first one. */
  readonly perBatchMs: number | undefined;
  /** When the current batch would have started had it not been paused, since the epoch. */
  readonly startedAt: number;
  /** Time that the batch had until `now`. */
  readonly takenMs: number;
  /** Batches after the current one. */
  readonly further: number;
}

/**
 * When the rollout ends if each batch takes what the ones before took, at its time-out at the latest; milliseconds since the epoch, the same
 * throughout a batch. Undefined in the first batch, and between batches. Windows and pauses to come are not counted.
 */
export function estimateEnd(upgrade: ClusterGroupUpgrade): number | undefined {
  const pace = paceOf(upgrade, 0);
  if (pace?.perBatchMs === undefined) return undefined;
  const { pausedAt } = upgrade.status?.status ?? {};
  const timesOutAt = rolloutDeadline(upgrade, pausedAt === undefined ? pace.startedAt : Date.parse(pausedAt));
  return Math.min(pace.startedAt + pace.perBatchMs * (pace.further + 1), timesOutAt);
}

/** When the rollout times out, milliseconds since the epoch: it ends then, however long its batches would take. In a pause it moves on with `now`. */
export function rolloutDeadline(upgrade: ClusterGroupUpgrade, now: number): number {
  const { timeout } = upgrade.spec?.remediationStrategy ?? {};
  const gates = { closedMs: (from: number, to: number) => closedMs(upgrade, from, to) };
  const timeoutMs = timeout === undefined ? Number.POSITIVE_INFINITY : timeout * 60_000;
  return new RolloutClock({ times: upgrade.status?.status ?? {}, gates, timeoutMs, now }).deadline;
}

/** Least milliseconds that the batches which are left still take: each takes at least what the current one has taken by now. */
export function leastLeftMs(upgrade: ClusterGroupUpgrade, now: number): number | undefined {
  const pace = paceOf(upgrade, now);
  if (!pace) return undefined;
  const perBatchMs = Math.max(pace.perBatchMs ?? 0, pace.takenMs);
  return perBatchMs - pace.takenMs + perBatchMs * pace.further;
}

function paceOf(upgrade: ClusterGroupUpgrade, now: number): Pace | undefined {
  const { status, remediationPlan = [] } = upgrade.status ?? { status: {} };
  const { startedAt = '', currentBatchStartedAt = '', pausedAt, pausedSeconds = 0, currentBatchPausedSeconds = 0 } = status;
  const [from, at] = [Date.parse(startedAt), Date.parse(currentBatchStartedAt)];
  const ended = (status.currentBatch ?? 0) - 1;
  if (ended < 0 || Number.isNaN(from) || Number.isNaN(at) || status.completedAt) return undefined;
  const endedMs = at - from - closedMs(upgrade, from, at) - (pausedSeconds - currentBatchPausedSeconds) * 1000;
  const until = pausedAt === undefined ? now : Date.parse(pausedAt);
  return {
    perBatchMs: ended === 0 ? undefined : Math.max(endedMs, 0) / ended,
    startedAt: at + currentBatchPausedSeconds * 1000,
    takenMs: Math.max(until - at - closedMs(upgrade, at, until) - currentBatchPausedSeconds * 1000, 0),
    further: Math.max(remediationPlan.length - ended - 1, 0),
  };
}
