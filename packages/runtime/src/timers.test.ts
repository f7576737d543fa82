import type { Clock } from '@flotilla/pace';
import { ManualClock } from '@flotilla/pace/testing';
import { describe, expect, it, test } from 'vitest';
import { IdleTimer, KeyTimers } from './timers.ts';

const START = 1_000_000;

function start() {
  const clock = new ManualClock(START);
  const fired: string[] = [];
  const timers = new KeyTimers(clock, (key) => void fired.push(`${key}@${clock.now() - START}`));
  return { clock, timers, fired };
}

describe('KeyTimers', () => {
  it('fires at the time and not before it', async () => {
    const { clock, timers, fired } = start();
    timers.set('a', START + 250);
    await clock.advance(249);
    expect(fired).toEqual([]);
    await clock.advance(1);
    expect(fired).toEqual(['a@250']);
    expect(timers.size).toBe(0);
  });

  it('waits for a clock on the wall that is behind', () => {
    let now = START;
    const spans: { ms: number; fire: () => void }[] = [];
    const clock: Clock = {
      now: () => now,
      setTimer: (ms, fire) => {
        spans.push({ ms, fire });
        return { [Symbol.dispose]: () => {} };
      },
    };
    const fired: number[] = [];
    new KeyTimers(clock, () => void fired.push(now)).set('a', START + 100);
    now = START + 60;
    spans[0]?.fire();
    expect(fired).toEqual([]);
    now = START + 100;
    spans[1]?.fire();
    expect([spans.map(({ ms }) => ms), fired]).toEqual([[100, 40], [START + 100]]);
  });

  it.each([
    { name: 'a time', isSpan: false },
    { name: 'a span', isSpan: true },
  ])('notices within a minute that the clock on the wall stepped past $name', async ({ isSpan }) => {
    const clock = new ManualClock(START);
    let steppedMs = 0;
    const fired: number[] = [];
    const stepping: Clock = { now: () => clock.now() + steppedMs, setTimer: (ms, fn) => clock.setTimer(ms, fn) };
    new KeyTimers(stepping, () => void fired.push(clock.now() - START)).set('a', START + 3_600_000, isSpan);
    await clock.advance(600_000);
    expect(fired).toEqual([]);
    steppedMs = 3_000_000;
    await clock.advance(60_000);
    expect(fired).toEqual([660_000]);
  });

  it('delays a span by nothing when the clock on the wall steps back', async () => {
    const clock = new ManualClock(START);
    let steppedMs = 0;
    const fired: number[] = [];
    const stepping: Clock = { now: () => clock.now() + steppedMs, setTimer: (ms, fn) => clock.setTimer(ms, fn) };
    new KeyTimers(stepping, () => void fired.push(clock.now() - START)).set('a', START + 150_000, true);
    steppedMs = -660_000;
    await clock.advance(3_600_000);
    expect(fired).toEqual([150_000]);
  });

  it('keeps the earliest time of a slot, and each slot apart', async () => {
    const { clock, timers, fired } = start();
    timers.set('a', START + 500);
    timers.set('a', START + 100);
    timers.set('a', START + 300);
    timers.set('b', START + 200);
    expect(timers.size).toBe(2);
    await clock.advance(1_000);
    expect(fired).toEqual(['a@100', 'b@200']);
  });

  it('fires nothing that was cleared', async () => {
    const { clock, timers, fired } = start();
    for (const key of ['a', 'b', 'c']) timers.set(key, START + 100);
    timers.clear('a');
    await clock.advance(50);
    timers.clearAll();
    await clock.advance(1_000);
    expect([fired, clock.pending]).toEqual([[], 0]);
  });
});

it('a span is as long as it is, whatever the clock on the wall does', async () => {
  const clock = new ManualClock();
  let stepMs = 0;
  const fired: string[] = [];
  const timers = new KeyTimers(
    { now: () => clock.now() - stepMs, setTimer: (ms, fire) => clock.setTimer(ms, fire) },
    (key) => void fired.push(key),
  );
  timers.set('span', clock.now() + 1_000, true);
  timers.set('time', clock.now() + 1_000);
  stepMs = 3_600_000;
  await clock.advance(1_000);
  expect(fired).toEqual(['span']);
  await clock.advance(3_600_000);
  expect(fired).toEqual(['span', 'time']);
});

test('it fires once nothing has refreshed it for the time', async () => {
  const clock = new ManualClock();
  const fired: number[] = [];
  const begin = clock.now();
  using timer = new IdleTimer(clock, 100, () => fired.push(clock.now() - begin));
  await clock.advance(60);
  timer.refresh();
  await clock.advance(60);
  expect(fired).toEqual([]);
  await clock.advance(1_000);
  expect(fired).toEqual([160]);
});

test('a disposed one does not fire', async () => {
  const clock = new ManualClock();
  const fired: string[] = [];
  new IdleTimer(clock, 100, () => fired.push('fired'))[Symbol.dispose]();
  await clock.advance(1_000);
  expect([fired, clock.pending]).toEqual([[], 0]);
});
