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
