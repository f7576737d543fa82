import { backOffMs } from '@flotilla/pace';
import { ManualClock } from '@flotilla/pace/testing';
import { describe, expect, test } from 'vitest';
import { WorkQueue } from './work-queue.ts';

/** A queue whose runs are held until released. */
function held(concurrency = 1) {
  const clock = new ManualClock();
  const queue = new WorkQueue({ name: 'q', concurrency, clock, random: () => 1 });
  const started: string[] = [];
  const open: PromiseWithResolvers<void>[] = [];
  queue.process((key) => {
    started.push(key);
    const run = Promise.withResolvers<void>();
    open.push(run);
    return run.promise;
  });
  const release = async (): Promise<void> => {
    open.shift()?.resolve();
    await clock.advance(0);
  };
  return { clock, queue, started, release, open };
}

describe('WorkQueue', () => {
  test('a key added twice runs once, in the order of adding', async () => {
    const { queue, started, release } = held();
    for (const key of ['x', 'a', 'b', 'a']) queue.add(key);
    for (let i = 0; i < 4; i++) await release();
    expect(started).toEqual(['x', 'a', 'b']);
    expect(queue.size).toBe(0);
  });

  test('a key added while it runs runs once more afterwards, never beside itself', async () => {
    const { queue, started, release } = held(5);
    queue.add('a');
    queue.add('a');
    queue.add('a');
    expect(started).toEqual(['a']);
    await release();
    expect(started).toEqual(['a', 'a']);
    await release();
    expect(started).toEqual(['a', 'a']);
  });

  test('no more than its concurrency run at once', async () => {
    const { queue, started, release } = held(2);
    for (const key of ['a', 'b', 'c']) queue.add(key);
    expect(started).toEqual(['a', 'b']);
    await release();
    expect(started).toEqual(['a', 'b', 'c']);
  });

  test('of several timers the earliest wins, and it is exact', async () => {
    const { clock, queue, started } = held();
    queue.addAfter('a', 1_000);
    queue.addAfter('a', 300);
    queue.addAfter('a', 2_000);
    expect(queue.waiting).toBe(1);
    await clock.advance(299);
    expect(started).toEqual([]);
    await clock.advance(1);
    expect(started).toEqual(['a']);
    expect(clock.pending).toBe(0);
  });

  test('retries double up to the limit, and forget resets them', () => {
    const { queue } = held();
    const delays = Array.from({ length: 11 }, () => queue.retry('a'));
    expect(delays.slice(0, 4)).toEqual([200, 400, 800, 1_600]);
    expect(delays.at(-1)).toBe(60_000);
    queue.forget('a');
    expect(queue.retry('a')).toBe(200);
  });

  test('a handler that throws gives the key back', async () => {
    const queue = new WorkQueue({ name: 'q' });
    const runs: string[] = [];
    queue.process(async (key) => {
      runs.push(key);
      throw new Error('boom');
    });
    queue.add('a');
    await queue.drain();
    queue.add('a');
    await queue.drain();
    expect(runs).toEqual(['a', 'a']);
  });

  test('a stop drops what waits, waits for what runs, and takes nothing more', async () => {
    const { clock, queue, started, release } = held();
    queue.add('a');
    queue.add('b');
    queue.addAfter('c', 10);
    let stopped = false;
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

  test('a stop does not wait longer than its signal', async () => {
    const { queue } = held();
    queue.add('a');
    const patience = new AbortController();
    const stopping = queue.stop(patience.signal);
    patience.abort();
    await expect(stopping).resolves.toBeUndefined();
  });
});

test('back-off lies in the upper half of its step', () => {
  const backOff = { baseMs: 100, maxMs: 1_000 };
  expect([1, 2, 3, 9, 2_000].map((n) => backOffMs(backOff, n, () => 0))).toEqual([50, 100, 200, 500, 500]);
  expect([1, 2, 3, 9, 2_000].map((n) => backOffMs(backOff, n, () => 1))).toEqual([100, 200, 400, 1_000, 1_000]);
});
