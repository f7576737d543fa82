import { type Outcome, openStore, type PrecacheStep, type QueueStore, startStepQueue, startStepWorker } from '@flotilla/queues';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  askingQueue,
  log,
  milliseconds,
  RunBy,
  startRedis,
  startWorkerProcess,
  step,
  stepQueue,
  until,
  useStore,
} from './queue-fixture.ts';

const { signal } = new AbortController();
type Process<R> = (payload: PrecacheStep, signal: AbortSignal) => Promise<R>;
/** Keeps a queue from running anything itself but its first step, when that comes before the workers. */
const stuck = () => new Promise<never>(() => {});

describe('worker processes', () => {
  /** A step queue that runs nothing but `blocker`, and what it heard of the others. */
  async function startAsking(store: QueueStore) {
    const outcomes: Record<string, Outcome<z.infer<typeof RunBy>>[]> = {};
    const onOutcome = ({ cluster }: PrecacheStep, outcome: Outcome<z.infer<typeof RunBy>>) => {
      outcomes[cluster] = [...(outcomes[cluster] ?? []), outcome];
    };
    const steps = startStepQueue({
      store,
      queue: askingQueue,
      concurrency: 1,
      process: stuck,
      result: RunBy,
      onOutcome,
      signal,
      log,
      graceMs: 0,
    });
    await steps.wake(step('blocker'));
    await until(() => expect(steps.size().running).toBe(1));
    return { steps, outcomes, [Symbol.asyncDispose]: () => steps.close() };
  }
  const pidsOf = (outcomes: Record<string, Outcome<z.infer<typeof RunBy>>[]>) =>
    new Set(Object.values(outcomes).flatMap((all) => all.map((outcome) => (outcome.kind === 'done' ? outcome.result.pid : 0))));

  it('share the steps; when one is killed in mid-run, each step still gets one outcome', async () => {
    await using redis = await startRedis();
    await using store = await openStore({ redisUrl: redis.url, log });
    await using asking = await startAsking(store);
    await using first = await startWorkerProcess(redis.url, 50);
    await using second = await startWorkerProcess(redis.url, 50);
    const names = Array.from({ length: 150 }, (_, i) => `c${i}`);
    for (const name of names) void asking.steps.wake(step(name));
    await until(() => expect(pidsOf(asking.outcomes)).toEqual(new Set([first.pid, second.pid])));
    await first.kill();
    const lost = first.begun.filter((name) => !asking.outcomes[name]);
    expect(lost).not.toEqual([]);
    await until(() => expect(asking.steps.size()).toMatchObject({ waiting: 0 }));
    expect(Object.keys(asking.outcomes).sort()).toEqual(names.sort());
    for (const name of names) expect(asking.outcomes[name]).toEqual([{ kind: 'done', result: { pid: expect.any(Number) } }]);
    for (const name of lost) expect(second.begun).toContain(name);
  });

  it('lose no step when the store is emptied while they hold steps', async () => {
    await using redis = await startRedis();
    await using store = await openStore({ redisUrl: redis.url, log });
    await using asking = await startAsking(store);
    await using worker = await startWorkerProcess(redis.url, 200);
    const names = Array.from({ length: 20 }, (_, i) => `c${i}`);
    for (const name of names) void asking.steps.wake(step(name));
    await until(() => expect(worker.begun.length).toBeGreaterThanOrEqual(5));
    await store.flush();
    await until(() => expect(Object.keys(asking.outcomes).sort()).toEqual(names.sort()));
    await until(() => expect(asking.steps.size()).toMatchObject({ waiting: 0 }));
    for (const name of names) expect(asking.outcomes[name]).toHaveLength(1);
  });

  it('answer verdicts, waits and failures by kind and code', async () => {
    await using redis = await startRedis();
    await using store = await openStore({ redisUrl: redis.url, log });
    await using asking = await startAsking(store);
    await using worker = await startWorkerProcess(redis.url, 0);
    const { steps, outcomes } = asking;
    for (const name of ['broken', 'waits', 'hopeless']) await steps.wake(step(name));
    await until(() => {
      expect(outcomes.broken?.length).toBeGreaterThanOrEqual(3);
      expect(outcomes.waits?.length).toBeGreaterThanOrEqual(3);
    });
    expect(outcomes.hopeless).toMatchObject([
      { kind: 'terminal', error: { name: 'TerminalError', code: 'FLOTILLA_TEST_BAD', message: 'bad input' } },
    ]);
    expect(outcomes.waits?.[2]).toMatchObject({
      kind: 'waiting',
      error: { name: 'WaitingError', code: 'FLOTILLA_TEST_WAIT', retryAfterMs: 30 },
    });
    expect(outcomes.broken?.[2]).toMatchObject({ kind: 'failed', attempt: 3, error: { code: 'FLOTILLA_STEP_FAILED', message: 'refused' } });
    expect(worker.begun.filter((name) => name === 'hopeless')).toHaveLength(1);
  });
});

describe.each(['redis', 'embedded'] as const)('a step worker on the %s store', (preference) => {
  const suite = useStore(preference);

  /** A queue whose steps all go to workers: its one place is taken. */
  async function ask<R>(result: z.ZodType<R>, onOutcome: (payload: PrecacheStep, outcome: Outcome<R>) => void, queue = askingQueue) {
    const { store } = suite;
    const steps = startStepQueue({ store, queue, concurrency: 1, process: stuck, result, onOutcome, signal, log, graceMs: 0 });
    suite.open.push(steps);
    await steps.wake(step('blocker'));
    await until(() => expect(steps.size().running).toBe(1));
    return steps;
  }
  function work<R>(process: Process<R>, options: { concurrency?: number; graceMs?: number } = {}) {
    const worker = startStepWorker({ store: suite.store, queue: stepQueue, concurrency: 10, signal, log, ...options, process });
    suite.open.push(worker);
    return worker;
  }

  it('sees in a run whatever was written before a wake, over 500 racing wakes', async () => {
    const written = new Map<string, number>();
    const seen = new Map<string, number>();
    const steps = await ask(z.void(), () => {});
    work(async ({ cluster }) => {
      const value = written.get(cluster) ?? 0;
      await milliseconds(Number(cluster) % 5);
      seen.set(cluster, value);
    });
    for (let i = 1; i <= 500; i++) {
      const cluster = String(i % 25);
      written.set(cluster, i);
      void steps.wake(step(cluster), { priority: i % 7 });
      if (i % 10 === 0) await milliseconds(1);
    }
    await until(() => expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(written)));
    await until(() => expect(steps.size()).toMatchObject({ waiting: 0 }));
  });

  it('hands steps that it gives up when closed to others', async () => {
    const outcomes: string[] = [];
    const steps = await ask(z.string(), ({ cluster }, outcome) => void outcomes.push(`${cluster} ${outcome.kind}`));
    const leaving = work(stuck, { graceMs: 50 });
    await steps.wake(step('a'));
    await until(() => expect(leaving.running()).toBe(1));
    await leaving.close();
    await until(() => expect(outcomes).toEqual(['a failed']));
    work(async () => 'result');
    await until(() => expect(outcomes).toEqual(['a failed', 'a done']));
  });

  it('counts a result of another shape as a failure', async () => {
    const kinds: string[] = [];
    const steps = await ask(z.object({ state: z.string() }), (_, { kind }) => void kinds.push(kind));
    let result: unknown = { unexpected: true };
    work(async () => result);
    await steps.wake(step('a'));
    await until(() => expect(kinds).toContain('failed'));
    result = { state: 'Active' };
    await until(() => expect(kinds.at(-1)).toBe('done'));
  });

  it('is not waited for longer than the queue allows', async () => {
    const outcomes: string[] = [];
    const held: string[] = [];
    // Takes jobs, keeps its locks, and never ends.
    const holder = suite.store.consumer(stepQueue.name, {
      concurrency: 1,
      lockMs: stepQueue.lockMs,
      process: ({ id }) => {
        held.push(id);
        return stuck();
      },
    });
    suite.open.push({ close: () => holder.close(0) });
    const queue = { ...stepQueue, watchdogMs: 100, remoteTimeoutMs: 500 };
    const release = Promise.withResolvers<void>();
    const process = async () => release.promise;
    const onOutcome = ({ cluster }: PrecacheStep, { kind }: Outcome<void>) => void outcomes.push(`${cluster} ${kind}`);
    const { store } = suite;
    const steps = startStepQueue({ store, queue, concurrency: 1, process, result: z.void(), onOutcome, signal, log });
    suite.open.push(steps);
    for (const name of ['a', 'b']) await steps.wake(step(name));
    await until(() => expect([held.length, steps.size().running]).toEqual([1, 1]));
    await milliseconds(700);
    expect(outcomes).toEqual([]);
    release.resolve();
    await until(() => expect(outcomes.toSorted()).toEqual(['a done', 'b done']));
    expect(held).toHaveLength(1);
  });

  it('may answer the dead: their successor drops it, and asks itself', async () => {
    const release = Promise.withResolvers<void>();
    const dead = await ask(z.void(), () => {});
    const worker = work(() => release.promise, { concurrency: 1 });
    await dead.wake(step('a'));
    await until(() => expect(worker.running()).toBe(1));
    await dead.close();
    const outcomes: string[] = [];
    const steps = await ask(z.void(), ({ cluster }, { kind }) => void outcomes.push(`${cluster} ${kind}`));
    release.resolve();
    await until(() => expect(worker.running()).toBe(0));
    await steps.wake(step('b'));
    await until(() => expect(outcomes).toEqual(['b done']));
    await steps.wake(step('a'));
    await until(() => expect(outcomes).toEqual(['b done', 'a done']));
  });
});
