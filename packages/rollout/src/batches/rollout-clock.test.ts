import { expect, test } from 'vitest';
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

test('a pause that lasts over the time between two windows stops the clock once, also when its batch has ended', () => {
  // Open from 6 to 10 o'clock, in hours since the first midnight.
  const [HOUR, DAY] = [60 * MINUTE, 24 * 60 * MINUTE];
  const openMs = (until: number) => Math.floor(until / DAY) * 4 * HOUR + Math.min(Math.max((until % DAY) - 6 * HOUR, 0), 4 * HOUR);
  const closedMs = (from: number, to: number) => to - from - (openMs(to) - openMs(from));
  const pause = { reason: 'Paused', message: '', why: '', stops: false } as const;
  const at = (hour: number, times: RolloutClock['times'], isPaused = false) =>
    new RolloutClock({ times, gates: { closedMs, ...(isPaused && { pause }) }, timeoutMs: 8 * HOUR, now: hour * HOUR });
  const begun = at(7, { startedAt: new Date(6 * HOUR).toISOString() });
  begun.startBatch();
  const paused = at(8, begun.times, true);
  const resumed = at(32, paused.times);
  expect(resumed.deadline / HOUR).toBe(6 + 24 + 8);
  const ended = at(32.5, resumed.times);
  ended.endBatch();
  expect(ended.deadline / HOUR).toBe(6 + 24 + 8);
});
