import { ManualClock } from '@flotilla/pace/testing';
import type { EnqueueOptions } from '@flotilla/runtime';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Due, DueSteps } from './due-steps.ts';
import { keyId, type StepKey } from './step-key.ts';

const keyOf = (cluster: string): StepKey => ({ kind: 'rollout', upgrade: 'u', cluster });
const KEY = keyOf('a');
const DUE: Due = { what: 'p', priority: 1 };

let clock: ManualClock;
let steps: DueSteps;
let asked: EnqueueOptions[];
let looks: string[];
/** What is due whenever it is looked at. */
let due: Due | undefined;
/** The queue has it. */
let isHeld: boolean;
/** Steps that were begun here; `end` lets the first of them end. */
let begun: { cluster: string; end: (error?: Error) => void }[];
let ended: unknown[];

beforeEach(() => {
  clock = new ManualClock();
  [asked, looks, begun, ended, due, isHeld] = [[], [], [], [], DUE, false];
  steps = new DueSteps({
    clock,
    queue: { enqueue: (_, options = {}) => void asked.push(options), holds: () => isHeld },
    look: (key) => {
      looks.push(key.cluster);
      if (due) steps.due(key, { happened: false, ...due });
      else steps.settle(key);
    },
    step: ({ cluster }) =>
      new Promise<void>((resolve, reject) => {
        begun.push({ cluster, end: (error) => (error ? reject(error) : resolve()) });
      }),
    onLate: (key, error) => void ended.push([keyId(key), error]),
    watchdogMs: 1000,
  });
});

describe('what is due', () => {
  test('is asked for at once, and again each time the watchdog looks', async () => {
    steps.due(KEY, DUE);
    expect(asked).toEqual([{ priority: 1, at: undefined }]);
    await clock.advance(999);
    expect([asked.length, looks.length]).toEqual([1, 0]);
    await clock.advance(2001);
    expect([asked.length, looks.length]).toEqual([4, 3]);
  });

  test('is asked for again at once when something happened there or something else is wanted, and not otherwise', () => {
    steps.due(KEY, DUE);
    steps.due(KEY, { ...DUE, happened: false });
    expect(asked).toHaveLength(1);
    steps.due(KEY, DUE);
    steps.due(KEY, { ...DUE, what: 'q', happened: false });
    expect(asked).toHaveLength(3);
  });

  test('is followed twelve times when somebody undoes it, then at the pace of the watchdog', async () => {
    for (let round = 0; round < 20; round += 1) {
      steps.due(KEY, DUE);
      steps.settle(KEY);
    }
    expect(asked).toHaveLength(12);
    await clock.advance(1000);
    steps.due(KEY, DUE);
    expect(asked).toHaveLength(13);
  });

  test('is told to a queue that has it, however often', () => {
    isHeld = true;
    for (let round = 0; round < 20; round += 1) steps.due(KEY, DUE);
    expect(asked).toHaveLength(20);
  });

  test('is not looked at again once it is settled or forgotten, or nothing is taken any more', async () => {
    for (const cluster of ['a', 'b', 'c']) steps.due(keyOf(cluster), DUE);
    steps.settle(KEY);
    steps.forget(keyOf('b'));
    steps.lookAt(keyOf('d'), clock.now() + 10);
    steps.stop();
    steps.due(keyOf('e'), DUE);
    await clock.advance(5000);
    expect([looks, asked.length, clock.pending]).toEqual([[], 3, 0]);
  });
});

describe('what stays due', () => {
  test('is carried out here, each time the watchdog looks, and how that went is told', async () => {
    steps.due(KEY, DUE);
    await clock.advance(1000);
    expect(begun).toHaveLength(1);
    begun[0]?.end(new Error('taken'));
    await clock.advance(1000);
    expect(begun).toHaveLength(2);
    begun[1]?.end();
    due = undefined;
    await clock.advance(1000);
    expect([begun.length, ended]).toEqual([
      2,
      [
        [keyId(KEY), new Error('taken')],
        [keyId(KEY), undefined],
      ],
    ]);
  });

  test('is left to the queue as long as it has it', async () => {
    isHeld = true;
    steps.due(KEY, DUE);
    await clock.advance(5000);
    expect(begun).toEqual([]);
    isHeld = false;
    await clock.advance(1000);
    expect(begun).toHaveLength(1);
  });

  test('is late from its time on, when it has one', async () => {
    due = { ...DUE, at: clock.now() + 10_000 };
    steps.due(KEY, due);
    expect(asked).toEqual([{ priority: 1, at: clock.now() + 10_000 }]);
    await clock.advance(11_000);
    expect([looks.length, begun.length]).toEqual([1, 0]);
    await clock.advance(1000);
    expect(begun).toHaveLength(1);
  });

  test('is carried out four at a time, but for what settles while it waits', async () => {
    for (const cluster of ['a', 'b', 'c', 'd', 'e', 'f']) steps.due(keyOf(cluster), DUE);
    await clock.advance(1000);
    expect(begun.map(({ cluster }) => cluster)).toEqual(['a', 'b', 'c', 'd']);
    steps.settle(keyOf('e'));
    begun[0]?.end();
    await clock.advance(0);
    expect(begun.map(({ cluster }) => cluster)).toEqual(['a', 'b', 'c', 'd', 'f']);
  });
});

test('of several times to look at a key the earliest counts', async () => {
  due = undefined;
  for (const ms of [300, 100, 200]) steps.lookAt(KEY, clock.now() + ms);
  steps.lookAt(KEY, undefined);
  await clock.advance(99);
  expect(looks).toEqual([]);
  await clock.advance(5000);
  expect(looks).toEqual(['a']);
});
