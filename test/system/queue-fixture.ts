import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { childEnvironment, freePorts } from '@flotilla/control-plane/processes';
import { settled } from '@flotilla/pace/testing';
import { openStore, type QueueStore, type StoreOptions } from '@flotilla/queues';
import { createLogger, logOnly, type Reconciler, type ReconcilerOptions, startReconciler } from '@flotilla/runtime';
import { Redis, type RedisOptions } from 'ioredis';
import { afterAll, afterEach, beforeAll } from 'vitest';

/** Says nothing. */
const log = createLogger({ name: 'test', level: 'silent' });
/** Short times, so that what a lost job or a killed process costs is short too. */
const times = { runTimeoutMs: 10_000, backOff: { baseMs: 40, maxMs: 1_000 }, graceMs: 5_000 };

/** Opens a store that finds soon what was lost. */
export const open = (options: Omit<StoreOptions, 'log'>): Promise<QueueStore> =>
  openStore({ lockMs: 1_000, watchdogMs: 100, log, ...options });

/** A run of a step. */
export type StepHandler = (key: string, signal: AbortSignal) => Promise<unknown>;

/** A reconciler of the queue that all tests use. */
interface Steps extends Reconciler {
  close(): Promise<void>;
}

/** Options of `startSteps`. */
interface StepsOptions extends Partial<ReconcilerOptions> {
  readonly store: QueueStore;
  readonly handle: StepHandler;
}

/** Starts a reconciler of the queue that all tests use. */
export function startSteps({ store, handle, ...options }: StepsOptions): Steps {
  const stop = new AbortController();
  const steps = startReconciler({
    onTrouble: logOnly,
    name: 'steps',
    queue: store.queue,
    concurrency: 20,
    signal: stop.signal,
    logger: log,
    ...times,
    reconcile: async (key, { signal }) => void (await handle(key, signal)),
    ...options,
  });
  const close = () => {
    stop.abort();
    return steps.stopped;
  };
  return Object.assign(steps, { close });
}

/** Asks until it holds. */
export const until = (assertion: () => void, timeout = 30_000) => settled(assertion, { timeout, interval: 10 });
export const milliseconds = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A store for the tests of a suite: each of them finds it empty, and what it puts into `running` is closed after it. */
export function useStore(kind: QueueStore['kind']) {
  const running: { close(): Promise<void> }[] = [];
  const stack = new AsyncDisposableStack();
  let redis: TestRedis | undefined;
  let store: QueueStore | undefined;
  const flush = async () => redis?.flush();
  beforeAll(async () => {
    redis = kind === 'redis' ? stack.use(await startRedisOnSocket()) : undefined;
    store = stack.use(await open({ redisUrl: redis?.url }));
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((each) => each.close()));
    await flush();
  });
  afterAll(() => stack.disposeAsync());
  return {
    running,
    flush,
    get redisUrl() {
      return redis?.url;
    },
    get store(): QueueStore {
      if (!store) throw new TypeError('the store did not open');
      return store;
    },
  };
}

/** A redis-server of the test's own. */
interface TestRedis extends AsyncDisposable {
  readonly url: string;
  /** Empties it. */
  flush(): Promise<void>;
  /** Kills it and starts it again, empty. */
  restart(): Promise<void>;
}

/** Starts one that is reachable by host and port. */
export async function startRedis(...args: readonly string[]): Promise<TestRedis> {
  const [port = 0] = await freePorts(1);
  return startServer(`redis://127.0.0.1:${port}`, { port, host: '127.0.0.1' }, ['--port', String(port), '--bind', '127.0.0.1', ...args]);
}

/** Starts one that is reachable by a socket, as the chart's container. */
export async function startRedisOnSocket(): Promise<TestRedis> {
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-redis-'));
  const path = join(dir, 'redis.sock');
  const server = startServer(`unix://${path}`, { path }, ['--port', '0', '--unixsocket', path]);
  const end = async () => {
    await server[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  };
  return { ...server, [Symbol.asyncDispose]: end };
}

/** It ends with this process, also when a test is cut off. */
function startServer(url: string, address: RedisOptions, args: readonly string[]): TestRedis {
  const start = () => spawn('setpriv', ['--pdeathsig', 'KILL', 'redis-server', '--save', '', ...args], { stdio: 'ignore' });
  let server = start();
  return {
    url,
    async flush() {
      const connection = new Redis(address);
      await connection.flushall().finally(() => connection.disconnect());
    },
    async restart() {
      await kill(server);
      server = start();
    },
    [Symbol.asyncDispose]: () => kill(server),
  };
}

/** A process that runs steps, and the clusters of those it has begun and ended, in order. */
interface WorkerProcess extends AsyncDisposable {
  readonly pid: number;
  readonly begun: readonly string[];
  readonly ended: readonly string[];
  /** SIGKILL; resolves when it is gone. */
  readonly kill: () => Promise<void>;
}

/** Starts a worker process whose runs take `runMs`. */
export async function startWorkerProcess(redisUrl: string, runMs: number): Promise<WorkerProcess> {
  const program = fileURLToPath(new URL('queue-worker-child.ts', import.meta.url));
  const started = spawn(process.execPath, [program, JSON.stringify({ redisUrl, runMs })], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: childEnvironment({}),
  });
  const [begun, ended]: [string[], string[]] = [[], []];
  const ready = Promise.withResolvers<void>();
  createInterface(started.stdout).on('line', (line) => {
    const [what, cluster = ''] = line.split(' ');
    if (what === 'ready') ready.resolve();
    else (what === 'begun' ? begun : ended).push(cluster);
  });
  started.once('exit', (code) => ready.reject(new Error(`the worker process ended with ${code} before it was ready`)));
  await ready.promise;
  const end = () => kill(started);
  return { pid: started.pid ?? 0, begun, ended, kill: end, [Symbol.asyncDispose]: end };
}

async function kill(started: ChildProcess): Promise<void> {
  if (started.exitCode !== null || started.signalCode !== null) return;
  const gone = once(started, 'exit');
  started.kill('SIGKILL');
  await gone;
}
