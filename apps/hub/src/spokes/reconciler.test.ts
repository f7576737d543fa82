import { WaitingError } from '@flotilla/api';
import { ManualClock } from '@flotilla/pace/testing';
import { ApiError, createLogger } from '@flotilla/runtime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { idle } from '../../testing/jobs-world.ts';
import { HandOver } from '../workers/hand-over.ts';
import { keyText, type PartPlan, type SpokeKey, type SpokePart, type SpokeStep, wholeText } from './part.ts';
import { Problems } from './problems.ts';
import { SpokeReconciler } from './reconciler.ts';

const LATE_MS = 15_000;
const AWAY = new ApiError('FLOTILLA_API_UNAVAILABLE', 'PATCH', { status: 503, reason: '', serverMessage: 'away' });
const NOTHING: PartPlan = { writes: '' };
const keyOf = (cluster: string, upgrade = 'uid'): SpokeKey => ({ upgrade, cluster });

let clock: ManualClock;
let stop: AbortController;
let spokes: SpokeReconciler;
let problems: Problems;
/** Plans of keys by part and cluster; a function may throw. */
let plans: Map<string, PartPlan | (() => PartPlan)>;
/** Planned keys, and steps that were taken, in order. */
let planned: string[];
let taken: string[];
/** Effect of a step: default, its writes are done. */
let act: (id: string, signal: AbortSignal) => Promise<unknown>;
/** Milliseconds by which the clock was put back. */
let backMs: number;
let isGone: boolean;
/** Keys whose failures were told besides the problems. */
let told: string[];

beforeEach(() => {
  clock = new ManualClock();
  stop = new AbortController();
  [plans, planned, taken, told, backMs, isGone] = [new Map(), [], [], [], 0, false];
  act = async (id) => plans.delete(id);
  start();
});
afterEach(() => stop.abort());

const now = () => clock.now() - backMs;

function start({ handOver, concurrency = 1 }: { readonly handOver?: HandOver; readonly concurrency?: number } = {}) {
  stop.abort();
  stop = new AbortController();
  problems = new Problems({ onChange: () => {}, now });
  const logger = createLogger({ name: 'test', level: 'silent' });
  const parts = [partOf('backup'), { ...partOf('rollout'), clustersOf: () => [...plans.keys()].map((id) => id.split(' ')[1] ?? '') }];
  const { signal } = stop;
  const ownClock = { now, setTimer: (ms: number, fire: () => void) => clock.setTimer(ms, fire) };
  const onTrouble = async (text: string) => void told.push(text);
  spokes = new SpokeReconciler({
    parts,
    problems,
    isGone: () => isGone,
    onTrouble,
    handOver,
    concurrency,
    clock: ownClock,
    logger,
    signal,
  });
  return spokes.start();
}

function partOf(name: SpokePart['name']): SpokePart {
  const step: SpokeStep = async ({ cluster }, signal) => {
    const id = `${name} ${cluster}`;
    taken.push(id);
    await act(id, signal);
    return true;
  };
  const plan = ({ cluster }: SpokeKey): PartPlan => {
    planned.push(`${name} ${cluster}`);
    const found = plans.get(`${name} ${cluster}`) ?? NOTHING;
    const made = typeof found === 'function' ? found() : found;
    return { ...made, apply: (signal) => step({ upgrade: 'uid', cluster }, signal) };
  };
  return { name, watches: [], plan, step };
}

/** Has a spoke reconciled, as an event does. */
async function touch(cluster = 'a'): Promise<void> {
  spokes.enqueue(keyText(keyOf(cluster)));
  await idle();
}
const problemOf = (name: SpokePart['name'], cluster = 'a') => problems.of(name, 'uid').get(cluster)?.message;

describe('a spoke', () => {
  test('has the steps taken whose plans have writes, in the order of the parts', async () => {
    for (const id of ['rollout a', 'backup a', 'rollout b']) plans.set(id, { writes: 'w' });
    await touch();
    await touch('b');
    await touch();
    expect(taken).toEqual(['backup a', 'rollout a', 'rollout b']);
  });

  test('is planned again at the earliest time of its plans, and without one only when something happens', async () => {
    const until = (at: number) => (): PartPlan => (now() < at ? { writes: '', at } : NOTHING);
    plans.set('backup a', until(now() + 60_000)).set('rollout a', until(now() + 20_000));
    await touch();
    await clock.advance(19_999);
    expect(planned).toHaveLength(2);
    await clock.advance(1);
    expect(planned).toHaveLength(4);
    await clock.advance(3_600_000);
    expect(planned).toHaveLength(6);
  });

  test('is not planned without end for a time that has passed', async () => {
    plans.set('rollout a', { writes: '', at: now() - 1_000 });
    await touch();
    await clock.advance(1_000);
    expect(planned.length).toBeLessThanOrEqual(44);
  });

  test('for which nobody waits takes one of four places, and the next comes when one is free', async () => {
    start({ concurrency: 10 });
    const gates = new Map<string, () => void>();
    act = (id) => new Promise((resolve) => gates.set(id, () => resolve(plans.delete(id))));
    const clusters = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const cluster of clusters) plans.set(`rollout ${cluster}`, { writes: 'w', yields: true });
    plans.set('backup f', { writes: 'w' });
    for (const cluster of clusters) await touch(cluster);
    expect(taken).toEqual(['rollout a', 'rollout b', 'rollout c', 'rollout d', 'backup f']);
    gates.get('rollout b')?.();
    await idle();
    expect(taken.slice(5)).toEqual(['rollout e']);
  });

  test('gets the place that another has left, which has nothing to do any more', async () => {
    start({ concurrency: 10 });
    const gates = new Map<string, () => void>();
    act = (id) => new Promise((resolve) => gates.set(id, () => resolve(plans.delete(id))));
    const clusters = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const cluster of clusters) plans.set(`rollout ${cluster}`, { writes: 'w', yields: true });
    for (const cluster of clusters) await touch(cluster);
    plans.delete('rollout e');
    gates.get('rollout a')?.();
    await idle();
    expect(taken.slice(4)).toEqual(['rollout f']);
  });

  test('whose writes are done while it waits for its turn has no step taken', async () => {
    const gate = Promise.withResolvers<void>();
    act = () => gate.promise;
    for (const cluster of ['a', 'b']) plans.set(`rollout ${cluster}`, { writes: 'w' });
    await touch('a');
    await touch('b');
    plans.clear();
    gate.resolve();
    await idle();
    expect([taken, planned.filter((id) => id === 'rollout b')]).toEqual([['rollout a'], ['rollout b']]);
  });

  test('of an upgrade is enqueued with all others where it has something to write, now or later', async () => {
    plans
      .set('rollout a', { writes: 'w' })
      .set('rollout b', NOTHING)
      .set('rollout c', { writes: '', at: now() + 60_000 });
    spokes.enqueue(wholeText('uid'));
    await idle();
    expect(taken).toEqual(['rollout a']);
    plans.set('rollout c', { writes: 'w' });
    planned = [];
    await clock.advance(60_000);
    expect([taken, planned.includes('rollout b')]).toEqual([['rollout a', 'rollout c'], false]);
  });
});

describe('writes that somebody undoes', () => {
  const LASTING: PartPlan = { writes: 'w' };

  beforeEach(() => {
    act = async () => {};
  });

  test('are followed twelve times, then after a pause', async () => {
    plans.set('rollout a', LASTING);
    for (let round = 0; round < 20; round += 1) await touch();
    expect(taken).toHaveLength(12);
    await clock.advance(LATE_MS - 1);
    expect(taken).toHaveLength(12);
    await clock.advance(1);
    expect(taken).toHaveLength(13);
  });

  test('keep no other writes, spokes and parts back', async () => {
    for (const id of ['rollout a', 'rollout b']) plans.set(id, LASTING);
    for (let round = 0; round < 20; round += 1) await touch();
    plans.set('backup a', LASTING).set('rollout a', { writes: 'other' });
    taken = [];
    await touch();
    await touch('b');
    expect(taken).toEqual(['backup a', 'rollout a', 'rollout b']);
  });

  test('are written again although the clock has stepped back', async () => {
    plans.set('rollout a', LASTING);
    for (let round = 0; round < 12; round += 1) await touch();
    backMs = 3_600_000;
    await touch();
    expect(taken).toHaveLength(13);
  });
});

describe('a step that fails', () => {
  beforeEach(() => {
    plans.set('backup a', { writes: 'w' }).set('rollout a', { writes: 'w' });
    act = async (id) => {
      if (id === 'backup a') throw AWAY;
      plans.delete(id);
    };
  });

  test('is taken again, later each time, and keeps no other part back', async () => {
    await touch();
    expect(taken).toEqual(['backup a', 'rollout a']);
    await clock.advance(10_000);
    const soon = taken.length;
    expect(soon).toBeGreaterThan(4);
    await clock.advance(60_000);
    expect(taken.length - soon).toBeLessThan(soon);
  });

  test('is a problem of its part and spoke as long as it lasts', async () => {
    await touch();
    expect(problemOf('backup')).toBeUndefined();
    await clock.advance(20_000);
    expect([problemOf('backup'), problemOf('rollout')]).toEqual(['PATCH: 503: away; it is tried again', undefined]);
    act = async (id) => plans.delete(id);
    await clock.advance(60_000);
    expect(problemOf('backup')).toBeUndefined();
  });

  test.each([
    { name: 'its writes are not wanted', after: () => touch() },
    {
      name: 'its upgrade is gone',
      after: () => {
        isGone = true;
        spokes.enqueue(wholeText('uid'));
        return idle();
      },
    },
  ])('is no problem any more once $name', async ({ after }) => {
    await touch();
    await clock.advance(20_000);
    plans.clear();
    await after();
    expect(problemOf('backup')).toBeUndefined();
  });

  test('because it has to wait is taken again at that time, and what the other parts have is not', async () => {
    act = async (id) => {
      if (id === 'backup a') throw new WaitingError('FLOTILLA_NAME_TAKEN', 'belongs to another; delete it', 5000);
      plans.delete(id);
    };
    await touch();
    await clock.advance(4999);
    expect(taken).toEqual(['backup a', 'rollout a']);
    await clock.advance(1);
    expect(taken).toEqual(['backup a', 'rollout a', 'backup a']);
    expect(problemOf('backup')).toBe('belongs to another; delete it');
  });

  test('is like a plan that does', async () => {
    plans.set('backup a', () => {
      throw new Error('the template is broken');
    });
    await touch();
    await clock.advance(20_000);
    expect([problemOf('backup'), taken]).toEqual(['the template is broken; it is tried again', ['rollout a']]);
  });
});

describe('a step that is handed over', () => {
  /** Keys of the queue, and what it still has. */
  let enqueued: string[];
  let isHeld: boolean;
  beforeEach(() => {
    [enqueued, isHeld] = [[], true];
    start({ handOver: new HandOver({ enqueue: (text) => void enqueued.push(text), holds: () => isHeld }, { now }) });
    plans.set('rollout a', { writes: 'w' });
  });

  test('is not handed over again while its plan is the same, and at once when it differs, or comes again', async () => {
    await touch();
    await touch();
    expect(enqueued).toEqual(['uid/a']);
    plans.set('rollout a', { writes: 'other' });
    await touch();
    expect(enqueued).toHaveLength(2);
    plans.clear();
    await touch();
    plans.set('rollout a', { writes: 'other' });
    await touch();
    expect([enqueued.length, taken]).toEqual([3, []]);
  });

  test('is taken here when it is late and the queue has it no more', async () => {
    await touch();
    await clock.advance(LATE_MS);
    expect(taken).toEqual([]);
    isHeld = false;
    await clock.advance(LATE_MS);
    expect([taken, enqueued]).toEqual([['rollout a'], ['uid/a']]);
  });

  test('is forgotten with its upgrade, and handed over at once for one that is restored', async () => {
    await touch();
    plans.clear();
    isGone = true;
    spokes.enqueue(wholeText('uid'));
    await idle();
    isGone = false;
    plans.set('rollout a', { writes: 'w' });
    await touch();
    expect(enqueued).toHaveLength(2);
  });

  test('and fails when it is late is a problem like others', async () => {
    isHeld = false;
    act = () => Promise.reject(AWAY);
    await touch();
    await clock.advance(2 * LATE_MS);
    expect(problemOf('rollout')).toContain('away');
  });

  test('is handed over twelve times when somebody undoes it, then at the pace of late ones', async () => {
    for (let round = 0; round < 20; round += 1) {
      plans.set('rollout a', { writes: 'w' });
      await touch();
      plans.clear();
      await touch();
    }
    expect(enqueued).toHaveLength(12);
  });
});

test('a failure is told besides the problems, in case its upgrade tells none any more', async () => {
  plans.set('rollout a', { writes: 'w' });
  act = () => Promise.reject(AWAY);
  await touch();
  expect(told).toEqual([keyText(keyOf('a'))]);
});

describe('the end of an upgrade', () => {
  test('waits for its steps under way, and for no others', async () => {
    const gates = new Map(['rollout a', 'rollout b'].map((id) => [id, Promise.withResolvers<void>()]));
    act = async (id) => gates.get(id)?.promise;
    start({ concurrency: 2 });
    for (const id of gates.keys()) plans.set(id, { writes: 'w' });
    spokes.enqueue(keyText(keyOf('a')));
    spokes.enqueue(keyText(keyOf('b', 'other')));
    await idle();
    const ends: string[] = [];
    const waiting = ['uid', 'other', 'none'].map((uid) => spokes.settled(uid).then(() => ends.push(uid)));
    await idle();
    expect(ends).toEqual(['none']);
    gates.get('rollout a')?.resolve();
    await idle();
    expect(ends).toEqual(['none', 'uid']);
    gates.get('rollout b')?.resolve();
    await Promise.all(waiting);
  });

  test('of the process tells a step to stop at once, since another may lead; its abort is no problem', async () => {
    let own: AbortSignal | undefined;
    act = (_, signal) => {
      own = signal;
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    plans.set('rollout a', { writes: 'w' });
    const { stopped } = start();
    await touch();
    stop.abort(new Error('the lease is lost'));
    await stopped;
    await clock.advance(60_000);
    expect([own?.aborted, problemOf('rollout'), taken]).toEqual([true, undefined, ['rollout a']]);
  });
});
