import { ManualClock } from '@flotilla/pace/testing';
import { createLogger, type EnqueueOptions } from '@flotilla/runtime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { keyId, type StepKey } from './step-key.ts';
import { type StepRequest, StepRequests } from './step-requests.ts';

const keyOf = (cluster: string): StepKey => ({ kind: 'rollout', upgrade: 'u', cluster });
const KEY = keyOf('a');
const REQUEST: StepRequest = { plan: 'p', priority: 1 };

let clock: ManualClock;
let requests: StepRequests;
let stop: AbortController;
let enqueued: EnqueueOptions[];
let planned: string[];
/** Missing writes of any planned key. */
let missing: StepRequest | undefined;
/** True while the queue has the key. */
let isHeld: boolean;
/** Steps that run in this process; `end` ends the first of them. */
let begun: { cluster: string; signal: AbortSignal; end: (error?: Error) => void }[];
let ended: unknown[];

beforeEach(() => {
  clock = new ManualClock();
  stop = new AbortController();
  [enqueued, planned, begun, ended, missing, isHeld] = [[], [], [], [], REQUEST, false];
  requests = new StepRequests({
    name: 'test',
    clock,
    logger: createLogger({ name: 'test', level: 'silent' }),
    signal: stop.signal,
    queue: { enqueue: (_, options = {}) => void enqueued.push(options), holds: () => isHeld, forget: () => {} },
    apply: ({ cluster }, signal) =>
      new Promise<void>((resolve, reject) => {
        begun.push({ cluster, signal, end: (error) => (error ? reject(error) : resolve()) });
      }),
    onApplied: (key, error) => void ended.push([keyId(key), error]),
    watchdogMs: 1000,
  });
});
afterEach(() => stop.abort());

/** Plans a key, and again at the requested time, as its reconciler does. */
function plan(key: StepKey): void {
  planned.push(key.cluster);
  if (!missing) return requests.done(key);
  clock.setTimer(requests.request(key, missing), () => plan(key));
}

describe('a due step', () => {
  test("is enqueued at once, and again at each watchdog's time", async () => {
    plan(KEY);
    expect(enqueued).toEqual([{ priority: 1 }]);
    await clock.advance(999);
    expect([enqueued.length, planned.length]).toEqual([1, 1]);
    await clock.advance(2001);
    expect([enqueued.length, planned.length]).toEqual([4, 4]);
  });

  test('is enqueued again at once when other writes are missing, and not otherwise', async () => {
    requests.request(KEY, REQUEST);
    await clock.advance(1);
    requests.request(KEY, REQUEST);
    expect(enqueued).toHaveLength(1);
    requests.request(KEY, { ...REQUEST, plan: 'q' });
    expect(enqueued).toHaveLength(2);
  });

  test('is followed twelve times when somebody undoes it, then at the pace of the watchdog', async () => {
    for (let round = 0; round < 20; round += 1) {
      requests.request(KEY, REQUEST);
      requests.done(KEY);
    }
    expect(enqueued).toHaveLength(12);
    await clock.advance(1000);
    requests.request(KEY, REQUEST);
    expect(enqueued).toHaveLength(13);
  });

  test('is nothing that is applied here once it is done or its upgrade forgotten, or the process stops', async () => {
    const other: StepKey = { ...KEY, upgrade: 'other' };
    for (const key of [KEY, other, keyOf('c')]) requests.request(key, REQUEST);
    expect([requests.open('u'), requests.open('other')]).toEqual([['a', 'c'], ['a']]);
    requests.done(KEY);
    requests.forget('other');
    expect([requests.open('u'), requests.open('other')]).toEqual([['c'], []]);
    stop.abort();
    await clock.advance(5000);
    requests.request(keyOf('c'), REQUEST);
    await clock.advance(0);
    expect([begun, clock.pending]).toEqual([[], 0]);
  });
});

describe('a late step', () => {
  test("is applied here, at each watchdog's time, and its outcome is reported", async () => {
    plan(KEY);
    await clock.advance(1000);
    expect(begun).toHaveLength(1);
    begun[0]?.end(new Error('taken'));
    await clock.advance(1000);
    expect(begun).toHaveLength(2);
    begun[1]?.end();
    missing = undefined;
    await clock.advance(1000);
    expect([begun.length, ended]).toEqual([
      2,
      [
        [keyId(KEY), new Error('taken')],
        [keyId(KEY), undefined],
      ],
    ]);
  });

  test('stops with the process, which waits for it, and its abort is no error', async () => {
    plan(KEY);
    await clock.advance(1000);
    const [late] = begun;
    expect(late?.signal.aborted).toBe(false);
    stop.abort(new Error('the lease is lost'));
    expect(late?.signal.aborted).toBe(true);
    late?.end(new Error('the lease is lost'));
    await requests.stopped;
    expect(ended).toEqual([]);
  });

  test('is left to the queue as long as it has it', async () => {
    isHeld = true;
    plan(KEY);
    await clock.advance(5000);
    expect(begun).toEqual([]);
    isHeld = false;
    await clock.advance(1000);
    expect(begun).toHaveLength(1);
  });

  test('is late from its time on, when it has one', async () => {
    missing = { ...REQUEST, at: clock.now() + 10_000 };
    plan(KEY);
    expect(enqueued).toEqual([{ priority: 1, at: clock.now() + 10_000 }]);
    await clock.advance(11_000);
    expect([planned.length, begun.length]).toEqual([2, 0]);
    await clock.advance(1000);
    expect(begun).toHaveLength(1);
  });

  test('is carried out four at a time, but for what settles while it waits', async () => {
    for (const cluster of ['a', 'b', 'c', 'd', 'e', 'f']) plan(keyOf(cluster));
    await clock.advance(1000);
    expect(begun.map(({ cluster }) => cluster)).toEqual(['a', 'b', 'c', 'd']);
    requests.done(keyOf('e'));
    begun[0]?.end();
    await clock.advance(0);
    expect(begun.map(({ cluster }) => cluster)).toEqual(['a', 'b', 'c', 'd', 'f']);
  });
});
