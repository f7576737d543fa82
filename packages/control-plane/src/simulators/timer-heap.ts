import type { Clock } from '@flotilla/runtime';

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
  const heap: Entry[] = [];
  let armed: { atMs: number; timer: Disposable } | undefined;
  let orders = 0;
  let stopped = false;

  const fire = (): void => {
    armed = undefined;
    for (let top = heap[0]; top && (top.fn === undefined || top.atMs <= clock.now()); top = heap[0]) {
      removeTop(heap);
      top.fn?.();
    }
    arm();
  };
  const arm = (): void => {
    const top = heap[0];
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
    insert(heap, entry);
    arm();
    return entry;
  };
  return {
    now: () => clock.now(),
    after,
    pause: (ms) => (ms <= 0 ? Promise.resolve() : new Promise((resolve) => after(ms, resolve))),
    stop() {
      stopped = true;
      heap.length = 0;
      armed?.timer[Symbol.dispose]();
    },
  };
}

const isBefore = (a: Entry, b: Entry): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

function insert(heap: Entry[], entry: Entry): void {
  let index = heap.push(entry) - 1;
  while (index > 0) {
    const parent = (index - 1) >> 1;
    const above = heap[parent];
    if (!above || !isBefore(entry, above)) break;
    heap[index] = above;
    index = parent;
  }
  heap[index] = entry;
}

function removeTop(heap: Entry[]): void {
  const last = heap.pop();
  if (!last || heap.length === 0) return;
  let index = 0;
  for (;;) {
    const child = smallerChild(heap, index);
    const below = heap[child];
    if (!below || !isBefore(below, last)) break;
    heap[index] = below;
    index = child;
  }
  heap[index] = last;
}

function smallerChild(heap: readonly Entry[], index: number): number {
  const left = 2 * index + 1;
  const [a, b] = [heap[left], heap[left + 1]];
  return a && b && isBefore(b, a) ? left + 1 : left;
}
