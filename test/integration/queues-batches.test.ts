import { TerminalError, WaitingError } from '@flotilla/api';
import { type BatchQueue, openStore, type RolloutBatch, type RolloutStep, startBatchQueue, startBatchWorker } from '@flotilla/queues';
import { describe, expect, it } from 'vitest';
import { batch, batchQueues, child, log, milliseconds, startRedis, startWorkerProcess, until, useStore } from './queue-fixture.ts';

const { signal } = new AbortController();

describe.each(['redis', 'embedded'] as const)('a batch queue on the %s store', (preference) => {
  const suite = useStore(preference);

  function ask(): BatchQueue<RolloutBatch, RolloutStep> {
    const queue = startBatchQueue({ ...batchQueues, store: suite.store, signal, log });
    suite.open.push(queue);
    return queue;
  }
  function work(
    processChild: (cluster: string) => Promise<unknown>,
    processBatch: (number: number) => Promise<unknown> = async () => {},
    graceMs = 1_000,
  ) {
    const worker = startBatchWorker({
      ...batchQueues,
      store: suite.store,
      concurrency: 10,
      processChild: ({ cluster }) => processChild(cluster),
      processBatch: (payload) => processBatch(payload.batch),
      signal,
      log,
      graceMs,
    });
    suite.open.push(worker);
    return worker;
  }

  it('runs a batch when all its children have ended', async () => {
    const ended: string[] = [];
    const queue = ask();
    work(
      async (cluster) => {
        await milliseconds(Number(cluster));
        ended.push(cluster);
      },
      async (number) => void ended.push(`batch ${number}`),
    );
    await queue.add({ batch: batch(1), children: ['5', '300', '60'].map(child) });
    await until(() => expect(ended).toEqual(['5', '60', '300', 'batch 1']));
  });

  it('runs a batch without children at once', async () => {
    const batches: number[] = [];
    const queue = ask();
    work(
      async () => {},
      async (number) => void batches.push(number),
    );
    await queue.add({ batch: batch(0), children: [] });
    await until(() => expect(batches).toEqual([0]));
  });

  it('does not hold a batch for children that fail, wait or cannot succeed, and goes on with them', async () => {
    const runs: string[] = [];
    const ended: string[] = [];
    const queue = ask();
    work(
      async (cluster) => {
        runs.push(cluster);
        const before = !ended.includes('batch');
        if (cluster === 'broken' && before) throw new Error('refused');
        if (cluster === 'waits' && before) throw new WaitingError('FLOTILLA_TEST_WAIT', 'not yet', 20);
        if (cluster === 'hopeless') throw new TerminalError('FLOTILLA_TEST_BAD', 'bad input');
        ended.push(cluster);
      },
      async () => void ended.push('batch'),
    );
    await queue.add({ batch: batch(1), children: ['broken', 'waits', 'hopeless', 'good'].map(child) });
    await until(() => expect(ended.toSorted()).toEqual(['batch', 'broken', 'good', 'waits']));
    expect(runs.filter((name) => name === 'hopeless')).toHaveLength(1);
  });

  it('asks again for free while jobs wait and run', async () => {
    const runs: string[] = [];
    const release = Promise.withResolvers<void>();
    const queue = ask();
    const flow = { batch: batch(1), children: Array.from({ length: 20 }, (_, i) => child(`c${i}`)) };
    await queue.add(flow);
    for (let i = 0; i < 5; i++) await queue.add(flow);
    work(
      async (cluster) => {
        runs.push(cluster);
        await release.promise;
      },
      async () => void runs.push('batch'),
    );
    await until(() => expect(runs).toHaveLength(10));
    for (let i = 0; i < 5; i++) await queue.add(flow);
    release.resolve();
    await until(() => expect(runs).toContain('batch'));
    expect(runs).toHaveLength(21);
    expect(runs.at(-1)).toBe('batch');
    expect(new Set(runs).size).toBe(21);
  });

  it('holds a batch for children that are added later too', async () => {
    const runs: string[] = [];
    const gates: Record<string, PromiseWithResolvers<void>> = { a: Promise.withResolvers(), b: Promise.withResolvers() };
    const queue = ask();
    work(
      async (cluster) => {
        runs.push(cluster);
        await gates[cluster]?.promise;
      },
      async () => void runs.push('batch'),
    );
    await queue.add({ batch: batch(1), children: [child('a')] });
    await until(() => expect(runs).toEqual(['a']));
    await queue.add({ batch: batch(1), children: [child('a'), child('b')] });
    await until(() => expect(runs).toEqual(['a', 'b']));
    gates.a?.resolve();
    await milliseconds(300);
    expect(runs).toEqual(['a', 'b']);
    gates.b?.resolve();
    await until(() => expect(runs).toEqual(['a', 'b', 'batch']));
  });

  it('runs children and batches once more, and never beside themselves, for wakes made while they run', async () => {
    const runs: string[] = [];
    let running = 0;
    let most = 0;
    const release = Promise.withResolvers<void>();
    const hold = async (name: string) => {
      runs.push(name);
      most = Math.max(most, ++running);
      await release.promise;
      running--;
    };
    const queue = ask();
    work(hold, (number) => hold(`batch ${number}`));
    await Promise.all([queue.addChild(child('a')), queue.addBatch(batch(1))]);
    await until(() => expect(runs.toSorted()).toEqual(['a', 'batch 1']));
    for (let i = 0; i < 20; i++) await Promise.all([queue.addChild(child('a')), queue.addBatch(batch(1))]);
    await queue.add({ batch: batch(1), children: [] });
    release.resolve();
    await until(() => expect(runs.toSorted()).toEqual(['a', 'a', 'batch 1', 'batch 1']));
    await milliseconds(300);
    expect(runs).toHaveLength(4);
    expect(most).toBe(2);
  });

  it('runs a child that waits for something as soon as it is woken or asked for', async () => {
    let runs = 0;
    let batches = 0;
    const queue = ask();
    work(
      async () => {
        runs++;
        throw new WaitingError('FLOTILLA_TEST_WAIT', 'not yet', 60_000);
      },
      async () => void batches++,
    );
    await queue.add({ batch: batch(1), children: [child('a')] });
    await until(() => expect([runs, batches]).toEqual([1, 1]));
    await queue.addChild(child('a'));
    await until(() => expect(runs).toBe(2));
    await queue.add({ batch: batch(1), children: [child('a')] });
    await until(() => expect([runs, batches]).toEqual([3, 2]), 10_000);
  });

  it('runs at once what is woken while the run begins to wait', async () => {
    let runs = 0;
    const queue = ask();
    work(async () => {
      if (++runs > 1) return;
      await queue.addChild(child('a'));
      throw new WaitingError('FLOTILLA_TEST_WAIT', 'not yet', 60_000);
    });
    await queue.addChild(child('a'));
    await until(() => expect(runs).toBe(2), 10_000);
  });

  it('sees in a run whatever was written before a wake, over 500 racing wakes', async () => {
    const written = new Map<string, number>();
    const seen = new Map<string, number>();
    const running = new Set<string>();
    let beside = 0;
    const queue = ask();
    work(async (cluster) => {
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
      if (i % 50 === 0) void queue.add({ batch: batch(i), children: [child(String(i % 24)), child(cluster)] });
      void queue.addChild(child(cluster));
      if (i % 10 === 0) await milliseconds(1);
    }
    await until(() => expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(written)));
    expect(beside).toBe(0);
  });

  it('does what was lost with the store when asked again', async () => {
    const ended: string[] = [];
    const release = Promise.withResolvers<void>();
    let began = 0;
    const queue = ask();
    work(
      async (cluster) => {
        began++;
        await release.promise;
        ended.push(cluster);
      },
      async () => void ended.push('batch'),
    );
    const flow = { batch: batch(1), children: Array.from({ length: 15 }, (_, i) => child(`c${i}`)) };
    await queue.add(flow);
    await until(() => expect(began).toBe(10));
    await suite.store.flush();
    await queue.add(flow);
    release.resolve();
    await until(() => expect(ended).toContain('batch'));
    expect(new Set(ended).size).toBe(16);
  });

  it('leaves what it gives up when closed to others', async () => {
    const ended: string[] = [];
    const queue = ask();
    const leaving = work(() => new Promise(() => {}), undefined, 50);
    await queue.add({ batch: batch(1), children: [child('a')] });
    await until(() => expect(leaving.running()).toBe(1));
    await leaving.close();
    work(async (cluster) => void ended.push(cluster));
    await until(() => expect(ended).toEqual(['a']));
  });

  it('refuses payloads that are none', async () => {
    const queue = ask();
    await expect(queue.addChild({ ...child('a'), cluster: '' })).rejects.toThrow('cluster');
    await expect(queue.addBatch(batch(-1))).rejects.toThrow('batch');
    await expect(queue.add({ batch: batch(1), children: [{ ...child('a'), cluster: '' }] })).rejects.toThrow('cluster');
  });
});

describe('worker processes', () => {
  it('run children and then the batch; what one held when it was killed, the other runs', async () => {
    await using redis = await startRedis();
    await using store = await openStore({ redisUrl: redis.url, log });
    await using first = await startWorkerProcess(redis.url, 100);
    const queue = startBatchQueue({ ...batchQueues, store, signal, log });
    const names = Array.from({ length: 30 }, (_, i) => `c${i}`);
    await queue.add({ batch: batch(1), children: names.map(child) });
    await until(() => expect(first.begun.length).toBeGreaterThanOrEqual(10));
    await first.kill();
    await using second = await startWorkerProcess(redis.url, 10);
    await until(() => expect(second.begun).toContain('batch-1'));
    expect(new Set([...first.begun, ...second.begun])).toEqual(new Set([...names, 'batch-1']));
    // At most the five under way when it was killed are begun twice; one of them may have ended in its last moment.
    expect(first.begun.filter((name) => second.begun.includes(name)).length).toBeLessThanOrEqual(5);
    expect(second.begun.at(-1)).toBe('batch-1');
    await queue.close();
  });
});
