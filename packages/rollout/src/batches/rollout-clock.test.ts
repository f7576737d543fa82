import { describe, expect, test } from 'vitest';
import { RolloutClock } from './rollout-clock.ts';

const MINUTE = 60_000;

test.each([
  { name: 'the first of four has a quarter', batch: 1, batches: 4, startedAt: 0, want: 60 },
  { name: 'time that a batch did not need is shared by those after it', batch: 2, batches: 4, startedAt: 30, want: 30 + 70 },
  { name: 'time that was lost is missed by those after it', batch: 3, batches: 4, startedAt: 200, want: 200 + 20 },
  { name: 'the last has all that is left', batch: 4, batches: 4, startedAt: 200, want: 240 },
  { name: 'a batch that starts too late is late at once', batch: 2, batches: 4, startedAt: 250, want: 250 - 10 / 3 },
])('$name', ({ batch, batches, startedAt, want }) => {
  const now = startedAt * MINUTE;
  const times = { startedAt: new Date(0).toISOString(), currentBatchStartedAt: new Date(now).toISOString() };
  const clock = new RolloutClock({ times, gates: {}, timeoutMs: 240 * MINUTE, now });
  expect(clock.batchDeadline(batch, batches) / MINUTE).toBeCloseTo(want, 6);
});

describe('a pause of a batch, with windows from 6 to 10 o’clock', () => {
  // In hours since the first midnight.
  const [HOUR, DAY] = [60 * MINUTE, 24 * 60 * MINUTE];
  const openMs = (until: number) => Math.floor(until / DAY) * 4 * HOUR + Math.min(Math.max((until % DAY) - 6 * HOUR, 0), 4 * HOUR);
  const closedMs = (from: number, to: number) => to - from - (openMs(to) - openMs(from));
  const pause = { reason: 'Paused', message: '', why: '', stops: false } as const;
  const at = (hour: number, times: RolloutClock['times'], isPaused = false) =>
    new RolloutClock({ times, gates: { closedMs, ...(isPaused && { pause }) }, timeoutMs: 8 * HOUR, now: hour * HOUR });
  const startedAt = new Date(6 * HOUR).toISOString();
  /** Deadlines after the pause and after the end of a batch, hours. */
  const deadlines = (hours: { readonly start: number; readonly pause: number; readonly resume: number; readonly end: number }) => {
    const begun = at(hours.start, { startedAt });
    begun.startBatch();
    const resumed = at(hours.resume, at(hours.pause, begun.times, true).times);
    const ended = at(hours.end, resumed.times);
    ended.endBatch();
    return [resumed.deadline / HOUR, ended.deadline / HOUR, at(54, ended.times).deadline / HOUR];
  };

  test('that lasts over the time between two windows stops the clock once, also when the batch has ended', () => {
    const [resumed, ended = 0] = deadlines({ start: 7, pause: 8, resume: 32, end: 32.5 });
    expect(resumed).toBe(6 + 24 + 8);
    // The batch ran for an hour and a half of the window, which may have been the pause's.
    expect(ended - (6 + 24 + 8)).toBeGreaterThanOrEqual(0);
    expect(ended - (6 + 24 + 8)).toBeLessThanOrEqual(1.5);
  });

  test('that lies within the window is not lost when the batch runs on after it', () => {
    const [, , later] = deadlines({ start: 6, pause: 7, resume: 9, end: 12 });
    // At 6 o'clock of the third day: two nights of 20 hours, a pause of 2.
    expect(later).toBe(6 + 40 + 2 + 8);
  });
});
