import { backOffMs } from '@flotilla/pace';
import { ManualClock } from '@flotilla/pace/testing';
import { describe, expect, test } from 'vitest';
import { createLogger } from './logger.ts';
import { WorkQueue } from './work-queue.ts';

const logger = createLogger({ name: 't', level: 'silent' });

/** A queue whose runs are held until released. */
function held(concurrency = 1, graceMs?: number) {
  const clock = new ManualClock(0);
  const stop = new AbortController();
  const queue = new WorkQueue({ name: 'q', concurrency, clock, random: () => 1, logger, signal: stop.signal, graceMs });
  const started: string[] = [];
  const open: PromiseWithResolvers<void>[] = [];
  queue.process((key) => {
    started.push(key);
    const run = Promise.withResolvers<void>();
    open.push(run);
    return run.promise;
  });
  /** Adds keys, and lets them begin. */
  const add = async (...keys: string[]): Promise<void> => {
    for (const key of keys) queue.add(key);
    await clock.advance(0);
  };
  const release = async (): Promise<void> => {
    open.shift()?.resolve();
    for (let turn = 0; turn < 2; turn += 1) await clock.advance(0);
  };
  return { clock, queue, started, add, release, open, stop };
}

describe('WorkQueue', () => {
  test('a key added twice runs once, in the order of adding', async () => {
    const { queue, started, add, release } = held();
    await add('x', 'a', 'b', 'a');
    for (let i = 0; i < 4; i++) await release();
    expect(started).toEqual(['x', 'a', 'b']);
    expect(queue.size()).toEqual({ waiting: 0, running: 0, timers: 0 });
  });

  test('a key added while it runs runs once more afterwards, never beside itself', async () => {
    const { started, add, release } = held(5);
    await add('a');
    await add('a', 'a');
    expect(started).toEqual(['a']);
    await release();
    expect(started).toEqual(['a', 'a']);
    await release();
    expect(started).toEqual(['a', 'a']);
  });

  test('no more than its concurrency run at once', async () => {
    const { started, add, release } = held(2);
    await add('a', 'b', 'c');
    expect(started).toEqual(['a', 'b']);
    await release();
    expect(started).toEqual(['a', 'b', 'c']);
  });

  test('of several timers the earliest wins, and it is exact', async () => {
    const { clock, queue, started } = held();
    queue.add('a', { afterMs: 1_000 });
    queue.add('a', { afterMs: 300 });
    queue.add('a', { at: 2_000 });
    expect(queue.size().timers).toBe(1);
    await clock.advance(299);
    expect(started).toEqual([]);
    await clock.advance(1);
    expect(started).toEqual(['a']);
    expect(clock.pending).toBe(0);
  });

  test('retries double up to the limit, and forget resets them', () => {
    const { queue } = held();
    const delays = Array.from({ length: 11 }, () => queue.retry('a').afterMs);
    expect(delays.slice(0, 4)).toEqual([200, 400, 800, 1_600]);
    expect(delays.at(-1)).toBe(60_000);
    queue.forget('a');
    expect(queue.retry('a')).toEqual({ attempt: 1, afterMs: 200 });
  });

  test('a handler that throws gives the key back', async () => {
    const clock = new ManualClock();
    const queue = new WorkQueue({ name: 'q', clock, logger, signal: new AbortController().signal });
    const runs: string[] = [];
    queue.process(async (key) => {
      runs.push(key);
      throw new Error('boom');
    });
    for (let n = 0; n < 2; n += 1) {
      queue.add('a');
      await clock.advance(0);
      await clock.advance(0);
    }
    expect(runs).toEqual(['a', 'a']);
  });

  test('what is added before there is a handler waits for it, once each and in order', async () => {
    const clock = new ManualClock();
    const queue = new WorkQueue({ name: 'q', clock, concurrency: 3, logger, signal: new AbortController().signal });
    for (const key of ['first', 'second', 'first', 'third']) queue.add(key);
    await clock.advance(0);
    const runs: string[] = [];
    queue.process(async (key) => void runs.push(key));
    await clock.advance(0);
    expect(runs).toEqual(['first', 'second', 'third']);
  });

  test('a stop drops what waits, waits for what runs, and takes nothing more', async () => {
    const { clock, queue, started, add, release, stop } = held();
    await add('a', 'b');
    queue.add('c', { afterMs: 10 });
    let stopped = false;
    stop.abort();
    const stopping = queue.stop().then(() => {
      stopped = true;
    });
    queue.add('d');
    await clock.advance(100);
    expect([started, stopped, clock.pending]).toEqual([['a'], false, 0]);
    await release();
    await stopping;
    expect(started).toEqual(['a']);
  });

  test('a stop does not wait longer than its grace', async () => {
    const { clock, queue, add, stop } = held(1, 1_000);
    await add('a');
    stop.abort();
    const stopping = queue.stop();
    await clock.advance(1_500);
    await expect(stopping).resolves.toBeUndefined();
  });
});

test('back-off lies in the upper half of its step', () => {
  const backOff = { baseMs: 100, maxMs: 1_000 };
  expect([1, 2, 3, 9, 2_000].map((n) => backOffMs(backOff, n, () => 0))).toEqual([50, 100, 200, 500, 500]);
  expect([1, 2, 3, 9, 2_000].map((n) => backOffMs(backOff, n, () => 1))).toEqual([100, 200, 400, 1_000, 1_000]);
});
