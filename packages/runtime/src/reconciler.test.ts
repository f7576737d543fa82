import { TerminalError, WaitingError } from '@flotilla/api';
import { ConfigMap, type ConfigMap as ConfigMapObject, Namespace } from '@flotilla/api/core';
import { ManualClock, settled } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { configMap, listOf, type Step, startScriptedServer, watchOf } from '../testing/scripted-server.ts';
import { createClient } from './create-client.ts';
import { ApiError, RuntimeErrorCode } from './errors.ts';
import { logOnly } from './event-recorder.ts';
import { createLogger } from './logger.ts';
import { createMetrics } from './metrics.ts';
import { type ReconcileResult, type ReconcilerOptions, startReconciler, type Trouble } from './reconciler.ts';
import { WatchCache } from './watch-cache.ts';
import { createChannel, watch } from './watches.ts';

const SOON = { timeout: 5_000, interval: 20 };

async function run(reconcile: (attempt: number) => ReconcileResult | undefined, options: Partial<ReconcilerOptions> = {}) {
  const clock = new ManualClock();
  const metrics = createMetrics({ process: false });
  const keys = createChannel();
  const lines: { level: string; msg: string }[] = [];
  const stop = new AbortController();
  let attempts = 0;
  keys.enqueue('n/a');
  const reconciler = startReconciler({
    onTrouble: logOnly,
    name: 'c',
    watches: [keys],
    metrics,
    clock,
    random: () => 1,
    signal: stop.signal,
    logger: createLogger({ name: 't', level: 'debug', destination: { write: (line) => void lines.push(JSON.parse(line)) } }),
    reconcile: async () => reconcile(++attempts),
    ...options,
  });
  await clock.advance(0);
  return { clock, keys, lines, stop, reconciler, metrics, attempts: () => attempts };
}

const throwing = (error: Error) => (): never => {
  throw error;
};

test('a result asks for the next look', async () => {
  const { clock, attempts, lines } = await run((attempt) => (attempt === 1 ? { requeueAfterMs: 500 } : {}));
  await clock.advance(499);
  expect(attempts()).toBe(1);
  await clock.advance(1);
  expect(attempts()).toBe(2);
  expect([clock.pending, lines]).toEqual([0, []]);
});

test.each([{}, { runTimeoutMs: 60_000 }])('a reconcile that logs nothing makes no logger of its own, with %j', async (options) => {
  const made: unknown[] = [];
  const logger = createLogger({ name: 't', level: 'silent' });
  logger.onChild = (child) => void made.push(child.bindings().key);
  const seen: string[] = [];
  const reconcile: ReconcilerOptions['reconcile'] = async (key, context) => {
    seen.push(key);
    if (key === 'n/loud') context.logger.info('Here');
    return undefined;
  };
  const { clock, keys } = await run(() => undefined, { ...options, logger, reconcile });
  keys.enqueue('n/loud');
  await clock.advance(0);
  expect(seen).toEqual(['n/a', 'n/loud']);
  expect(made.filter((key) => key !== undefined)).toEqual(['n/loud']);
});

test('a terminal error is logged once and not tried again', async () => {
  const { clock, attempts, lines, metrics } = await run(throwing(new TerminalError('FLOTILLA_X', 'wrong')));
  await clock.advance(1_000_000);
  expect(attempts()).toBe(1);
  expect(lines).toMatchObject([{ level: 'error', msg: 'Reconciling failed for good', code: 'FLOTILLA_X', controller: 'c', key: 'n/a' }]);
  expect(await metrics.registry.getSingleMetricAsString('flotilla_reconcile_seconds')).toContain('result="terminal"} 1');
});

test('waiting comes back after its delay and says so once', async () => {
  const { clock, attempts, lines } = await run(throwing(new WaitingError('FLOTILLA_W', 'for others', 100)));
  await clock.advance(250);
  expect(attempts()).toBe(3);
  expect(lines.map((line) => line.level)).toEqual(['info', 'debug', 'debug']);
});

test('other errors back off, and a success resets it', async () => {
  const { clock, attempts, lines } = await run((attempt) => {
    if (attempt === 3) return { requeueAfterMs: 1_000 };
    throw new Error('boom');
  });
  await clock.advance(200);
  expect(attempts()).toBe(2);
  await clock.advance(400);
  expect(attempts()).toBe(3);
  await clock.advance(1_000 + 200);
  expect(attempts()).toBe(5);
  expect(lines.every((line) => line.level === 'warn')).toBe(true);
});

const conflict = new ApiError(RuntimeErrorCode.conflict, 'PUT', { status: 409, reason: 'Conflict', serverMessage: '' });

test('a write conflict is no news', async () => {
  const troubles: Trouble[] = [];
  const onTrouble = async (_key: string, trouble: Trouble) => troubles.push(trouble);
  const { clock, lines } = await run((attempt) => (attempt === 1 ? throwing(conflict)() : undefined), { onTrouble });
  await clock.advance(200);
  expect(lines.map((line) => line.level)).toEqual(['debug']);
  expect(troubles).toEqual([]);
});

test('who uses the object is told what its reconcile threw, and how often in a row', async () => {
  const told: [string, Trouble][] = [];
  const errors = [
    new WaitingError('FLOTILLA_W', 'for others', 100),
    new WaitingError('FLOTILLA_W', 'for others', 100),
    new Error('boom', { cause: new Error('cut') }),
    new TerminalError('FLOTILLA_X', 'wrong'),
  ];
  const { clock } = await run((attempt) => throwing(errors[attempt - 1] ?? new Error('too often'))(), {
    onTrouble: async (key, trouble) => told.push([key, trouble]),
  });
  await clock.advance(10_000);
  expect(told).toEqual([
    ['n/a', { kind: 'waiting', code: 'FLOTILLA_W', message: 'for others', times: 1, attempt: 0 }],
    ['n/a', { kind: 'waiting', code: 'FLOTILLA_W', message: 'for others', times: 2, attempt: 0 }],
    ['n/a', { kind: 'retry', code: '', message: 'boom: cut', times: 1, attempt: 1 }],
    ['n/a', { kind: 'terminal', code: 'FLOTILLA_X', message: 'wrong', times: 1, attempt: 0 }],
  ]);
});

test('a trouble that could not be told is met again', async () => {
  let tellings = 0;
  const { clock, attempts } = await run(throwing(new TerminalError('FLOTILLA_X', 'wrong')), {
    onTrouble: async () => {
      if (++tellings === 1) throw conflict;
    },
  });
  await clock.advance(1_000_000);
  expect([attempts(), tellings]).toEqual([2, 2]);
});

test('a stop ends it', async () => {
  const { stop, reconciler, keys, clock, attempts } = await run(() => ({ requeueAfterMs: 10 }));
  stop.abort();
  await reconciler.stopped;
  keys.enqueue('other');
  await clock.advance(100);
  expect(attempts()).toBe(1);
});

test('keys of a channel wait for who watches it, and for their time', async () => {
  const { keys, clock, attempts } = await run(() => undefined);
  keys.enqueue('n/b', 100);
  keys.enqueue('n/b', 50);
  await clock.advance(49);
  expect(attempts()).toBe(1);
  await clock.advance(100);
  expect(attempts()).toBe(2);
});

/** Serves two kinds: what each lists, then follows. */
async function serve(lists: Readonly<Record<'configmaps' | 'namespaces', { list: Step; follow: Step }>>) {
  const server = await startScriptedServer();
  server.fallback = (request, response, body) => {
    const kind = request.url?.includes('/namespaces') ? lists.namespaces : lists.configmaps;
    (request.url?.includes('watch=true') ? kind.follow : kind.list)(request, response, body);
  };
  return { server, client: createClient({ kubeconfig: server.kubeconfig }) };
}

test('reads all that it watches before it reconciles; the changes it selects concern whom an index finds', async () => {
  const held = Promise.withResolvers<void>();
  const team = (name: string, of: string) => ({ metadata: { name, resourceVersion: '1', labels: { team: of } } });
  const { server, client } = await serve({
    configmaps: {
      list: listOf('5', [configMap('a', '1', { team: 'red' }), configMap('b', '2', { team: 'blue' })]),
      follow: watchOf([], 'hang'),
    },
    namespaces: {
      list: (...request) => void held.promise.then(() => listOf('7', [team('x', 'red'), team('y', 'green')])(...request)),
      follow: watchOf([], 'hang'),
    },
  });
  const stop = new AbortController();
  const maps = new WatchCache(client, ConfigMap, { indexes: { team: ({ data }: ConfigMapObject) => Object.values(data ?? {}) } });
  const seen: string[] = [];
  const reconciler = startReconciler({
    onTrouble: logOnly,
    name: 'maps',
    for: watch(maps, { select: ({ object }) => object.metadata.name !== 'a' }),
    watches: [
      watch(new WatchCache(client, Namespace), {
        select: ({ type, object }) => type === 'set' && object.metadata.labels?.team !== 'green',
        enqueue: ({ object }) => maps.byIndex('team', object.metadata.labels?.team ?? ''),
      }),
    ],
    logger: createLogger({ name: 't', level: 'silent' }),
    signal: stop.signal,
    reconcile: async (key) => {
      seen.push(key);
      return {};
    },
  });
  await maps.synced();
  expect([seen, reconciler.hasSynced]).toEqual([[], false]);
  held.resolve();
  await settled(() => expect(seen.toSorted()).toEqual(['n/a', 'n/b']), SOON);
  expect(reconciler.hasSynced).toBe(true);
  stop.abort();
  await reconciler.stopped;
  await client.close();
  await server[Symbol.asyncDispose]();
});

test('a stop before all is read ends it, and reconciles nothing', async () => {
  const never = { list: (): void => {}, follow: watchOf([], 'hang') };
  const { server, client } = await serve({ configmaps: never, namespaces: never });
  const stop = new AbortController();
  const reconcile = () => Promise.reject(new Error('reconciled'));
  const logger = createLogger({ name: 't', level: 'silent' });
  const reconciler = startReconciler({
    onTrouble: logOnly,
    name: 'maps',
    for: watch(new WatchCache(client, ConfigMap)),
    logger,
    signal: stop.signal,
    reconcile,
  });
  await settled(() => expect(server.requests.length).toBe(1), SOON);
  stop.abort();
  await reconciler.stopped;
  expect(reconciler.hasSynced).toBe(false);
  await client.close();
  await server[Symbol.asyncDispose]();
});

test('a cache that is filled already is looked at whole', async () => {
  const { server, client } = await serve({
    configmaps: { list: listOf('5', [configMap('a', '1')]), follow: watchOf([], 'hang') },
    namespaces: { list: listOf('5', []), follow: watchOf([], 'hang') },
  });
  const stop = new AbortController();
  const maps = new WatchCache(client, ConfigMap);
  maps.start(stop.signal);
  await maps.synced();
  const seen = Promise.withResolvers<string>();
  const reconciler = startReconciler({
    onTrouble: logOnly,
    name: 'maps',
    for: watch(maps),
    logger: createLogger({ name: 't', level: 'silent' }),
    signal: stop.signal,
    reconcile: async (key) => {
      seen.resolve(key);
      return {};
    },
  });
  expect(await seen.promise).toBe('n/a');
  stop.abort();
  await reconciler.stopped;
  await client.close();
  await server[Symbol.asyncDispose]();
});
