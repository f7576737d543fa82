import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { TerminalError, WaitingError } from '@flotilla/api';
import { freePorts, runCommand } from '@flotilla/control-plane/processes';
import type { ReconcilerOptions } from '@flotilla/runtime';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { milliseconds, open, type StepHandler, startRedis, startRedisOnSocket, startSteps, until, useStore } from './queue-fixture.ts';

const IDLE = { waiting: 0, running: 0, timers: 0 };

/** The contract of a reconciler's queue, whatever its store. */
describe.each(['redis', 'in-process'] as const)('a dispatcher on the %s store', (kind) => {
  const suite = useStore(kind);

  function start(handle: StepHandler, options: Partial<ReconcilerOptions> = {}) {
    const created = startSteps({ store: suite.store, handle, ...options });
    suite.running.push(created);
    return created;
  }

  /** A handler that holds every run until it is let go, and says which have started. */
  function gate() {
    const held = Promise.withResolvers<void>();
    const runs: string[] = [];
    const handle: StepHandler = async (cluster) => {
      runs.push(cluster);
      await held.promise;
    };
    return { runs, handle, release: held.resolve };
  }

  it('says which store it is', () => {
    expect(suite.store.kind).toBe(kind);
    expect(suite.store.description).toMatch(kind === 'redis' ? /^the Redis at unix:\/\/\/.*\.sock$/ : /memory/);
    // Nobody else runs its keys.
    expect(suite.store.isShared).toBe(false);
  });

  it('hands the handler the key and nothing else', async () => {
    const seen: unknown[] = [];
    start(async (each) => seen.push(each)).enqueue('a');
    await until(() => expect(seen).toEqual(['a']));
  });

  it('runs a key once for wants made while it waits', async () => {
    const { runs, handle, release } = gate();
    const steps = start(handle, { concurrency: 1 });
    steps.enqueue('blocker');
    await until(() => expect(runs).toEqual(['blocker']));
    for (let i = 0; i < 20; i++) steps.enqueue('a');
    expect(steps.size()).toMatchObject({ waiting: 1, running: 1 });
    expect([steps.holds('a'), steps.holds('blocker'), steps.holds('b')]).toEqual([true, true, false]);
    release();
    steps.enqueue('last');
    await until(() => expect(runs).toEqual(['blocker', 'a', 'last']));
  });

  it('runs a key once more, and never beside itself, for wants made while it runs', async () => {
    const { runs, handle, release } = gate();
    const steps = start(handle);
    steps.enqueue('a');
    await until(() => expect(runs).toHaveLength(1));
    for (let i = 0; i < 20; i++) steps.enqueue('a');
    steps.enqueue('b');
    await until(() => expect(runs).toEqual(['a', 'b']));
    release();
    await until(() => expect(steps.size()).toEqual(IDLE));
    expect(runs).toEqual(['a', 'b', 'a']);
  });

  it('sees in a run whatever was written before a want, over 1000 racing ones', async () => {
    const written = new Map<string, number>();
    const seen = new Map<string, number>();
    let beside = 0;
    const running = new Set<string>();
    const steps = start(async (cluster) => {
      if (running.has(cluster)) beside++;
      running.add(cluster);
      seen.set(cluster, written.get(cluster) ?? 0);
      await milliseconds(Number(cluster) % 5);
      running.delete(cluster);
    });
    for (let i = 1; i <= 1_000; i++) {
      const cluster = String(i % 25);
      written.set(cluster, i);
      steps.enqueue(cluster);
      if (i % 10 === 0) await setImmediate();
    }
    await until(() => expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(written)));
    expect(beside).toBe(0);
  });

  it('runs keys in the order in which they came', async () => {
    const { runs, handle, release } = gate();
    const steps = start(handle, { concurrency: 1 });
    steps.enqueue('blocker');
    await until(() => expect(runs).toEqual(['blocker']));
    for (const key of ['first', 'second', 'third']) steps.enqueue(key);
    // Late enough to be in the store.
    await milliseconds(50);
    steps.enqueue('first');
    await milliseconds(50);
    release();
    await until(() => expect(steps.size()).toEqual(IDLE));
    expect(runs).toEqual(['blocker', 'first', 'second', 'third']);
  });

  it('runs at an exact time, at the earliest that was asked for', async () => {
    const late: number[] = [];
    const due = Date.now() + 300;
    const steps = start(async () => late.push(Date.now() - due));
    steps.enqueue('a', { at: due + 60_000 });
    steps.enqueue('a', { at: due });
    steps.enqueue('a', { at: due + 30_000 });
    steps.enqueue('forgotten', { at: due });
    steps.forget('forgotten');
    expect(steps.size()).toMatchObject({ timers: 1 });
    await until(() => expect(late).toHaveLength(1));
    expect(late[0]).toBeGreaterThanOrEqual(0);
    expect(late[0]).toBeLessThan(1_000);
    expect(steps.size()).toEqual(IDLE);
  });

  it('runs a key again at the time that its run asked for', async () => {
    const at: number[] = [];
    const steps = start(async () => {
      at.push(Date.now());
      if (at.length === 1) steps.enqueue('a', { at: Date.now() + 100 });
    });
    steps.enqueue('a');
    await until(() => expect(at).toHaveLength(2));
    expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(100);
    expect(steps.size()).toEqual(IDLE);
  });

  it('repeats failures with growing delays, waits as told, leaves verdicts alone, and tells what lasts', async () => {
    const failing: string[] = [];
    const at: Record<string, number[]> = {};
    const steps = start(
      async (cluster) => {
        const runs = [...(at[cluster] ?? []), Date.now()];
        at[cluster] = runs;
        if (cluster === 'broken' && runs.length < 3) throw new Error('refused');
        if (cluster === 'lasting' && runs.length < 7) throw new Error('refused');
        if (cluster === 'waits' && runs.length < 2) throw new WaitingError('FLOTILLA_TEST_WAIT', 'not yet', 30);
        if (cluster === 'hopeless') throw new TerminalError('FLOTILLA_TEST_BAD', 'bad input');
      },
      {
        onTrouble: async (cluster, { kind, attempt, message }) => {
          if (kind === 'terminal' || attempt >= 5) failing.push(`${kind} ${cluster}: ${message}`);
        },
        backOff: { baseMs: 20, maxMs: 60 },
      },
    );
    for (const cluster of ['broken', 'lasting', 'waits', 'hopeless']) steps.enqueue(cluster);
    await until(() => expect(at.lasting).toHaveLength(7));
    await until(() => expect(steps.size()).toEqual(IDLE));
    expect([at.broken?.length, at.waits?.length, at.hopeless?.length]).toEqual([3, 2, 1]);
    expect(failing).toEqual(['terminal hopeless: bad input', 'retry lasting: refused', 'retry lasting: refused']);
    const [first = 0, second = 0, third = 0] = at.broken ?? [];
    expect(second - first).toBeGreaterThanOrEqual(10);
    expect(third - second).toBeGreaterThanOrEqual(20);
  });

  it('loses no want when the store is emptied while 200 keys wait and run', async () => {
    const written = new Map<string, number>();
    const seen = new Map<string, number>();
    const steps = start(async (cluster) => {
      seen.set(cluster, written.get(cluster) ?? 0);
      await milliseconds(5);
    });
    for (let round = 1; round <= 5; round++) {
      for (let i = 0; i < 200; i++) {
        written.set(`c${i}`, round);
        steps.enqueue(`c${i}`);
      }
      await until(() => expect(steps.size().running).toBeGreaterThan(0));
      await suite.flush();
    }
    await until(() => expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(written)));
    await until(() => expect(steps.size()).toEqual(IDLE));
  });

  it('loses no want when the store is emptied again and again while it looks for what was lost', async () => {
    const written = new Map<string, number>();
    const seen = new Map<string, number>();
    await using store = await open({ redisUrl: suite.redisUrl, watchdogMs: 10 });
    const steps = startSteps({
      store,
      concurrency: 2,
      handle: async (cluster) => {
        seen.set(cluster, written.get(cluster) ?? 0);
        await milliseconds(1);
      },
    });
    for (let round = 1; round <= 40; round++) {
      for (let i = 0; i < 500; i++) {
        written.set(`c${i}`, round);
        steps.enqueue(`c${i}`);
      }
      for (let i = 0; i < 3; i++) {
        await milliseconds((round * 7 + i * 5) % 23);
        await suite.flush();
      }
    }
    await until(() => expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(written)));
    await until(() => expect(steps.size()).toEqual(IDLE));
    await steps.close();
  });

  it('ends a run that takes too long, even one that ignores its signal, and repeats it', async () => {
    const runs: AbortSignal[] = [];
    const steps = start((_, signal) => (runs.push(signal) === 1 ? new Promise(() => {}) : Promise.resolve(undefined)), {
      runTimeoutMs: 50,
    });
    steps.enqueue('a');
    await until(() => expect(runs).toHaveLength(2));
    expect(runs[0]?.reason).toMatchObject({ code: 'FLOTILLA_STEP_TIMEOUT' });
  });

  it('aborts running steps after the grace when closed, and takes nothing more', async () => {
    const entered = Promise.withResolvers<AbortSignal>();
    const steps = start(
      (_, signal) => {
        entered.resolve(signal);
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
      { graceMs: 100 },
    );
    steps.enqueue('a');
    const signal = await entered.promise;
    const before = performance.now();
    await steps.close();
    expect(performance.now() - before).toBeLessThan(2_000);
    expect(signal.reason).toMatchObject({ code: 'FLOTILLA_STEP_ABORTED' });
    steps.enqueue('after');
    expect(steps.size()).toEqual(IDLE);
  });

  it('lets running steps end within the grace when closed', async () => {
    const signals: AbortSignal[] = [];
    const { promise, resolve: end } = Promise.withResolvers<undefined>();
    const steps = start((_, signal) => {
      signals.push(signal);
      return promise;
    });
    steps.enqueue('a');
    await until(() => expect(signals).toHaveLength(1));
    const closed = steps.close();
    end(undefined);
    await closed;
    expect(signals[0]?.aborted).toBe(false);
  });
});

describe('a Redis that restarts', () => {
  it('loses no want', async () => {
    await using redis = await startRedisOnSocket();
    await using store = await open({ redisUrl: redis.url });
    const written = new Map<string, number>();
    const seen = new Map<string, number>();
    const steps = startSteps({
      store,
      handle: async (cluster) => {
        seen.set(cluster, written.get(cluster) ?? 0);
        await milliseconds(5);
      },
    });
    try {
      for (let round = 1; round <= 3; round++) {
        for (let i = 0; i < 100; i++) {
          written.set(`c${i}`, round);
          steps.enqueue(`c${i}`);
        }
        await until(() => expect(steps.size().running).toBeGreaterThan(0));
        await redis.restart();
      }
      await until(() => expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(written)));
      await until(() => expect(steps.size()).toEqual(IDLE));
    } finally {
      await steps.close();
    }
  });

  it('is away when its processes stop: they wait no longer than for their runs', async () => {
    const redis = await startRedisOnSocket();
    await using store = await open({ redisUrl: redis.url });
    const begun: string[] = [];
    const steps = startSteps({
      store,
      graceMs: 1_000,
      handle: (cluster, signal) => {
        begun.push(cluster);
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
    });
    for (const cluster of ['a', 'b', 'c']) steps.enqueue(cluster);
    await until(() => expect(begun).toHaveLength(3));
    await redis[Symbol.asyncDispose]();
    const before = performance.now();
    await steps.close();
    expect(performance.now() - before).toBeLessThan(3_000);
  });
});

describe('a Redis given by URL', () => {
  it('is used with its password and database, and what a former process left there is run', async () => {
    await using redis = await startRedis('--requirepass', 's3cret');
    await using store = await open({ redisUrl: `${redis.url.replace('//', '//:s3cret@')}/2` });
    expect(store.kind).toBe('redis');
    expect(store.description).not.toContain('s3cret');
    const begun: string[] = [];
    const stuck = startSteps({
      store,
      concurrency: 1,
      graceMs: 0,
      handle: (cluster) => {
        begun.push(cluster);
        return new Promise(() => {});
      },
    });
    for (const cluster of ['a', 'b', 'c']) stuck.enqueue(cluster);
    await until(() => expect(begun).toEqual(['a']));
    await until(() => expect(stuck.size()).toMatchObject({ running: 1, waiting: 2 }));
    await stuck.close();
    const runs: string[] = [];
    const successor = startSteps({ store, concurrency: 1, handle: async (cluster) => runs.push(cluster) });
    await until(() => expect(runs.toSorted()).toEqual(['a', 'b', 'c']));
    await successor.close();
  });
});

describe('a Redis shared with strangers', () => {
  it('serves a user with the documented rights, who reaches no keys of others, as others reach none of its', async () => {
    const page = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8');
    const [line = ''] = /^ACL SETUSER hub .*$/m.exec(page) ?? [];
    await using redis = await startRedis();
    const admin = new Redis(redis.url);
    admin.on('error', () => 'it tries again until the server listens');
    const [command = '', ...args] = line.replace('PASSWORD', 's3cret').split(' ');
    await admin.call(command, ...args);
    await admin.call('ACL', 'SETUSER', 'stranger', 'on', '>s3cret', '~theirs:*', '+@all');
    const urlOf = (user: string) => redis.url.replace('//', `//${user}:s3cret@`);
    await using store = await open({ redisUrl: urlOf('hub') });
    const runs: string[] = [];
    const steps = startSteps({ store, handle: async (key) => runs.push(key) });
    steps.enqueue('a');
    steps.enqueue('b');
    await until(() => expect(runs.toSorted()).toEqual(['a', 'b']));
    await until(() => expect(steps.size()).toEqual(IDLE));
    const attempt = async (user: string, key: string) => {
      const connection = new Redis(urlOf(user));
      return connection.lpush(key, 'evil').finally(() => connection.disconnect());
    };
    await expect(attempt('stranger', 'flotilla:steps:wait')).rejects.toThrow('NOPERM');
    await expect(attempt('hub', 'theirs:a')).rejects.toThrow('NOPERM');
    await steps.close();
    admin.disconnect();
  });
});

describe('openStore', () => {
  it('refuses a URL that answers nothing, and shows no password', async () => {
    const opening = open({ redisUrl: 'redis://user:s3cret@127.0.0.1:1/0' });
    await expect(opening).rejects.toMatchObject({ code: 'FLOTILLA_QUEUE_STORE_UNAVAILABLE' });
    await expect(opening).rejects.not.toThrow('s3cret');
    await expect(opening).rejects.toThrow('127.0.0.1:1');
  });

  it('speaks TLS with a server of an authority of its own, and with no other', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'flotilla-redis-tls-'));
    await using stack = new AsyncDisposableStack();
    stack.defer(() => rm(dir, { recursive: true, force: true }));
    const [certFile, keyFile] = [join(dir, 'tls.crt'), join(dir, 'tls.key')];
    const subject = ['-subj', '/CN=redis', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile, '-out', certFile];
    await runCommand('openssl', ['req', '-x509', '-days', '2', ...subject, ...made]);
    const [port = 0] = await freePorts(1);
    const tls = ['--tls-port', String(port), '--tls-cert-file', certFile, '--tls-key-file', keyFile, '--tls-auth-clients', 'no'];
    stack.use(await startRedis(...tls));
    const redisUrl = `rediss://127.0.0.1:${port}`;
    const store = stack.use(await open({ redisUrl, redisCa: await readFile(certFile, 'utf8') }));
    const done: string[] = [];
    const steps = startSteps({ store, handle: async (cluster) => void done.push(cluster) });
    stack.defer(() => steps.close());
    steps.enqueue('over-tls');
    await until(() => expect(done).toEqual(['over-tls']));
    await expect(open({ redisUrl })).rejects.toMatchObject({ code: 'FLOTILLA_QUEUE_STORE_UNAVAILABLE' });
  });

  it('refuses what is no Redis URL', async () => {
    for (const redisUrl of ['localhost:6379', 'redis://', 'unix://run/redis.sock', 'http://queue:6379'])
      await expect(open({ redisUrl }), redisUrl).rejects.toThrow('unix:///path/of/its/socket');
  });
});
