import { TerminalError, WaitingError } from '@flotilla/api';
import { ManualClock } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { ApiError, RuntimeErrorCode } from './errors.ts';
import { logOnly } from './event-recorder.ts';
import { createLogger } from './logger.ts';
import { createMetrics } from './metrics.ts';
import type { OpenBackend, QueueBackend } from './queue-backend.ts';
import { type Reconciler, type ReconcilerOptions, startReconciler, type Trouble } from './reconciler.ts';

const HOUR = 3_600_000;
const logger = createLogger({ name: 't', level: 'silent' });

async function start(reconcile: (key: string) => Promise<unknown>, options: Partial<ReconcilerOptions> = {}) {
  const clock = new ManualClock(0);
  const stop = new AbortController();
  const steps: Reconciler = startReconciler({
    onTrouble: logOnly,
    name: 'steps',
    logger,
    signal: stop.signal,
    clock,
    reconcile: async (key) => void (await reconcile(key)),
    ...options,
  });
  // It begins to run keys in a later turn.
  for (let turn = 0; turn < 2; turn += 1) await clock.advance(0);
  return { clock, steps, stop };
}

test('a step that is wanted at a time while it runs gets it to the millisecond, for an hour', async () => {
  const at: number[] = [];
  const { clock, steps } = await start(async (key) => {
    at.push(clock.now());
    steps.enqueue(key, { at: clock.now() + 600_000 });
  });
  steps.enqueue('a');
  await clock.advance(HOUR);
  expect(at).toEqual([0, 1, 2, 3, 4, 5, 6].map((n) => n * 600_000));
  steps.forget('a');
  await clock.advance(HOUR);
  expect(at).toHaveLength(7);
});

test('a timer has the earliest time that was asked for, and an earlier run does not cancel it', async () => {
  const runs: string[] = [];
  const { clock, steps } = await start(async (key) => runs.push(`${key} ${clock.now()}`));
  steps.enqueue('a', { at: 1_000 });
  steps.enqueue('a', { at: 5_000 });
  steps.enqueue('b', { at: 1_000 });
  steps.enqueue('a');
  await clock.advance(999);
  expect(runs).toEqual(['a 0']);
  await clock.advance(1);
  expect(runs.slice(1).toSorted()).toEqual(['a 1000', 'b 1000']);
  await clock.advance(HOUR);
  expect(runs).toHaveLength(3);
});

test('what keeps failing is tried ever more rarely, and told from the fifth time on', async () => {
  const told: number[] = [];
  let tries = 0;
  const { clock, steps } = await start(
    () => {
      tries += 1;
      return Promise.reject(new Error(`refused for the ${tries}. time`));
    },
    {
      onTrouble: async (_, { attempt, times }) => {
        expect([attempt, times]).toEqual([tries, 1]);
        if (attempt >= 5) told.push(tries);
      },
      backOff: { baseMs: 1_000, maxMs: 60_000 },
    },
  );
  steps.enqueue('a');
  await clock.advance(HOUR);
  // A minute at most, half of it at least.
  expect(tries).toBeGreaterThan(60);
  expect(tries).toBeLessThan(135);
  expect(told[0]).toBe(5);
  expect(told).toHaveLength(tries - 4);
  // It will be tried again, but nothing of it waits or runs.
  expect(steps.holds('a')).toBe(false);
});

test('tells ends, verdicts, waits and failures apart', async () => {
  const metrics = createMetrics({ process: false });
  const thrown: Record<string, Error> = {
    terminal: new TerminalError('FLOTILLA_TEST', 'bad'),
    waiting: new WaitingError('FLOTILLA_TEST', 'not yet', 5_000),
    retry: new Error('refused'),
  };
  const { clock, steps } = await start(async (key) => (thrown[key] ? Promise.reject(thrown[key]) : undefined), { metrics, concurrency: 4 });
  for (const key of ['done', ...Object.keys(thrown)]) steps.enqueue(key);
  await clock.advance(0);
  const text = await metrics.registry.getSingleMetricAsString('flotilla_reconcile_seconds');
  for (const result of ['done', ...Object.keys(thrown)]) expect(text).toContain(`_count{controller="steps",result="${result}"} 1`);
});

test('a time that was asked for stays exact while the key is tried again', async () => {
  const at: number[] = [];
  const { clock, steps } = await start(
    async () => {
      at.push(clock.now());
      if (at.length === 1) throw new Error('refused');
    },
    { backOff: { baseMs: 400, maxMs: 400, floor: 1 } },
  );
  steps.enqueue('a');
  steps.enqueue('a', { at: 900 });
  await clock.advance(HOUR);
  expect(at).toEqual([0, 400, 900]);
});

test('a run before its retry takes the place of it', async () => {
  const at: number[] = [];
  const { clock, steps } = await start(
    async () => {
      at.push(clock.now());
      if (at.length === 1) throw new Error('refused');
    },
    { backOff: { baseMs: 400, maxMs: 400, floor: 1 } },
  );
  steps.enqueue('a');
  await clock.advance(100);
  steps.enqueue('a');
  await clock.advance(HOUR);
  expect(at).toEqual([0, 100]);
});

test('conflicts in a row are told from the fifth on', async () => {
  const conflict = new ApiError(RuntimeErrorCode.conflict, 'PUT', { status: 409, reason: 'Conflict', serverMessage: '' });
  const troubles: Trouble[] = [];
  let tries = 0;
  const { clock, steps } = await start(
    async () => {
      tries += 1;
      if (tries <= 6) throw conflict;
    },
    { onTrouble: async (_, trouble) => troubles.push(trouble) },
  );
  steps.enqueue('a');
  await clock.advance(HOUR);
  expect(troubles.map(({ attempt }) => attempt)).toEqual([5, 6]);
});

/** A store that others share: it holds what is added until a test has it run. */
function sharedStore() {
  const added: string[] = [];
  let run: (key: unknown) => Promise<void> = async () => {};
  let running: Promise<void> | undefined;
  let ranElsewhere: (key: string) => void = () => {};
  const queue: OpenBackend = (options): QueueBackend => {
    run = options.run;
    ranElsewhere = options.onRunElsewhere;
    return {
      isShared: true,
      add: (key) => void added.push(key),
      begun: () => {},
      close: async () => running,
    };
  };
  return { queue, added, run: (key: unknown) => (running = run(key)), ranElsewhere: (key: string) => ranElsewhere(key) };
}

test('what comes out of a shared store is dropped unless it is a key of the queue', async () => {
  const store = sharedStore();
  const runs: string[] = [];
  const lines: string[] = [];
  await start(async (key) => runs.push(key), {
    queue: store.queue,
    accepts: (key) => key.startsWith('ours/'),
    logger: createLogger({ name: 't', destination: { write: (line) => void lines.push(JSON.parse(line).msg) } }),
  });
  const forged = ['theirs/a', '', 'ours/'.padEnd(600, 'x'), { key: 'ours/a' }, 7, undefined];
  for (const job of forged) await store.run(job);
  await store.run('ours/a');
  expect([runs, lines]).toEqual([['ours/a'], forged.map(() => 'Dropping a job that is no key')]);
});

test('a key is added again to a shared store while it waits, and is held until it ran somewhere', async () => {
  const store = sharedStore();
  const { steps } = await start(async () => undefined, { queue: store.queue });
  steps.enqueue('a');
  steps.enqueue('a');
  expect([store.added, steps.holds('a')]).toEqual([['a', 'a'], true]);
  store.ranElsewhere('a');
  expect([steps.holds('a'), steps.size()]).toEqual([false, { waiting: 0, running: 0, timers: 0 }]);
});

test('a run that is given up on a stop goes back to the store after the grace, and not before', async () => {
  const store = sharedStore();
  const { clock, steps, stop } = await start(() => new Promise(() => {}), { queue: store.queue, graceMs: 5_000, runTimeoutMs: 60_000 });
  steps.enqueue('a');
  void store.run('a');
  stop.abort();
  await clock.advance(4_999);
  expect(store.added).toEqual(['a']);
  await clock.advance(1);
  expect(store.added).toEqual(['a', 'a']);
});
