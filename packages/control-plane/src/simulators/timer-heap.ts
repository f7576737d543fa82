import type { Clock } from '@flotilla/runtime';
import { Heap } from './heap.ts';

/** A pending call; disposing cancels it. */
export interface HeapTimer extends Disposable {
  readonly atMs: number;
}

interface Entry extends HeapTimer {
  fn: (() => void) | undefined;
  readonly order: number;
}

/** Thousands of timers on one timer of the clock: a simulated spoke costs nothing while nothing is due. */
export interface TimerHeap {
  now(): number;
  /** Calls `fn` once, `ms` from now. */
  after(ms: number, fn: () => void): HeapTimer;
  /** Resolves after `ms`; never once the heap has stopped. */
  pause(ms: number): Promise<void>;
  /** Drops everything. */
  stop(): void;
}

/** Creates an empty heap. Calls due at the same time run in the order they were asked for. */
export function createTimerHeap(clock: Clock): TimerHeap {
  const heap = new Heap(isBefore);
  let armed: { atMs: number; timer: Disposable } | undefined;
  let orders = 0;
  let stopped = false;

  const fire = (): void => {
    armed = undefined;
    for (let top = heap.top; top && (top.fn === undefined || top.atMs <= clock.now()); top = heap.top) {
      heap.pop();
      top.fn?.();
    }
    arm();
  };
  const arm = (): void => {
    const { top } = heap;
    if (!top || stopped || (armed && armed.atMs <= top.atMs)) return;
    armed?.timer[Symbol.dispose]();
    armed = { atMs: top.atMs, timer: clock.setTimer(Math.max(0, top.atMs - clock.now()), fire) };
  };
  const after = (ms: number, fn: () => void): HeapTimer => {
    const entry: Entry = {
      atMs: clock.now() + Math.max(0, ms),
      order: orders++,
      fn,
      [Symbol.dispose]() {
        this.fn = undefined;
      },
    };
    if (stopped) return entry;
    heap.push(entry);
    arm();
    return entry;
  };
  return {
    now: () => clock.now(),
    after,
    pause: (ms) => (ms <= 0 ? Promise.resolve() : new Promise((resolve) => after(ms, resolve))),
    stop() {
      stopped = true;
      heap.clear();
      armed?.timer[Symbol.dispose]();
    },
  };
}

const isBefore = (a: Entry, b: Entry): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
