/** Counts waits that are older than they should become. Pure. */
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { RolloutClock } from '../batches/rollout-clock.ts';
import { closedMs } from '../gates/window.ts';
import { WINDOW_KEYS } from '../upgrade/annotations.ts';
import { MINUTE_MS, readDuration } from '../values/formats.ts';
import { readWait, type Wait } from '../waits/wait.ts';

/**
 * Clusters whose stored wait is older than the time-out of their batch; the upgrade as a whole counts as one. Time for which the clock of the
 * rollout stands still makes no wait older.
 * @param now milliseconds since the epoch
 */
export function countOverdue(upgrade: ClusterGroupUpgrade, now: number): number {
  const { spec, status } = upgrade;
  const waits = Object.values(status?.messages ?? {}).flatMap((message) => readWait(message) ?? []);
  if (waits.length === 0 || !spec || status?.status.pausedAt !== undefined) return 0;
  const { currentBatch = 0, currentBatchStartedAt, currentBatchPausedSeconds = 0 } = status?.status ?? {};
  const gates = { closedMs: (from: number, to: number) => closedMs(upgrade, from, to) };
  const clock = new RolloutClock({ times: status?.status ?? {}, gates, timeoutMs: spec.remediationStrategy.timeout * 60_000, now });
  const batch = Math.max(currentBatch, 1);
  const limitMs = clock.batchTimeoutMs(batch, Math.max(status?.remediationPlan?.length ?? 0, batch));
  const stoodStill = (since: number): number =>
    currentBatchStartedAt === undefined ? gates.closedMs(since, now) : currentBatchPausedSeconds * 1000;
  const isOverdue = ({ since, until }: Wait): boolean =>
    (until !== undefined && now > until) || (since !== undefined && now - since - stoodStill(since) > limitMs);
  return waits.filter(isOverdue).length;
}

/**
 * Clusters that have waited for a place for longer than a window of their upgrade lasts, or than its time-out where no window recurs.
 * @param now milliseconds since the epoch
 */
export function countStarved({ metadata, spec, status }: ClusterGroupUpgrade, now: number): number {
  const messages = [status?.messages, status?.precaching?.messages].flatMap((each) => Object.values(each ?? {}));
  const lengthMs =
    readDuration(metadata.annotations?.[WINDOW_KEYS.duration] ?? '', { shortestMs: 0, longestMs: Number.MAX_SAFE_INTEGER }) ??
    (spec?.remediationStrategy.timeout ?? 0) * MINUTE_MS;
  return messages.filter((message) => {
    const wait = readWait(message);
    return wait?.cause === 'limit' && wait.since !== undefined && now - wait.since > lengthMs;
  }).length;
}
