import { PullerReport } from '@flotilla/api/ran';
import type { Clock, ServedResource } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { createRandom } from '../../random.ts';
import { createTimerHeap } from '../timer-heap.ts';
import type { SpokeFaults } from './faults.ts';
import { BUILT_IN_KINDS } from './served-kinds.ts';
import { planJob, runJob } from './simulated-job.ts';
import { SpokeStore } from './spoke-store.ts';

const SHAPE = { seconds: 20, jitter: 0.2 };
const kindOf = (name: string): ServedResource => {
  const found = BUILT_IN_KINDS.find(({ kind }) => kind === name);
  if (!found) throw new Error(`no ${name}`);
  return found;
};

/** A spoke whose time the test moves. */
function spokeAt(faults: SpokeFaults, fails = false) {
  let now = Date.parse('2026-01-01T00:00:00Z');
  const due: { at: number; fn: () => void }[] = [];
  const clock: Clock = {
    now: () => now,
    setTimer(ms, fn) {
      const entry = { at: now + ms, fn };
      due.push(entry);
      return { [Symbol.dispose]: () => void due.splice(due.indexOf(entry), due.includes(entry) ? 1 : 0) };
    },
  };
  const advance = (ms: number): void => {
    const end = now + ms;
    for (;;) {
      const next = due.toSorted((a, b) => a.at - b.at)[0];
      if (!next || next.at > end) break;
      due.splice(due.indexOf(next), 1);
      now = next.at;
      next.fn();
    }
    now = end;
  };
  const timers = createTimerHeap(clock);
  const events: string[] = [];
  const store: SpokeStore = new SpokeStore({
    kinds: BUILT_IN_KINDS,
    random: createRandom(1, 'x'),
    now: () => now,
    later: (fn) => void timers.after(1000, fn),
    onCreated(served, object) {
      if (served.kind !== 'Job') return;
      runJob(object, {
        store,
        served,
        timers,
        now: () => now,
        random: () => 0.5,
        shape: SHAPE,
        faults,
        isHeld: () => faults.jobsHeld ?? false,
        fails,
        onEvent: (event) => events.push(event),
        onPodDone: () => {},
      });
    },
  });
  store.put(kindOf('Namespace'), undefined, { metadata: { name: 'ns' } });
  store.put(kindOf('Job'), 'ns', { metadata: { name: 'pre-cache' }, spec: { activeDeadlineSeconds: 60 } });
  const status = () => store.read(kindOf('Job'), 'ns', 'pre-cache')?.status;
  const progress = () => {
    const annotations = Object(store.read(kindOf('Job'), 'ns', 'pre-cache')?.metadata.annotations);
    return PullerReport.parse(JSON.parse(annotations['flotilla.io/progress']));
  };
  return { advance, events, status, progress, store };
}

test('a job goes from an empty status over active to complete, and its progress with it', () => {
  const { advance, events, status, progress } = spokeAt({});
  expect(status()).toEqual({});
  advance(1000);
  expect(status()).toMatchObject({ active: 1 });
  expect(progress()).toMatchObject({ phase: 'pulling', bytesDone: 0, imagesTotal: 12 });
  advance(10_000);
  expect(progress()).toMatchObject({ phase: 'pulling', bytesDone: 100_000_000, imagesDone: 6, bytesPerSecond: 10_000_000 });
  advance(10_000);
  expect(status()).toMatchObject({
    succeeded: 1,
    conditions: [
      { type: 'SuccessCriteriaMet', status: 'True' },
      { type: 'Complete', status: 'True' },
    ],
  });
  expect(progress()).toMatchObject({ phase: 'done', imagesDone: 12, bytesDone: 200_000_000 });
  expect(events).toEqual(['job-created', 'job-started', 'job-succeeded']);
});

test.each([
  { name: 'a failing job', faults: {}, fails: true, reason: 'BackoffLimitExceeded', event: 'job-failed' },
  {
    name: 'a job at its injected deadline',
    faults: { deadlineJobSeconds: 5 },
    fails: false,
    reason: 'DeadlineExceeded',
    event: 'job-deadline',
  },
  {
    name: 'a job that never starts, at its own deadline',
    faults: { jobNeverStarts: true },
    fails: false,
    reason: 'DeadlineExceeded',
    event: 'job-deadline',
  },
])('$name ends with $reason', ({ faults, fails, reason, event }) => {
  const { advance, events, status } = spokeAt(faults, fails);
  advance(60_000);
  expect(status()).toMatchObject({
    failed: 1,
    conditions: [
      { type: 'FailureTarget', reason },
      { type: 'Failed', status: 'True', reason },
    ],
  });
  expect(events.at(-1)).toBe(event);
});

test('a held job goes on past its end, and ends once it is let go', () => {
  const faults = { jobsHeld: true };
  const { advance, events, status } = spokeAt(faults);
  advance(50_000);
  expect(status()).toMatchObject({ active: 1 });
  faults.jobsHeld = false;
  advance(1_000);
  expect(status()).toMatchObject({ succeeded: 1 });
  expect(events).toEqual(['job-created', 'job-started', 'job-succeeded']);
});

test('a job whose account is not there gets no pod', () => {
  const { advance, events, store } = spokeAt({});
  const pod = { serviceAccountName: 'pre-cache-agent', containers: [] };
  const spec = { activeDeadlineSeconds: 60, template: { spec: pod } };
  store.put(kindOf('Job'), 'ns', { metadata: { name: 'without' }, spec });
  store.put(kindOf('ServiceAccount'), 'ns', { metadata: { name: 'pre-cache-agent' } });
  store.put(kindOf('Job'), 'ns', { metadata: { name: 'with' }, spec });
  advance(2000);
  const status = (name: string) => store.read(kindOf('Job'), 'ns', name)?.status;
  expect(status('without')).toEqual({});
  expect(status('with')).toMatchObject({ active: 1 });
  advance(60_000);
  expect(status('without')).toMatchObject({ conditions: [{}, { type: 'Failed', reason: 'DeadlineExceeded' }] });
  expect(events.filter((event) => event === 'job-succeeded')).toHaveLength(2);
});

test('deleting the namespace takes the job and its progress along, and nothing more happens', () => {
  const { advance, events, store } = spokeAt({});
  advance(2000);
  store.remove(kindOf('Namespace'), undefined, 'ns');
  expect(store.read(kindOf('Namespace'), undefined, 'ns')).toMatchObject({ status: { phase: 'Terminating' } });
  expect(() => store.put(kindOf('ConfigMap'), 'ns', { metadata: { name: 'x' } })).toThrow('because it is being terminated');
  expect(() => store.put(kindOf('Namespace'), undefined, { metadata: { name: 'ns' } })).toThrow(
    'object is being deleted: namespaces "ns" already exists',
  );
  advance(60_000);
  expect(store.read(kindOf('Job'), 'ns', 'pre-cache')).toBeUndefined();
  expect(events).toEqual(['job-created', 'job-started']);
});

test('run times stay within the jitter and the same seed gives the same ones', () => {
  const { store } = spokeAt({});
  const job = store.read(kindOf('Job'), 'ns', 'pre-cache');
  if (!job) throw new Error('no job');
  const times = (seed: number) => {
    const random = createRandom(seed, 'spoke-1');
    return Array.from({ length: 200 }, () => planJob(job, SHAPE, {}, { random: random(), fails: false }).endsAfterMs ?? 0);
  };
  expect(times(1)).toEqual(times(1));
  expect(times(1)).not.toEqual(times(2));
  expect(Math.min(...times(1))).toBeGreaterThanOrEqual(17_000);
  expect(Math.max(...times(1))).toBeLessThanOrEqual(25_000);
});
