import { expect, test } from 'vitest';
import { ManualClock, SkippingClock } from '../testing/index.ts';
import { pause, systemClock } from './clock.ts';

test('the system clock is never early and can be cancelled', async () => {
  const started = performance.now();
  let cancelled = false;
  systemClock
    .setTimer(5, () => {
      cancelled = true;
    })
    [Symbol.dispose]();
  await pause(systemClock, 20);
  expect(performance.now() - started).toBeGreaterThanOrEqual(20);
  expect(cancelled).toBe(false);
});

test('a timer longer than setTimeout allows does not fire at once', async () => {
  let fired = false;
  using _timer = systemClock.setTimer(2 ** 40, () => {
    fired = true;
  });
  await pause(systemClock, 10);
  expect(fired).toBe(false);
});

test('a pause ends with its signal and leaves no timer', async () => {
  const clock = new ManualClock();
  const stop = new AbortController();
  const pausing = pause(clock, 1_000, stop.signal);
  expect(clock.pending).toBe(1);
  stop.abort();
  await pausing;
  expect(clock.pending).toBe(0);
  await pause(clock, 1_000, stop.signal);
});

test('the manual clock fires in order, each at its own time, also what is set on the way', async () => {
  const clock = new ManualClock(0);
  const fired: [string, number][] = [];
  const note = (name: string) => () => void fired.push([name, clock.now()]);
  clock.setTimer(20, note('b'));
  clock.setTimer(10, () => {
    note('a')();
    clock.setTimer(5, note('a2'));
  });
  clock.setTimer(20, note('c'));
  clock.setTimer(50, note('later'));
  await clock.advance(30);
  expect(fired).toEqual([
    ['a', 10],
    ['a2', 15],
    ['b', 20],
    ['c', 20],
  ]);
  expect([clock.now(), clock.pending, clock.nextAt]).toEqual([30, 1, 50]);
});

test('the skipping clock goes as the machine does, and what is skipped falls due at once, in order', async () => {
  const clock = new SkippingClock();
  const before = clock.now();
  expect(Math.abs(before - Date.now())).toBeLessThan(1_000);
  const fired: string[] = [];
  clock.setTimer(3_600_000, () => fired.push('hour'));
  clock.setTimer(60_000, () => {
    fired.push('minute');
    cancelled[Symbol.dispose]();
  });
  const cancelled = clock.setTimer(120_000, () => fired.push('cancelled on the way'));
  using later = clock.setTimer(7_200_000, () => fired.push('two hours'));
  const soon = pause(clock, 3_600_010);
  clock.skip(3_600_000);
  expect(fired).toEqual(['minute', 'hour']);
  expect(clock.now() - before).toBeGreaterThanOrEqual(3_600_000);
  // The rest of the time must still pass.
  await soon;
  expect(clock.now() - before).toBeGreaterThanOrEqual(3_600_010);
  later[Symbol.dispose]();
  clock.skip(7_200_000);
  expect(fired).toEqual(['minute', 'hour']);
});

test('a fast clock fires a timer at its time, which the machine reaches sooner', async () => {
  const clock = new SkippingClock(1_000);
  const [before, began] = [clock.now(), performance.now()];
  await pause(clock, 60_000);
  expect(clock.now() - before).toBeGreaterThanOrEqual(59_000);
  expect(performance.now() - began).toBeLessThan(30_000);
});
