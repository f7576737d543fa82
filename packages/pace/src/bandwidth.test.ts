import { expect, test } from 'vitest';
import { ManualClock } from '../testing/index.ts';
import { BandwidthLimit } from './bandwidth.ts';
import { pause } from './clock.ts';

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

test.each([
  { cap: 32_000_000, bytes: 1_000_000 },
  { cap: 1_000_000_000_000, bytes: 4 * 1024 * 1024 },
  { cap: 1_000_000, bytes: 31_250 },
  { cap: 16_384, bytes: 16 * 1024 },
  { cap: undefined, bytes: 4 * 1024 * 1024 },
])('a cap of $cap bytes a second lets $bytes through at once', async ({ cap, bytes }) => {
  expect(await new BandwidthLimit(cap, new ManualClock(0)).take(2 ** 30)).toBe(bytes);
});

/** Bytes by second of sixteen streams that take all they get, while the rate changes: by second, to bytes a second. */
async function bytesBySecond(rates: Readonly<Record<number, number | undefined>>, seconds: number): Promise<number[]> {
  const clock = new ManualClock(0);
  const limit = new BandwidthLimit(rates[0], clock);
  const bins = Array.from({ length: seconds }, () => 0);
  let second = 0;
  const stop = new AbortController();
  const stream = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const bytes = await limit.take(50_000_000, stop.signal);
      bins[second] = (bins[second] ?? 0) + bytes;
      // Without a bound a transfer takes its time too.
      await pause(clock, 40, stop.signal);
    }
  };
  const streams = Array.from({ length: 16 }, () => stream().catch(() => undefined));
  for (; second < seconds; second++) {
    if (second in rates) limit.bytesPerSecond = rates[second];
    await clock.advance(1_000);
  }
  stop.abort();
  await clock.advance(1_000);
  await Promise.all(streams);
  return bins.slice(0, seconds);
}

test.each([
  { name: 'falls', rates: { 0: 100_000_000, 5: 1_000_000 } },
  { name: 'rises', rates: { 0: 1_000_000, 5: 100_000_000 } },
  { name: 'comes', rates: { 0: undefined, 5: 1_000_000 } },
  { name: 'falls again and again', rates: { 0: 100_000_000, 2: 10_000_000, 3: 5_000_000, 4: 4_000_000, 5: 500_000 } },
])('a rate that $name holds from that second on', async ({ rates }) => {
  const bins = await bytesBySecond(rates, 10);
  for (const [second, bytes] of bins.entries()) {
    const from =
      Object.keys(rates)
        .map(Number)
        .findLast((at) => at <= second) ?? 0;
    const rate = (rates as Record<number, number | undefined>)[from];
    if (rate === undefined) continue;
    expect(bytes, `second ${second}`).toBeLessThanOrEqual(rate * 1.05);
    expect(bytes, `second ${second}`).toBeGreaterThan(rate * 0.9);
  }
});

test('who waits for a turn gets it by a higher rate at once', async () => {
  const clock = new ManualClock(0);
  const limit = new BandwidthLimit(100, clock);
  const turns = takeAll(limit, clock, [10_000, 100]);
  await clock.advance(1_000);
  limit.bytesPerSecond = 10_000;
  await clock.advance(990);
  expect(turns).toEqual([0, 1_990]);
});
