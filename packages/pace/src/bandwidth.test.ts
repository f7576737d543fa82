import { expect, test } from 'vitest';
import { ManualClock } from '../testing/index.ts';
import { BandwidthLimit } from './bandwidth.ts';

/** Takes so many times from one limit at once, and returns a list of the times of their turns. */
function takeAll(limit: BandwidthLimit, clock: ManualClock, sizes: readonly number[]): number[] {
  const turns: number[] = [];
  for (const size of sizes) void limit.take(size).then(() => turns.push(clock.now()));
  return turns;
}

test('the first transfer begins at once, and each next when the link is free, in order', async () => {
  const clock = new ManualClock(0);
  const turns = takeAll(new BandwidthLimit(1_000, clock), clock, [500, 250, 1_000, 10]);
  await clock.advance(5_000);
  expect(turns).toEqual([0, 500, 750, 1_750]);
});

test('idle time gives no credit', async () => {
  const clock = new ManualClock(0);
  const limit = new BandwidthLimit(1_000, clock);
  takeAll(limit, clock, [100]);
  await clock.advance(10_000);
  const turns = takeAll(limit, clock, [100, 100, 100]);
  await clock.advance(1_000);
  expect(turns[2]).toBeGreaterThanOrEqual(10_190);
});

test('no second gets more than its bytes, whatever the sizes', async () => {
  const clock = new ManualClock(0);
  const sizes = Array.from({ length: 300 }, (_, index) => 1 + ((index * 7919) % 3_000));
  const turns = takeAll(new BandwidthLimit(100_000, clock), clock, sizes);
  await clock.advance(60_000);
  expect(turns).toHaveLength(sizes.length);
  const bins = new Map<number, number>();
  for (const [index, at] of turns.entries())
    bins.set(Math.floor(at / 1_000), (bins.get(Math.floor(at / 1_000)) ?? 0) + (sizes[index] ?? 0));
  // A transfer that begins at the end of a second counts there whole.
  expect(Math.max(...bins.values())).toBeLessThanOrEqual(104_000);
});

test('a clock that is set back holds nothing up for longer than the last transfer', async () => {
  const clock = new ManualClock(1_000_000);
  let back = 0;
  const limit = new BandwidthLimit(1_000, { now: () => clock.now() - back, setTimer: (ms, fn) => clock.setTimer(ms, fn) });
  const first = takeAll(limit, clock, [1_000]);
  await clock.advance(0);
  back = 3_600_000;
  const turns = takeAll(limit, clock, [1_000, 1_000]);
  await clock.advance(3_000);
  expect([first.length, turns.length]).toEqual([1, 2]);
});

test('an abort ends one wait and frees the next', async () => {
  const clock = new ManualClock(0);
  const limit = new BandwidthLimit(1_000, clock);
  const stop = new AbortController();
  const turns = takeAll(limit, clock, [1_000]);
  const refused = expect(limit.take(5_000, stop.signal)).rejects.toThrow('enough');
  const last = takeAll(limit, clock, [10]);
  await clock.advance(1);
  stop.abort(new Error('enough'));
  await refused;
  await clock.advance(1_000);
  expect([turns, last]).toEqual([[0], [1_000]]);
});
