import { WaitingError } from '@flotilla/api';
import { ManualClock } from '@flotilla/pace/testing';
import { createLogger } from '@flotilla/runtime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { HandOver, retryWhileBehind, startWorker } from './hand-over.ts';

const keyOf = (cluster: string) => ({ upgrade: 'uid', cluster });
const KEY = keyOf('a');
const LATE_MS = 15_000;

describe('a step in a process whose watches may be behind', () => {
  /** Creates a step whose watches are current after so many runs. */
  const currentAfter = (runs: number) => {
    let left = runs;
    const step = retryWhileBehind(async () => left-- <= 0);
    return (cluster: string) => step(keyOf(cluster), new AbortController().signal);
  };

  test('is done at once when they are current', async () => {
    await expect(currentAfter(0)('a')).resolves.toBe(true);
  });

  test('is retried when they lag behind its event, later each time', async () => {
    const step = currentAfter(2);
    const delays: number[] = [];
    for (let run = 0; run < 2; run += 1)
      await step('a').catch((error: unknown) => error instanceof WaitingError && delays.push(error.retryAfterMs));
    expect(delays).toEqual([150, 500]);
    await expect(step('a')).resolves.toBe(true);
  });

  test('counts as done when it never writes, and its retries start anew', async () => {
    const step = currentAfter(100);
    const outcome = (cluster: string) =>
      step(cluster).then(
        (wrote) => `done: ${wrote}`,
        () => 'again',
      );
    const outcomes: string[] = [];
    for (let n = 0; n < 5; n += 1) outcomes.push(await outcome('a'));
    expect(outcomes).toEqual(['again', 'again', 'again', 'done: false', 'again']);
    expect(await outcome('b')).toBe('again');
  });
});

describe('a worker', () => {
  let clock: ManualClock;
  let stop: AbortController;
  /** Steps that were taken, in order. */
  let taken: string[];
  beforeEach(() => {
    clock = new ManualClock();
    stop = new AbortController();
    taken = [];
  });
  afterEach(() => stop.abort());

  const note = (name: string, wrote: boolean) => async (key: { readonly cluster: string }) => {
    taken.push(`${name} ${key.cluster}`);
    return wrote;
  };
  const start = (isRemote: boolean, steps = [note('backup', false), note('rollout', false)]) => {
    const logger = createLogger({ name: 'test', level: 'silent' });
    return startWorker(steps, { concurrency: 1, signal: stop.signal, logger, clock, isRemote });
  };

  test('takes the step of each part of a key, and drops what is no key', async () => {
    const worker = start(false);
    for (const text of ['uid/a', 'uid/', 'rollout/uid/b']) worker.enqueue(text);
    await clock.advance(60_000);
    expect(taken).toEqual(['backup a', 'rollout a']);
  });

  test('of another process takes them again while its watches may be behind, and not once one of them wrote', async () => {
    start(true).enqueue('uid/a');
    await clock.advance(60_000);
    expect(taken).toHaveLength(8);
    taken = [];
    start(true, [note('backup', true), note('rollout', false)]).enqueue('uid/b');
    await clock.advance(60_000);
    expect(taken).toEqual(['backup b', 'rollout b']);
  });
});

describe('a step that is handed over', () => {
  let clock: ManualClock;
  /** Keys that were enqueued, in order. */
  let enqueued: string[];
  /** True while the queue has the key. */
  let isHeld: boolean;
  /** Milliseconds by which the clock was put back. */
  let backMs: number;
  let handOver: HandOver;
  beforeEach(() => {
    clock = new ManualClock();
    [enqueued, isHeld, backMs] = [[], false, 0];
    const queue = { enqueue: (text: string) => void enqueued.push(text), holds: () => isHeld };
    handOver = new HandOver(queue, { now: () => clock.now() - backMs });
  });
  const late = (plan = 'p', key = KEY) => handOver.lateInMs('rollout', key, plan);

  test('is enqueued at once, and late after fifteen seconds', async () => {
    expect(late()).toBeUndefined();
    expect([handOver.give('rollout', KEY, 'p'), enqueued]).toEqual([LATE_MS, ['uid/a']]);
    await clock.advance(LATE_MS - 1);
    expect(late()).toBe(1);
    await clock.advance(1);
    expect(late()).toBeUndefined();
  });

  test('is taken by the caller when it is late and the queue has it no more, and until then left to the queue', async () => {
    handOver.give('rollout', KEY, 'p');
    isHeld = true;
    await clock.advance(LATE_MS);
    expect([handOver.give('rollout', KEY, 'p'), late()]).toEqual([LATE_MS, LATE_MS]);
    isHeld = false;
    await clock.advance(LATE_MS);
    expect(handOver.give('rollout', KEY, 'p')).toBeUndefined();
    expect(enqueued).toEqual(['uid/a']);
    // Its own write shows in the next plan, or it is late again.
    expect(late()).toBe(LATE_MS);
  });

  test('is enqueued again at once when other writes are missing, or the same after they were done', () => {
    handOver.give('rollout', KEY, 'p');
    expect(late('q')).toBeUndefined();
    handOver.give('rollout', KEY, 'q');
    handOver.done('rollout', KEY);
    expect(late('q')).toBeUndefined();
    expect(handOver.give('rollout', KEY, 'q')).toBe(LATE_MS);
    expect(enqueued).toEqual(['uid/a', 'uid/a', 'uid/a']);
  });

  test('is one of a part and of a spoke', () => {
    handOver.give('rollout', KEY, 'p');
    expect([handOver.lateInMs('backup', KEY, 'p'), late('p', keyOf('b'))]).toEqual([undefined, undefined]);
    handOver.done('backup', KEY);
    expect(late()).toBe(LATE_MS);
  });

  test('is no further away than fifteen seconds when the clock steps back', () => {
    handOver.give('rollout', KEY, 'p');
    backMs = 3_600_000;
    expect(late()).toBeUndefined();
  });
});
