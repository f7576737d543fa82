import { spawn } from 'node:child_process';
import { TerminalError, WaitingError } from '@flotilla/api';
import { freePorts } from '@flotilla/control-plane/processes';
import { type Outcome, openStore, type PrecacheStep, queues, type Reserve, type StepQueue, startStepQueue } from '@flotilla/queues';
import { describe, expect, it } from 'vitest';
import { log, step, until, useStore } from './queue-fixture.ts';

/** Short times, so that what a lost job costs is short too. */
const queue = { ...queues.precacheStep, watchdogMs: 400, runTimeoutMs: 10_000, backoff: { baseMs: 40, maxMs: 1_000 } };

describe.each(['redis', 'embedded'] as const)('a step queue on the %s store', (preference) => {
  const suite = useStore(preference);

  function start(
    process: (payload: PrecacheStep, signal: AbortSignal) => Promise<void>,
    options: {
      concurrency?: number;
      reserve?: Reserve;
      onOutcome?: (payload: PrecacheStep, outcome: Outcome<void>) => void;
      graceMs?: number;
    } = {},
  ): StepQueue<PrecacheStep> {
    const { signal } = new AbortController();
    const created = startStepQueue({ store: suite.store, queue, log, signal, concurrency: 20, onOutcome: () => {}, ...options, process });
    suite.open.push(created);
    return created;
  }

  /** A processor that holds every run until it is let go, and says which have started. */
  function gate() {
    const open = Promise.withResolvers<void>();
    const runs: string[] = [];
    const process = async ({ cluster }: PrecacheStep) => {
      runs.push(cluster);
      await open.promise;
    };
    return { runs, process, open: open.resolve };
  }

  it('says which store it is', () => {
    expect(suite.store.kind).toBe(preference === 'redis' ? 'local-redis' : 'embedded');
    expect(suite.store.description).not.toBe('');
  });

  it('runs a key once for wakes made while it waits', async () => {
    const { runs, process, open } = gate();
    const steps = start(process, { concurrency: 1 });
    await steps.wake(step('blocker'));
    await until(() => expect(runs).toEqual(['blocker']));
    for (let i = 0; i < 20; i++) await steps.wake(step('a'));
    expect(steps.size()).toMatchObject({ waiting: 1, running: 1 });
    open();
    await steps.wake(step('last'), { priority: 1_000 });
    await until(() => expect(runs).toEqual(['blocker', 'a', 'last']));
  });

  it('runs a key once more, and never beside itself, for wakes made while it runs', async () => {
    const { runs, process, open } = gate();
    const steps = start(process);
    await steps.wake(step('a'));
    await until(() => expect(runs).toHaveLength(1));
    for (let i = 0; i < 20; i++) await steps.wake(step('a'));
    await steps.wake(step('b'));
    await until(() => expect(runs).toEqual(['a', 'b']));
    open();
    await until(() => expect(steps.size()).toMatchObject({ waiting: 0, running: 0 }));
    expect(runs).toEqual(['a', 'b', 'a']);
  });

  it('sees in a run whatever was written before a wake, over 1000 racing wakes', async () => {
    const written = new Map<string, number>();
    const seen = new Map<string, number>();
    let beside = 0;
    const running = new Set<string>();
    const steps = start(async ({ cluster }) => {
      if (running.has(cluster)) beside++;
      running.add(cluster);
      seen.set(cluster, written.get(cluster) ?? 0);
      await new Promise((resolve) => setTimeout(resolve, Number(cluster) % 5));
      running.delete(cluster);
    });
    for (let i = 1; i <= 1_000; i++) {
      const cluster = String(i % 25);
      written.set(cluster, i);
      void steps.wake(step(cluster), { priority: i % 7 });
      if (i % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(written)));
    expect(beside).toBe(0);
  });

  it('runs lower priorities first, equal ones in order, and takes over a more urgent one', async () => {
    const { runs, process, open } = gate();
    const steps = start(process, { concurrency: 1 });
    await steps.wake(step('blocker'), { priority: 0 });
    await until(() => expect(runs).toEqual(['blocker']));
    await steps.wake(step('far-1'), { priority: 7 });
    await steps.wake(step('far-2'), { priority: 7 });
    await steps.wake(step('near'), { priority: 2 });
    await steps.wake(step('nearest'), { priority: 0 });
    await steps.wake(step('promoted'), { priority: 9 });
    await steps.wake(step('promoted'), { priority: 1 });
    open();
    await until(() => expect(runs).toEqual(['blocker', 'nearest', 'promoted', 'near', 'far-1', 'far-2']));
    await until(() => expect(steps.size()).toMatchObject({ waiting: 0, running: 0 }));
    expect(runs).toHaveLength(6);
  });

  it('gives every fourth run to the step that has been overtaken longest', async () => {
    const { runs, process, open } = gate();
    const steps = start(process, { concurrency: 1, reserve: { from: 4, every: 4 } });
    await steps.wake(step('blocker'), { priority: 0 });
    await until(() => expect(runs).toEqual(['blocker']));
    await steps.wake(step('late-5'), { priority: 5 });
    await steps.wake(step('late-4'), { priority: 4 });
    await Promise.all(Array.from({ length: 20 }, (_, i) => steps.wake(step(`urgent-${i}`), { priority: 1 })));
    open();
    await until(() => expect(runs).toHaveLength(23));
    const [first, second] = [runs.indexOf('late-5'), runs.indexOf('late-4')];
    // Their turns are the fourth and the eighth run; some may have been fetched before a promotion arrived. Alone they would be the last.
    expect(first).toBeGreaterThanOrEqual(4);
    expect(first).toBeLessThanOrEqual(12);
    expect(second).toBeGreaterThanOrEqual(Math.max(8, first));
    expect(second).toBeLessThanOrEqual(16);
  });

  it('wakes at an exact time, at the earliest that was asked for', async () => {
    const late: number[] = [];
    const due = Date.now() + 300;
    const steps = start(async () => void late.push(Date.now() - due));
    steps.wakeAt(step('a'), due + 60_000);
    steps.wakeAt(step('a'), due);
    steps.wakeAt(step('a'), due + 30_000);
    expect(steps.size()).toMatchObject({ timers: 1 });
    await until(() => expect(late).toHaveLength(1));
    expect(late[0]).toBeGreaterThanOrEqual(0);
    expect(late[0]).toBeLessThan(1_000);
  });

  it('repeats failures with growing delays, waits as told, and leaves verdicts alone', async () => {
    const outcomes: Record<string, string[]> = {};
    const at: number[] = [];
    const steps = start(
      async ({ cluster }) => {
        const before = outcomes[cluster]?.length ?? 0;
        if (cluster === 'broken' && before < 3) {
          at.push(Date.now());
          throw new Error('refused');
        }
        if (cluster === 'waits' && before < 1) throw new WaitingError('FLOTILLA_TEST_WAIT', 'not yet', 30);
        if (cluster === 'hopeless') throw new TerminalError('FLOTILLA_TEST_BAD', 'bad input');
      },
      {
        onOutcome: ({ cluster }, { kind }) => {
          outcomes[cluster] = [...(outcomes[cluster] ?? []), kind];
        },
      },
    );
    for (const cluster of ['broken', 'waits', 'hopeless']) await steps.wake(step(cluster));
    await until(() =>
      expect(outcomes).toEqual({ broken: ['failed', 'failed', 'failed', 'done'], waits: ['waiting', 'done'], hopeless: ['terminal'] }),
    );
    const [first = 0, second = 0, third = 0] = at;
    expect(second - first).toBeGreaterThanOrEqual(20);
    expect(third - second).toBeGreaterThanOrEqual(40);
    expect(steps.size()).toEqual({ waiting: 0, running: 0, timers: 0 });
  });

  it('loses no wake when the store is emptied while 200 keys wait and run', async () => {
    const written = new Map<string, number>();
    const seen = new Map<string, number>();
    const steps = start(async ({ cluster }) => {
      seen.set(cluster, written.get(cluster) ?? 0);
      await new Promise((resolve) => setTimeout(resolve, 5));
    });
    for (let round = 1; round <= 5; round++) {
      for (let i = 0; i < 200; i++) {
        written.set(`c${i}`, round);
        void steps.wake(step(`c${i}`), { priority: i % 3 });
      }
      await until(() => expect(steps.size().running).toBeGreaterThan(0));
      await suite.store.flush();
    }
    await until(() => expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(written)));
    await until(() => expect(steps.size()).toMatchObject({ waiting: 0, running: 0 }));
  });

  it('aborts running steps after the grace when closed, and reports no outcome for them', async () => {
    const outcomes: string[] = [];
    const { promise: entered, resolve: enter } = Promise.withResolvers<void>();
    const steps = start(
      async (_, signal) => {
        enter();
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
      { graceMs: 100, onOutcome: (_, { kind }) => void outcomes.push(kind) },
    );
    await steps.wake(step('a'));
    await entered;
    const before = performance.now();
    await steps.close();
    expect(performance.now() - before).toBeLessThan(2_000);
    expect(outcomes).toEqual([]);
    await steps.wake(step('after'));
    expect(steps.size()).toEqual({ waiting: 0, running: 0, timers: 0 });
  });

  it('lets running steps end within the grace when closed', async () => {
    const outcomes: string[] = [];
    const { runs, process, open } = gate();
    const steps = start(process, { onOutcome: (_, { kind }) => void outcomes.push(kind) });
    await steps.wake(step('a'));
    await until(() => expect(runs).toHaveLength(1));
    const closed = steps.close();
    open();
    await closed;
    expect(outcomes).toEqual(['done']);
  });

  it('refuses a payload that is not one', async () => {
    const steps = start(async () => {});
    await expect(steps.wake({ ...step('a'), cluster: '' })).rejects.toThrow('cluster');
  });
});

describe('a Redis of our own', () => {
  it('is started again when killed, and no wake is lost', async () => {
    await using store = await openStore({ preference: 'redis', log });
    const written = new Map<string, number>();
    const seen = new Map<string, number>();
    const { signal } = new AbortController();
    const process = async ({ cluster }: PrecacheStep) => {
      seen.set(cluster, written.get(cluster) ?? 0);
      await new Promise((resolve) => setTimeout(resolve, 5));
    };
    const steps = startStepQueue({ store, queue, log, signal, concurrency: 20, process, onOutcome: () => {} });
    try {
      for (let round = 1; round <= 3; round++) {
        for (let i = 0; i < 100; i++) {
          written.set(`c${i}`, round);
          void steps.wake(step(`c${i}`));
        }
        await until(() => expect(steps.size().running).toBeGreaterThan(0));
        const pid = store.serverPid();
        if (pid === undefined) throw new Error('no server runs');
        globalThis.process.kill(pid, 'SIGKILL');
        await until(() => expect(store.serverPid() ?? pid).not.toBe(pid));
      }
      await until(() => expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(written)));
      await until(() => expect(steps.size()).toMatchObject({ waiting: 0, running: 0 }));
    } finally {
      await steps.close();
    }
  });

  it('ends with the store', async () => {
    const store = await openStore({ preference: 'redis', log });
    const pid = store.serverPid();
    if (pid === undefined) throw new Error('no server runs');
    expect(process.kill(pid, 0)).toBe(true);
    await store.close();
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});

describe('a Redis given by URL', () => {
  it('is used, and what a former process left there is run', async () => {
    const [port = 0] = await freePorts(1);
    const server = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--requirepass', 's3cret'], {
      stdio: 'ignore',
    });
    try {
      await using store = await openStore({ redisUrl: `redis://:s3cret@127.0.0.1:${port}/2`, log });
      expect(store.kind).toBe('redis');
      expect(store.description).not.toContain('s3cret');
      const options = { store, queue, log, concurrency: 1, onOutcome: () => {}, graceMs: 0 };
      const stop = new AbortController();
      const stuck = startStepQueue({ ...options, signal: stop.signal, process: () => new Promise(() => {}) });
      await Promise.all(['a', 'b', 'c'].map((cluster) => stuck.wake(step(cluster))));
      await until(() => expect(stuck.size()).toMatchObject({ running: 1, waiting: 2 }));
      stop.abort();
      await stuck.close();
      const runs: string[] = [];
      const { signal } = new AbortController();
      const successor = startStepQueue({ ...options, signal, process: async ({ cluster }) => void runs.push(cluster) });
      await until(() => expect(runs).toEqual(['b', 'c']));
      await successor.wake(step('a'));
      await until(() => expect(runs).toEqual(['b', 'c', 'a']));
      await successor.close();
    } finally {
      server.kill('SIGKILL');
    }
  });
});

describe('openStore', () => {
  it('refuses a URL that answers nothing, and shows no password', async () => {
    const opening = openStore({ redisUrl: 'redis://user:s3cret@127.0.0.1:1/0', log });
    await expect(opening).rejects.toMatchObject({ code: 'FLOTILLA_QUEUE_STORE_UNAVAILABLE' });
    await expect(opening).rejects.not.toThrow('s3cret');
    await expect(opening).rejects.toThrow('127.0.0.1:1');
  });

  it('refuses what is no Redis URL', async () => {
    await expect(openStore({ redisUrl: 'localhost:6379', log })).rejects.toThrow('redis://');
  });
});
