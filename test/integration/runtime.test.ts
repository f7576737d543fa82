import { KubeObject, type Resource, resource, untyped } from '@flotilla/api';
import { ConfigMap, CustomResourceDefinition, Lease, Namespace } from '@flotilla/api/core';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { settled } from '@flotilla/pace/testing';
import {
  type Client,
  createClient,
  createMetrics,
  isAlreadyExists,
  isConflict,
  isNotFound,
  runWithLease,
  WatchCache,
  type WatchOptions,
} from '@flotilla/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

const SOON = { timeout: 20_000, interval: 20 };

let server: ApiServer;
let client: Client;
const stop = new AbortController();
const namespace = `runtime-${process.pid}`;

beforeAll(async () => {
  server = await startApiServer({ own: true });
  client = createClient({ kubeconfigPath: server.kubeconfig });
  await client.create(Namespace, { metadata: { name: namespace } });
});

afterAll(async () => {
  stop.abort();
  await client?.close();
  await server?.stop();
});

const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

/** `count` times `act`, 20 at a time. */
async function inParallel(count: number, act: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      while (next < count) await act(next++);
    }),
  );
}

const configMap = (name: string, data: Record<string, string>, labels: Record<string, string> = {}) => ({
  metadata: { name, namespace, labels },
  data,
});

/** The same client, but its first watch asks for another version. */
function beginningAt(real: Client, resourceVersion: string, watches: string[]): Client {
  return new Proxy(real, {
    get(target, key) {
      if (key === 'watch')
        return (kind: Resource, options: WatchOptions) => {
          watches.push(options.resourceVersion);
          return target.watch(kind, watches.length === 1 ? { ...options, resourceVersion } : options);
        };
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const Boat = resource(
  'test.flotilla.io/v1',
  'Boat',
  'boats',
  true,
  KubeObject.extend({ spec: z.object({ sails: z.int() }), status: z.object({ afloat: z.boolean() }).optional() }),
);
const boatDefinition = {
  metadata: { name: 'boats.test.flotilla.io' },
  spec: {
    group: 'test.flotilla.io',
    scope: 'Namespaced',
    names: { plural: 'boats', singular: 'boat', kind: 'Boat', listKind: 'BoatList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
};

describe('the client on a real API server', () => {
  const ref = { namespace, name: 'crud' };

  test('creates, reads, changes and deletes a ConfigMap', async () => {
    const created = await client.create(ConfigMap, configMap('crud', { a: '1' }));
    expect(created.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(isAlreadyExists(await failure(client.create(ConfigMap, configMap('crud', {}))))).toBe(true);

    expect((await client.patch(ConfigMap, ref, { data: { b: '2' } }, { type: 'merge' })).data).toEqual({ a: '1', b: '2' });
    const json = [{ op: 'replace', path: '/data/a', value: '3' }];
    const patched = await client.patch(ConfigMap, ref, json, { type: 'json' });
    expect(patched.data).toEqual({ a: '3', b: '2' });

    expect((await client.replace(ConfigMap, { ...patched, data: { c: '4' } })).data).toEqual({ c: '4' });
    expect(isConflict(await failure(client.replace(ConfigMap, { ...patched, data: {} })))).toBe(true);

    expect(await client.delete(ConfigMap, ref, { uid: '11111111-2222-3333-4444-555555555555' })).toBe(false);
    expect((await client.get(ConfigMap, ref))?.data).toEqual({ c: '4' });
    expect(await client.delete(ConfigMap, ref, { uid: created.metadata.uid })).toBe(true);
    expect(await client.get(ConfigMap, ref)).toBeUndefined();
    expect(await client.delete(ConfigMap, ref)).toBe(false);
  });

  test('applies with a field manager, meets a conflict, and forces it', async () => {
    await client.apply(ConfigMap, configMap('applied', { k: 'a' }), { fieldManager: 'a' });
    const error = await failure(client.apply(ConfigMap, configMap('applied', { k: 'b' }), { fieldManager: 'b' }));
    expect(isConflict(error)).toBe(true);
    expect(error).toMatchObject({ serverMessage: expect.stringContaining('.data.k') });
    const forced = await client.apply(ConfigMap, configMap('applied', { k: 'b' }), { fieldManager: 'b', force: true });
    expect(forced.data).toEqual({ k: 'b' });
  });

  test('serves custom resources with their status, and a cache of a kind that comes later', async () => {
    const cache = new WatchCache(client, Boat, { optional: true, absentRetryMs: 300 });
    cache.start(stop.signal);
    await cache.synced();
    expect([cache.present, cache.size]).toEqual([false, 0]);

    await client.apply(CustomResourceDefinition, boatDefinition, { fieldManager: 'test' });
    await settled(() => expect(cache.present).toBe(true), SOON);
    const boat = await client.create(Boat, { metadata: { name: 'one', namespace }, spec: { sails: 2 } });
    expect(boat.spec.sails).toBe(2);
    const withStatus = await client.patch(
      Boat,
      { namespace, name: 'one' },
      { status: { afloat: true } },
      { type: 'merge', subresource: 'status' },
    );
    expect(withStatus.status).toEqual({ afloat: true });
    await settled(() => expect(cache.get({ namespace, name: 'one' })?.status).toEqual({ afloat: true }), SOON);

    // Valid to the server, not to us.
    await client.create(untyped('test.flotilla.io/v1', 'Boat', 'boats'), { metadata: { name: 'bad', namespace }, spec: { sails: 'many' } });
    await client.create(Boat, { metadata: { name: 'two', namespace }, spec: { sails: 1 } });
    await settled(() => expect(cache.get({ namespace, name: 'two' })).toBeDefined(), SOON);
    expect(cache.get({ namespace, name: 'bad' })).toBeUndefined();

    await client.delete(CustomResourceDefinition, { name: 'boats.test.flotilla.io' });
    await settled(() => expect([cache.present, cache.size]).toEqual([false, 0]), { timeout: 30_000, interval: 20 });
  });

  test('names odd characters right and says what is not served', async () => {
    const ClusterRole = untyped('rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles', false);
    await client.create(ClusterRole, { metadata: { name: 'test:Odd Name' }, rules: [] });
    expect((await client.get(ClusterRole, { name: 'test:Odd Name' }))?.metadata.name).toBe('test:Odd Name');
    expect(await client.delete(ClusterRole, { name: 'test:Odd Name' })).toBe(true);
    expect(isNotFound(await failure(client.list(untyped('no.such/v1', 'Thing', 'things'))))).toBe(true);
    expect(await client.getText('/readyz')).toBe('ok');
    expect(await client.request('GET', '/version')).toMatchObject({ gitVersion: expect.stringMatching(/^v1\./) });
  });
});

describe('the cache on a real API server', () => {
  const OBJECTS = 2_000;
  const bulk = { 'test/bulk': 'yes' };

  test('2,000 objects: pages, follows, survives a restart and a version that is too old, and ends with what the server has', async () => {
    const started = performance.now();
    await inParallel(OBJECTS, (i) => client.create(ConfigMap, configMap(`bulk-${i}`, { team: `t${i % 10}`, text: 'x'.repeat(500) }, bulk)));
    const perSecond = Math.round(OBJECTS / ((performance.now() - started) / 1000));

    const metrics = createMetrics({ process: false });
    const cache = new WatchCache(client, ConfigMap, {
      namespace,
      labelSelector: 'test/bulk=yes',
      indexes: { team: (object) => [object.data?.team ?? ''] },
      metrics,
    });
    let deletions = 0;
    cache.subscribe((change) => {
      if (change.type === 'deleted') deletions++;
    });
    const syncing = performance.now();
    cache.start(stop.signal);
    await cache.synced();
    const syncMs = Math.round(performance.now() - syncing);
    expect(cache.size).toBe(OBJECTS);
    expect(cache.byIndex('team', 't3')).toHaveLength(OBJECTS / 10);

    await inParallel(500, (i) => client.patch(ConfigMap, { namespace, name: `bulk-${i}` }, { data: { team: 'moved' } }, { type: 'merge' }));
    await settled(() => expect(cache.byIndex('team', 'moved')).toHaveLength(500), SOON);

    // While nobody serves, the cache stays readable; afterwards it is current again, also about what it could not see.
    await server.restart();
    expect(cache.size).toBe(OBJECTS);
    const fresh = createClient({ kubeconfigPath: server.kubeconfig });
    await inParallel(100, (i) => fresh.delete(ConfigMap, { namespace, name: `bulk-${i}` }));
    await settled(() => expect([cache.size, deletions]).toEqual([OBJECTS - 100, 100]), { timeout: 40_000, interval: 20 });

    // The server's memory begins with its restart, so version 1 is a real 410 now.
    const firstWatches: string[] = [];
    const lateMetrics = createMetrics({ process: false });
    const late = new WatchCache(beginningAt(fresh, '1', firstWatches), ConfigMap, {
      namespace,
      labelSelector: 'test/bulk=yes',
      metrics: lateMetrics,
    });
    late.start(stop.signal);
    await settled(() => expect(firstWatches).toHaveLength(2), SOON);
    await fresh.patch(ConfigMap, { namespace, name: 'bulk-100' }, { data: { team: 'last' } }, { type: 'merge' });
    await settled(() => expect(late.get({ namespace, name: 'bulk-100' })?.data?.team).toBe('last'), SOON);
    expect(await lateMetrics.registry.getSingleMetricAsString('flotilla_watch_restarts_total')).toContain('how="list"} 1');

    const names = (await client.list(ConfigMap, { namespace, labelSelector: 'test/bulk=yes' })).items
      .map((object) => object.metadata.name)
      .sort();
    expect(
      cache
        .list()
        .map((object) => object.metadata.name)
        .sort(),
    ).toEqual(names);
    await fresh.close();
    process.stdout.write(`runtime: ${perSecond} creates/s at 20 parallel, ${OBJECTS} objects synced in ${syncMs} ms\n`);
  });
});

test('of two contenders for a lease one leads, and the other takes over when it dies', async () => {
  const ref = { namespace, name: 'election' };
  const clients = [createClient({ kubeconfigPath: server.kubeconfig }), createClient({ kubeconfigPath: server.kubeconfig })] as const;
  const leading = new Set<string>();
  let most = 0;
  const contend = (own: Client, identity: string, signal: AbortSignal): Promise<void> =>
    runWithLease({
      client: own,
      ref,
      identity,
      signal,
      leaseDurationMs: 2_000,
      renewDeadlineMs: 1_200,
      retryPeriodMs: 200,
      onStartedLeading: async (lost) => {
        leading.add(identity);
        most = Math.max(most, leading.size);
        await new Promise<void>((resolve) => lost.addEventListener('abort', () => resolve(), { once: true }));
        leading.delete(identity);
      },
    });
  const [endA, endB] = [new AbortController(), new AbortController()];
  const a = contend(clients[0], 'a', endA.signal);
  await settled(() => expect([...leading]).toEqual(['a']), SOON);
  const b = contend(clients[1], 'b', endB.signal);
  await settled(() => expect(most).toBe(1), { timeout: 1, interval: 20 });

  // Dies without a word: no renewal, no release reaches the server any more.
  await clients[0].close();
  await settled(() => expect([...leading]).toEqual(['b']), SOON);
  expect(most).toBe(1);
  expect((await client.get(Lease, ref))?.spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });

  endA.abort();
  endB.abort();
  await Promise.all([a, b]);
  expect((await client.get(Lease, ref))?.spec?.holderIdentity).toBe('');
  await clients[1].close();
});
