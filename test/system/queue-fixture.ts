import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { childEnvironment, freePorts } from '@flotilla/control-plane/processes';
import { openStore, type QueueStore, type StoreOptions } from '@flotilla/queues';
import { createLogger, logOnly, type Reconciler, type ReconcilerOptions, startReconciler } from '@flotilla/runtime';
import { afterAll, afterEach, beforeAll, vi } from 'vitest';

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
export const until = (assertion: () => void, timeout = 30_000) => vi.waitFor(assertion, { timeout, interval: 10 });
export const milliseconds = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A store for the tests of a suite: each of them finds it empty, and what it puts into `running` is closed after it. */
export function useStore(preference: 'redis' | 'in-process') {
  const running: { close(): Promise<void> }[] = [];
  let store: QueueStore | undefined;
  beforeAll(async () => {
    store = await open({ preference });
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((each) => each.close()));
    await store?.flush();
  });
  afterAll(() => store?.close());
  return {
    running,
    get store(): QueueStore {
      if (!store) throw new TypeError('the store did not open');
      return store;
    },
  };
}

/** A Redis of the test's own, reachable by URL. Ends with this process, also when a test is cut off. */
export async function startRedis(...args: readonly string[]): Promise<AsyncDisposable & { readonly url: string }> {
  const [port = 0] = await freePorts(1);
  const all = ['--pdeathsig', 'KILL', 'redis-server', '--port', String(port), '--bind', '127.0.0.1', '--save', '', ...args];
  const server = spawn('setpriv', all, { stdio: 'ignore' });
  return { url: `redis://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => kill(server) };
}

/** A process that runs steps, and the clusters of those it has begun and ended, in order. */
interface WorkerProcess extends AsyncDisposable {
  readonly pid: number;
  readonly begun: readonly string[];
  readonly ended: readonly string[];
  /** SIGKILL; resolves when it is gone. */
  readonly kill: () => Promise<void>;
}

/** Starts a worker process whose runs take `runMs`. @param redisUrl default: a server of its own */
export async function startWorkerProcess(
  redisUrl: string | undefined,
  runMs: number,
  env: Readonly<Record<string, string>> = {},
): Promise<WorkerProcess> {
  const program = fileURLToPath(new URL('queue-worker-child.ts', import.meta.url));
  const started = spawn(process.execPath, [program, JSON.stringify({ redisUrl, runMs })], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: childEnvironment(env),
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
