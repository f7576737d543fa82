import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { freePorts } from '@flotilla/control-plane/processes';
import { openStore, type PrecacheStep, type QueueStore, queues, type RolloutBatch, type RolloutStep } from '@flotilla/queues';
import { afterAll, afterEach, beforeAll, vi } from 'vitest';
import { z } from 'zod';

export const log = { info: () => {}, warn: () => {}, debug: () => {} };
/** Short times, so that what a lost job or a killed process costs is short too. */
const times = { runTimeoutMs: 10_000, backoff: { baseMs: 40, maxMs: 1_000 }, lockMs: 1_000 };
export const stepQueue = { ...queues.precacheStep, ...times, watchdogMs: 400, remoteTimeoutMs: 12_000 };
/** The same queue for whoever only asks: its own first step may run for as long as a test takes. */
export const askingQueue = { ...stepQueue, runTimeoutMs: 600_000 };
export const batchQueues = { batch: { ...queues.rolloutBatch, ...times }, child: { ...queues.rolloutStep, ...times } };

const upgrade = { namespace: 'default', name: 'upgrade', uid: 'uid-1' };
export const step = (cluster: string): PrecacheStep => ({
  upgrade,
  cluster,
  known: { state: 'NotStarted', revision: 1, since: 0 },
  clusters: 1,
  inputs: { spec: {}, image: 'puller', profile: 'least-privilege', jobSeconds: 60 },
});
export const batch = (number: number): RolloutBatch => ({ upgrade, batch: number });
export const child = (cluster: string): RolloutStep => ({ upgrade, cluster, phase: 'prepare' });

export const until = (assertion: () => void, timeout = 30_000) => vi.waitFor(assertion, { timeout, interval: 10 });
export const milliseconds = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A store for the tests of a suite: each of them finds it empty, and what it puts into `open` is closed after it. */
export function useStore(preference: 'redis' | 'embedded') {
  const open: { close(): Promise<void> }[] = [];
  let store: QueueStore | undefined;
  beforeAll(async () => {
    store = await openStore({ preference, log });
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((each) => each.close()));
    await store?.flush();
  });
  afterAll(() => store?.close());
  return {
    open,
    get store(): QueueStore {
      if (!store) throw new TypeError('the store did not open');
      return store;
    },
  };
}

/** What a run in a worker process returns. */
export const RunBy = z.object({ pid: z.int() });

/** A Redis of the test's own, reachable by URL. Ends with this process, also when a test is cut off. */
export async function startRedis(): Promise<AsyncDisposable & { readonly url: string }> {
  const [port = 0] = await freePorts(1);
  const args = ['--pdeathsig', 'KILL', 'redis-server', '--port', String(port), '--bind', '127.0.0.1', '--save', ''];
  const server = spawn('setpriv', args, { stdio: 'ignore' });
  return { url: `redis://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => kill(server) };
}

/** A process that runs steps and batches, and what it has begun to run, in order. */
export interface WorkerProcess extends AsyncDisposable {
  readonly pid: number;
  readonly begun: readonly string[];
  /** SIGKILL; resolves when it is gone. */
  readonly kill: () => Promise<void>;
}

/** Starts a worker process whose runs take `runMs`. */
export async function startWorkerProcess(redisUrl: string, runMs: number): Promise<WorkerProcess> {
  const program = fileURLToPath(new URL('queue-worker-child.ts', import.meta.url));
  const started = spawn(process.execPath, [program, JSON.stringify({ redisUrl, runMs })], { stdio: ['pipe', 'pipe', 'inherit'] });
  const begun: string[] = [];
  const ready = Promise.withResolvers<void>();
  createInterface(started.stdout).on('line', (line) => (line === 'ready' ? ready.resolve() : begun.push(line)));
  started.once('exit', (code) => ready.reject(new Error(`the worker process ended with ${code} before it was ready`)));
  await ready.promise;
  const end = () => kill(started);
  return { pid: started.pid ?? 0, begun, kill: end, [Symbol.asyncDispose]: end };
}

async function kill(started: ChildProcess): Promise<void> {
  if (started.exitCode !== null || started.signalCode !== null) return;
  const gone = once(started, 'exit');
  started.kill('SIGKILL');
  await gone;
}
