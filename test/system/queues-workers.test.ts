import type { QueueStore } from '@flotilla/queues';
import { createLogger } from '@flotilla/runtime';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { milliseconds, open, type StepHandler, startRedis, startSteps, startWorkerProcess, until } from './queue-fixture.ts';

/** A leader that runs nothing itself but `blocker`. */
async function startAsking(store: QueueStore) {
  const steps = startSteps({ store, concurrency: 1, runTimeoutMs: 600_000, graceMs: 0, handle: () => new Promise(() => {}) });
  steps.enqueue('blocker');
  await until(() => expect(steps.size().running).toBe(1));
  return Object.assign(steps, { [Symbol.asyncDispose]: () => steps.close() });
}

describe('worker processes', () => {
  it('share the steps; when one is killed in mid-run, each step is run all the same', async () => {
    await using redis = await startRedis();
    await using store = await open({ redisUrl: redis.url });
    await using steps = await startAsking(store);
    // The first ends none of its steps: however late the kill is, it meets a worker that has some.
    await using first = await startWorkerProcess(redis.url, 600_000);
    await using second = await startWorkerProcess(redis.url, 100);
    const names = Array.from({ length: 100 }, (_, i) => `c${i}`);
    for (const name of names) steps.enqueue(name);
    await until(() => expect(Math.min(first.begun.length, second.ended.length)).toBeGreaterThan(0));
    await first.kill();
    const lost = first.begun.filter((name) => !first.ended.includes(name));
    expect(lost).not.toEqual([]);
    await until(() => expect(steps.size()).toMatchObject({ waiting: 0 }));
    expect([...new Set([...first.ended, ...second.ended])].sort()).toEqual(names.sort());
    for (const name of lost) expect(second.ended).toContain(name);
  });

  it('lose no step when the store is emptied while they hold steps', async () => {
    await using redis = await startRedis();
    await using store = await open({ redisUrl: redis.url });
    await using steps = await startAsking(store);
    await using worker = await startWorkerProcess(redis.url, 200);
    const names = Array.from({ length: 20 }, (_, i) => `c${i}`);
    for (const name of names) steps.enqueue(name);
    await until(() => expect(worker.begun.length).toBeGreaterThanOrEqual(5));
    await redis.flush();
    await until(() => expect([...new Set(worker.ended)].sort()).toEqual(names.sort()));
    await until(() => expect(steps.size()).toMatchObject({ waiting: 0 }));
  });

  it('repeat failures and waits themselves', async () => {
    await using redis = await startRedis();
    await using store = await open({ redisUrl: redis.url });
    await using steps = await startAsking(store);
    await using worker = await startWorkerProcess(redis.url, 0);
    for (const name of ['broken', 'waits']) steps.enqueue(name);
    await until(() => expect(worker.ended.toSorted()).toEqual(['broken', 'waits']));
    expect(worker.begun).toHaveLength(6);
  });
});

describe('whoever else writes to the store', () => {
  it('has jobs dropped that are larger than any key, before they are parsed, and every step is run', async () => {
    await using redis = await startRedis();
    await using store = await open({ redisUrl: redis.url });
    const lines: string[] = [];
    const runs: string[] = [];
    const steps = startSteps({
      store,
      logger: createLogger({ name: 'test', level: 'warn', destination: { write: (line) => void lines.push(JSON.parse(line).msg) } }),
      handle: async (key) => void runs.push(key),
    });
    const connection = new Redis(redis.url);
    // No JSON: parsing it fails, and the job stays in the store until its lock has expired.
    const enlarge = `
      for i = 1, 3 do
        redis.call('HSET', KEYS[1] .. 'evil-' .. i, 'name', 'step', 'data', string.rep('x', 5000000), 'opts', '{}', 'timestamp', '1', 'priority', '0')
        redis.call('LPUSH', KEYS[1] .. 'wait', 'evil-' .. i)
      end
      redis.call('ZADD', KEYS[1] .. 'marker', 0, '0')`;
    await connection.eval(enlarge, 1, 'flotilla:steps:');
    const names = Array.from({ length: 20 }, (_, i) => `c${i}`);
    for (const name of names) steps.enqueue(name);
    await until(() => expect(runs).toEqual(expect.arrayContaining(names)));
    await until(() => expect(lines).toHaveLength(3));
    expect(new Set(lines)).toEqual(new Set(['Dropping a job that is no key']));
    await expect.poll(() => connection.keys('flotilla:steps:evil-*')).toEqual([]);
    await steps.close();
    connection.disconnect();
  });
});

describe('a store that refuses', () => {
  it.each([
    { name: 'is full', refuse: ['CONFIG', 'SET', 'maxmemory', '1'], allow: ['CONFIG', 'SET', 'maxmemory', '0'] },
    { name: 'is no primary any more', refuse: ['REPLICAOF', '127.0.0.1', '1'], allow: ['REPLICAOF', 'NO', 'ONE'] },
  ])('because it $name is asked again once a second, and steps run when it takes them', async ({ refuse, allow }) => {
    await using redis = await startRedis();
    await using store = await open({ redisUrl: redis.url });
    const connection = new Redis(redis.url);
    const tell = ([command = '', ...args]: readonly string[]) => connection.call(command, ...args);
    await tell(refuse);
    const lines: string[] = [];
    const runs: string[] = [];
    const steps = startSteps({
      store,
      logger: createLogger({ name: 'test', level: 'warn', destination: { write: (line) => void lines.push(JSON.parse(line).msg) } }),
      handle: async (key) => runs.push(key),
    });
    const refusals = () => lines.filter((line) => line === 'Worker failed to reach the store').length;
    await until(() => expect(refusals()).toBeGreaterThan(0));
    steps.enqueue('a');
    await until(() => expect(store.isReachable()).toBe(false));
    await milliseconds(2_000);
    expect(refusals()).toBeLessThan(10);
    await tell(allow);
    await until(() => expect(runs).toEqual(['a']));
    await until(() => expect(store.isReachable()).toBe(true));
    await steps.close();
    connection.disconnect();
  });
});

describe('two processes on one Redis', () => {
  async function suite() {
    const redis = await startRedis();
    const store = await open({ redisUrl: redis.url });
    const work = (handle: StepHandler, graceMs = 0) => startSteps({ store, handle, graceMs });
    const end = async () => {
      await store[Symbol.asyncDispose]();
      await redis[Symbol.asyncDispose]();
    };
    const stopServer = () => redis[Symbol.asyncDispose]();
    return { url: redis.url, store, work, stopServer, [Symbol.asyncDispose]: end };
  }

  it('says that it is reachable until its server is gone', async () => {
    await using one = await suite();
    await until(() => expect(one.store.isReachable()).toBe(true));
    await one.stopServer();
    await until(() => expect(one.store.isReachable()).toBe(false));
  });

  it('see in a run whatever was written before a want, over 500 racing ones', async () => {
    await using two = await suite();
    const written = new Map<string, number>();
    const seen = new Map<string, number>();
    const steps = await startAsking(two.store);
    let beside = 0;
    const running = new Set<string>();
    const worker = two.work(async (cluster) => {
      if (running.has(cluster)) beside++;
      running.add(cluster);
      const value = written.get(cluster) ?? 0;
      await milliseconds(Number(cluster) % 5);
      seen.set(cluster, value);
      running.delete(cluster);
    });
    for (let i = 1; i <= 500; i++) {
      const cluster = String(i % 25);
      written.set(cluster, i);
      steps.enqueue(cluster);
      if (i % 10 === 0) await milliseconds(1);
    }
    await until(() => expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(written)));
    await until(() => expect(steps.size()).toMatchObject({ waiting: 0 }));
    expect(beside).toBe(0);
    await Promise.all([worker.close(), steps.close()]);
  });

  it('hand steps that one gives up when closed to the other', async () => {
    await using two = await suite();
    const steps = await startAsking(two.store);
    const stuck: string[] = [];
    const leaving = two.work((cluster) => {
      stuck.push(cluster);
      return new Promise(() => {});
    }, 50);
    steps.enqueue('a');
    await until(() => expect(stuck).toEqual(['a']));
    await leaving.close();
    const runs: string[] = [];
    const staying = two.work(async (cluster) => runs.push(cluster));
    await until(() => expect(runs).toEqual(['a']));
    await Promise.all([staying.close(), steps.close()]);
  });

  it('drop what is malformed, of another kind or carries more than identities, with one line each, and go on', async () => {
    await using two = await suite();
    const lines: string[] = [];
    const runs: unknown[] = [];
    const worker = startSteps({
      store: two.store,
      accepts: (key) => /^precache\/uid-1\/[\w.-]+$/.test(key),
      logger: createLogger({ name: 'test', level: 'warn', destination: { write: (line) => void lines.push(JSON.parse(line).msg) } }),
      handle: async (each) => runs.push(each),
    });
    const connection = new Redis(two.url, { maxRetriesPerRequest: null });
    const queue = new Queue('steps', { connection, prefix: 'flotilla' });
    const forged: unknown[] = [
      {},
      [],
      'text',
      'precache/uid-1/a/evil',
      'backup/uid-1/a',
      'delete/uid-1/a',
      'precache/uid-1/',
      'precache/uid-1/../../x',
      { kind: 'precache', upgrade: 'uid-1', cluster: 'a' },
    ];
    for (const data of forged) await queue.add('step', data);
    await queue.add('step', 'precache/uid-1/honest');
    await until(() => expect(runs).toEqual(['precache/uid-1/honest']));
    await until(() => expect(lines).toHaveLength(forged.length));
    expect(new Set(lines)).toEqual(new Set(['Dropping a job that is no key']));
    await worker.close();
    await queue.close();
    connection.disconnect();
  });

  it('run a key once more, not beside itself, for jobs that somebody doubled', async () => {
    await using two = await suite();
    const held = Promise.withResolvers<undefined>();
    let [running, beside, runs] = [0, 0, 0];
    const worker = two.work(async () => {
      runs += 1;
      running += 1;
      beside = Math.max(beside, running);
      await held.promise;
      running -= 1;
    });
    const connection = new Redis(two.url, { maxRetriesPerRequest: null });
    const queue = new Queue('steps', { connection, prefix: 'flotilla' });
    await queue.addBulk(Array.from({ length: 10 }, () => ({ name: 'step', data: 'a' })));
    await until(() => expect(runs).toBe(1));
    await expect.poll(() => queue.getActiveCount()).toBe(1);
    held.resolve(undefined);
    await until(() => expect(worker.size()).toEqual({ waiting: 0, running: 0, timers: 0 }));
    expect([beside, runs]).toEqual([1, 2]);
    await worker.close();
    await queue.close();
    connection.disconnect();
  });
});
