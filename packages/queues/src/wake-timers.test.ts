import type { Clock } from '@flotilla/pace';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WakeTimers } from './wake-timers.ts';

/** Vitest's time. */
const clock: Clock = {
  now: () => Date.now(),
  setTimer(ms, fn) {
    const timer = setTimeout(fn, ms);
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};

describe('WakeTimers', () => {
  beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
  afterEach(() => void vi.useRealTimers());

  it('fires at the time and not before it', () => {
    const timers = new WakeTimers(clock);
    const fired: number[] = [];
    timers.set('a', 1_000_250, () => void fired.push(Date.now()));
    vi.advanceTimersByTime(249);
    expect(fired).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(fired).toEqual([1_000_250]);
    expect(timers.size).toBe(0);
  });

  it('keeps the earliest time of a slot, and each slot apart', () => {
    const timers = new WakeTimers(clock);
    const fired: string[] = [];
    for (const [slot, at] of [
      ['a', 500],
      ['a', 100],
      ['a', 300],
      ['b', 200],
    ] as const)
      timers.set(slot, 1_000_000 + at, () => void fired.push(`${slot}@${at}`));
    expect(timers.size).toBe(2);
    vi.advanceTimersByTime(1_000);
    expect(fired).toEqual(['a@100', 'b@200']);
  });

  it('fires nothing that was cleared', () => {
    const timers = new WakeTimers(clock);
    const fired: string[] = [];
    for (const slot of ['a', 'b', 'c']) timers.set(slot, 1_000_100, () => void fired.push(slot));
    timers.clear('a');
    vi.advanceTimersByTime(50);
    timers.clearAll();
    vi.advanceTimersByTime(1_000);
    expect(fired).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
