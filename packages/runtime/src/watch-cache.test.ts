import { ConfigMap, type ConfigMap as ConfigMapObject } from '@flotilla/api/core';
import { settled } from '@flotilla/pace/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { configMap, listOf, refuse, type ScriptedServer, type Step, startScriptedServer, watchOf } from '../testing/scripted-server.ts';
import type { Client } from './client.ts';
import { createClient } from './create-client.ts';
import { createLogger } from './logger.ts';
import { createMetrics } from './metrics.ts';
import { WatchCache, type WatchCacheOptions } from './watch-cache.ts';

const SOON = { timeout: 5_000, interval: 20 };

let server: ScriptedServer;
let client: Client;
let stop: AbortController;
let log: string[];

beforeEach(async () => {
  server = await startScriptedServer();
  server.fallback = (request, response, body) =>
    (request.url?.includes('watch=true') ? watchOf([], 'hang') : listOf('99', []))(request, response, body);
  client = createClient({ kubeconfig: server.kubeconfig });
  stop = new AbortController();
  log = [];
});
afterEach(async () => {
  stop.abort();
  await client.close();
  await server[Symbol.asyncDispose]();
});

const event = (type: string, name: string, version: string, data: unknown = {}) => ({ type, object: configMap(name, version, data) });
const names = (cache: WatchCache<ConfigMapObject>): string[] =>
  cache.list().map((object) => `${object.metadata.name}@${object.metadata.resourceVersion}`);

function start<N extends string = never>(steps: Step[], options: WatchCacheOptions<ConfigMapObject, N> = {}) {
  server.steps.push(...steps);
  const logger = createLogger({ name: 't', level: 'debug', destination: { write: (line) => void log.push(line) } });
  const cache = new WatchCache(client, ConfigMap, { backOff: { baseMs: 5, maxMs: 20 }, logger, ...options });
  const changes: string[] = [];
  cache.subscribe(({ type, object }) => changes.push(`${type} ${object.metadata.name}`));
  cache.start(stop.signal);
  return { cache, changes };
}

const watched = (): string[] =>
  server.requests.filter((request) => request.includes('watch=')).map((request) => /resourceVersion=(\d+)/.exec(request)?.[1] ?? '');
const lists = (): number => server.requests.filter((request) => !request.includes('watch=')).length;

test('it lists, follows and keeps objects without managedFields', async () => {
  const { cache, changes } = start([
    listOf('5', [configMap('a', '1'), configMap('b', '2')]),
    watchOf([event('MODIFIED', 'a', '6'), event('DELETED', 'b', '7'), event('ADDED', 'c', '8')], 'hang'),
  ]);
  await cache.synced();
  await settled(() => expect(names(cache)).toEqual(['a@6', 'c@8']), SOON);
  expect(changes).toEqual(['set a', 'set b', 'set a', 'deleted b', 'set c']);
  expect(cache.get({ namespace: 'n', name: 'a' })?.metadata).not.toHaveProperty('managedFields');
  expect(cache.present).toBe(true);
});

test('a trim of its own may read managedFields, and need not drop them', async () => {
  const { cache } = start([listOf('5', [configMap('a', '1')]), watchOf([event('ADDED', 'b', '6')], 'hang')], {
    transform: (object) => ({ ...object, data: { trimmed: object.metadata.managedFields ? 'yes' : 'too late' } }),
  });
  await settled(() => expect(names(cache)).toEqual(['a@1', 'b@6']), SOON);
  for (const { metadata, data } of cache.list()) {
    expect(data).toEqual({ trimmed: 'yes' });
    expect(metadata).not.toHaveProperty('managedFields');
  }
});

test('a watch that ends silently goes on from the last version, bookmarks included, without a list', async () => {
  const { cache } = start([
    listOf('5', [configMap('a', '1')]),
    watchOf([event('MODIFIED', 'a', '6')]),
    watchOf([{ type: 'BOOKMARK', object: { metadata: { resourceVersion: '20' } } }]),
    watchOf([]),
    watchOf([event('MODIFIED', 'a', '21')], 'hang'),
  ]);
  await settled(() => expect(names(cache)).toEqual(['a@21']), SOON);
  expect(watched()).toEqual(['5', '6', '20', '20']);
  expect(lists()).toBe(1);
});

test.each([
  { name: 'over HTTP', gone: refuse(410, 'Expired') },
  { name: 'in-band', gone: watchOf([{ type: 'ERROR', object: { code: 410, reason: 'Expired' } }]) },
])('after a 410 $name it lists again and tells what went and what came', async ({ gone }) => {
  const { cache, changes } = start([
    listOf('5', [configMap('a', '1'), configMap('b', '2'), configMap('c', '3')]),
    gone,
    listOf('50', [configMap('a', '1'), configMap('c', '40'), configMap('d', '41')]),
  ]);
  await settled(() => expect(names(cache)).toEqual(['a@1', 'c@40', 'd@41']), SOON);
  expect(changes).toEqual(['set a', 'set b', 'set c', 'set c', 'set d', 'deleted b']);
  await settled(() => expect(watched()).toEqual(['5', '50']), SOON);
});

test('each full list is told once the cache has it, and no failed one; who throws then ends nothing', async () => {
  const told: string[][] = [];
  const { cache } = start(
    [
      refuse(500, 'InternalError'),
      listOf('5', [configMap('a', '1'), configMap('b', '2')]),
      refuse(410, 'Expired'),
      refuse(404, 'NotFound'),
      listOf('50', [configMap('b', '2')]),
      watchOf([event('MODIFIED', 'b', '51')], 'hang'),
    ],
    {
      optional: true,
      absentRetryMs: 5,
      onListed: () => {
        told.push(names(cache));
        throw new Error('boom');
      },
    },
  );
  await settled(() => expect(names(cache)).toEqual(['b@51']), SOON);
  expect(told).toEqual([['a@1', 'b@2'], ['b@2']]);
  expect(log.filter((line) => line.includes('Handling a list failed'))).toHaveLength(2);
});

test('server errors, refusals and cut connections delay it and never end it', async () => {
  const cut: Step = (request) => request.socket.destroy();
  const { cache } = start([
    refuse(500, 'InternalError'),
    refuse(403, 'Forbidden'),
    cut,
    cut,
    cut,
    listOf('5', [configMap('a', '1')]),
    refuse(500, 'InternalError'),
    watchOf([event('MODIFIED', 'a', '6')], 'reset'),
    refuse(500, 'InternalError'),
    watchOf([event('MODIFIED', 'a', '7')], 'hang'),
  ]);
  await cache.synced();
  await settled(() => expect(names(cache)).toEqual(['a@7']), SOON);
  expect(lists()).toBe(6);
  // One warning for the whole outage and one line for its end; the rest is debug.
  expect(log.filter((line) => line.includes('"warn"'))).toHaveLength(1);
  expect(log.filter((line) => line.includes('Watching again'))).toHaveLength(1);
});

test('a server that is not there is waited for', async () => {
  const { kubeconfig } = server;
  await server[Symbol.asyncDispose]();
  const away = createClient({ kubeconfig });
  const metrics = createMetrics({ process: false });
  const cache = new WatchCache(away, ConfigMap, { backOff: { baseMs: 1, maxMs: 5 }, metrics });
  cache.start(stop.signal);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(cache.hasSynced).toBe(false);
  stop.abort();
  await expect(cache.synced()).rejects.toMatchObject({ code: 'FLOTILLA_STOPPED' });
  await cache.stopped();
  await away.close();
});

test('an object that becomes invalid keeps its last good version, and its deletion counts', async () => {
  const { cache, changes } = start([
    listOf('5', [configMap('a', '1'), configMap('b', '2')]),
    watchOf([
      event('MODIFIED', 'a', '6', { k: 1 }),
      event('MODIFIED', 'b', '7', { k: 1 }),
      event('DELETED', 'b', '8', { k: 1 }),
      event('ADDED', 'c', '9'),
    ]),
    refuse(410, 'Expired'),
    listOf('50', [configMap('a', '6', { k: 1 }), configMap('c', '9')]),
  ]);
  await settled(() => expect(lists()).toBe(2), SOON);
  await settled(() => expect(watched()).toEqual(['5', '9', '50']), SOON);
  expect(names(cache)).toEqual(['a@1', 'c@9']);
  expect(changes).toEqual(['set a', 'set b', 'deleted b', 'set c']);
  expect(log.filter((line) => line.includes('Skipping an invalid object') && line.includes('n/a'))).toHaveLength(1);
});

test('a stream that makes no sense is repaired by a list', async () => {
  const { cache } = start([listOf('5', [configMap('a', '1')]), watchOf(['{"type":\n']), listOf('50', [configMap('b', '2')])]);
  await settled(() => expect(names(cache)).toEqual(['b@2']), SOON);
});

test('watches that end at once for ever are slowed down and made up for by lists', async () => {
  server.fallback = (request, response, body) =>
    (request.url?.includes('watch=true') ? watchOf([]) : listOf('7', [configMap('late', '7')]))(request, response, body);
  const { cache } = start([listOf('5', [])]);
  await settled(() => expect(names(cache)).toEqual(['late@7']), { timeout: 10_000, interval: 20 });
  expect(watched().length).toBeLessThan(40);
}, 15_000);

test('a listener, a trim or an index that throws ends nothing', async () => {
  const fail = (): never => {
    throw new Error('boom');
  };
  const { cache, changes } = start([listOf('5', [configMap('a', '1')]), watchOf([event('MODIFIED', 'a', '6')], 'hang')], {
    transform: fail,
    indexes: { bad: fail },
  });
  cache.subscribe(fail);
  const after: string[] = [];
  cache.subscribe(({ object }) => after.push(object.metadata.name));
  await settled(() => expect(names(cache)).toEqual(['a@6']), SOON);
  expect(changes).toEqual(['set a', 'set a']);
  expect(after).toEqual(['a', 'a']);
  expect(cache.byIndex('bad', 'x')).toEqual([]);
  expect(log.filter((line) => line.includes('Handling a change failed')).length).toBe(2);
});

test('indexes follow the objects', async () => {
  const { cache } = start(
    [
      listOf('5', [configMap('a', '1', { team: 'red' }), configMap('b', '2', { team: 'red' })]),
      watchOf([event('MODIFIED', 'a', '6', { team: 'blue' }), event('DELETED', 'b', '7', { team: 'red' })], 'hang'),
    ],
    { indexes: { team: (object) => Object.values(object.data ?? {}) } },
  );
  await cache.synced();
  await settled(() => expect(cache.size).toBe(1), SOON);
  expect(cache.byIndex('team', 'red')).toEqual([]);
  expect(cache.byIndex('team', 'blue').map((object) => object.metadata.name)).toEqual(['a']);
  // @ts-expect-error no such index: asking for it does not compile.
  expect(cache.byIndex('other', 'red')).toEqual([]);
});

test('an optional kind may be missing, come and go', async () => {
  const { cache, changes } = start(
    [
      refuse(404, 'NotFound'),
      refuse(404, 'NotFound'),
      listOf('5', [configMap('a', '1')]),
      refuse(404, 'NotFound'),
      refuse(404, 'NotFound'),
    ],
    {
      optional: true,
      absentRetryMs: 60_000,
    },
  );
  await cache.synced();
  expect([cache.present, cache.size]).toEqual([false, 0]);
  // The second look finds nothing either, the third the kind; then the kind goes away again.
  await settled(async () => {
    cache.recheck();
    expect(server.requests.length).toBeGreaterThanOrEqual(2);
  }, SOON);
  await settled(() => {
    cache.recheck();
    expect(changes).toEqual(['set a', 'deleted a']);
  }, SOON);
  expect(log.filter((line) => line.includes('"warn"'))).toEqual([]);
});

test('a kind that was served once may not go away, when it is optional until then: what is cached stays', async () => {
  const { cache, changes } = start(
    [
      refuse(404, 'NotFound'),
      listOf('5', [configMap('a', '1')]),
      refuse(404, 'NotFound'),
      refuse(404, 'NotFound'),
      listOf('7', [configMap('a', '1'), configMap('b', '6')]),
    ],
    { optional: 'until-served', absentRetryMs: 60_000 },
  );
  await cache.synced();
  expect([cache.present, cache.size]).toEqual([false, 0]);
  await settled(() => {
    cache.recheck();
    expect(changes).toEqual(['set a', 'set b']);
  }, SOON);
  expect(cache.present).toBe(true);
});

test('a kind that is missing and not optional is an error that is tried again', async () => {
  const { cache } = start([refuse(404, 'NotFound'), refuse(404, 'NotFound'), listOf('5', [configMap('a', '1')])]);
  await cache.synced();
  expect(names(cache)).toEqual(['a@1']);
});

test('an own write is read at once, told once, and kept against what comes from before it', async () => {
  const { cache, changes } = start([
    listOf('5', [configMap('a', '1')]),
    watchOf([event('MODIFIED', 'a', '6')]),
    watchOf([event('MODIFIED', 'a', '8')], 'hang'),
  ]);
  cache.wrote(configMap('a', '8') as ConfigMapObject);
  await settled(() => expect(watched()).toHaveLength(2), SOON);
  await settled(() => expect(cache.resourceVersion).toBe('8'), SOON);
  expect(names(cache)).toEqual(['a@8']);
  expect(changes).toEqual(['set a']);
});

test('the answer of an own write does not bring back what the watch has told to be gone', async () => {
  const { cache, changes } = start([
    listOf('5', [configMap('a', '1')]),
    watchOf([event('DELETED', 'a', '7'), event('ADDED', 'b', '8')], 'hang'),
  ]);
  await settled(() => expect(names(cache)).toEqual(['b@8']), SOON);
  cache.wrote(ConfigMap.schema.parse(configMap('a', '6')));
  expect(names(cache)).toEqual(['b@8']);
  expect(changes).toEqual(['set a', 'deleted a', 'set b']);
  // An object younger than anything the watch has told was made anew.
  cache.wrote(ConfigMap.schema.parse(configMap('a', '9')));
  expect(names(cache)).toEqual(['b@8', 'a@9']);
});
