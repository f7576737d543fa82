import type { Clock } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { createTimerHeap } from './timer-heap.ts';

/** A clock the test moves; it counts how many timers were asked of it. */
function manualClock() {
  let now = 0;
  const pending = new Set<{ at: number; fn: () => void }>();
  const clock: Clock = {
    now: () => now,
    setTimer(ms, fn) {
      const entry = { at: now + ms, fn };
      pending.add(entry);
      return { [Symbol.dispose]: () => void pending.delete(entry) };
    },
  };
  const advance = (ms: number): void => {
    const end = now + ms;
    for (;;) {
      const next = [...pending].sort((a, b) => a.at - b.at)[0];
      if (!next || next.at > end) break;
      pending.delete(next);
      now = next.at;
      next.fn();
    }
    now = end;
  };
  return { clock, advance, armed: () => pending.size };
}

test('calls run in order of time, ties in order of asking, with one timer of the clock', () => {
  const { clock, advance, armed } = manualClock();
  const heap = createTimerHeap(clock);
  const ran: string[] = [];
  for (const [name, ms] of [
    ['late', 30],
    ['early', 10],
    ['tie-1', 20],
    ['tie-2', 20],
    ['first', 1],
  ] as const)
    heap.after(ms, () => ran.push(name));
  expect(armed()).toBe(1);
  advance(20);
  expect(ran).toEqual(['first', 'early', 'tie-1', 'tie-2']);
  advance(10);
  expect(ran.at(-1)).toBe('late');
  expect(armed()).toBe(0);
});

test('a disposed call does not run and the rest does', () => {
  const { clock, advance } = manualClock();
  const heap = createTimerHeap(clock);
  const ran: number[] = [];
  const timers = Array.from({ length: 100 }, (_, index) => heap.after((index * 37) % 101, () => ran.push(index)));
  for (const timer of timers.filter((_, index) => index % 2 === 0)) timer[Symbol.dispose]();
  advance(101);
  expect(ran).toHaveLength(50);
  expect(ran.every((index) => index % 2 === 1)).toBe(true);
  expect(ran.map((index) => (index * 37) % 101)).toEqual(ran.map((index) => (index * 37) % 101).toSorted((a, b) => a - b));
});

test('a call may ask for another, and a stopped heap runs nothing', () => {
  const { clock, advance } = manualClock();
  const heap = createTimerHeap(clock);
  let count = 0;
  const again = (): void => {
    count += 1;
    heap.after(10, again);
  };
  heap.after(10, again);
  advance(50);
  expect(count).toBe(5);
  heap.stop();
  advance(50);
  expect(count).toBe(5);
});
