import { KubeObject } from '@flotilla/api';
import { ConfigMap, CustomResourceDefinition as CRD, Namespace } from '@flotilla/api/core';
import { ManualClock } from '@flotilla/pace/testing';
import type { Client, WatchEvent } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { Boat, boatCrds, definition, Raft } from './conformance/boats.ts';
import { faults, withFault } from './conformance/faults.ts';
import { recordedAnswers } from './conformance/recorded-answers.ts';
import { conformanceCrds, differences, questions } from './conformance/suite.ts';
import { MemoryServer } from './memory-server.ts';
import { denied, UnsupportedError } from './refusals/refusal.ts';

const object = (name: string, fields: Record<string, unknown> = {}, metadata = {}) => ({
  ...fields,
  metadata: { ...metadata, name, namespace: 'default' },
});
const ref = (name: string) => ({ name, namespace: 'default' });
const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

const definitionWith = (schema: Record<string, unknown>) =>
  KubeObject.parse(definition(Raft, { spec: { type: 'object', ...schema } }, false));

/** Events, one after the other. */
function follow(client: Client, resourceVersion: string, labelSelector?: string) {
  const stop = new AbortController();
  const watch = client.watch(ConfigMap, { namespace: 'default', resourceVersion, labelSelector, signal: stop.signal });
  const events: AsyncIterator<WatchEvent<ConfigMap>> = watch[Symbol.asyncIterator]();
  return { next: async () => (await events.next()).value as WatchEvent<ConfigMap> | undefined, end: () => stop.abort() };
}

test('every question is answered as a real API server answers it', async () => {
  expect(questions.length).toBeGreaterThan(80);
  expect(new Set(questions.map(({ name }) => name)).size).toBe(questions.length);
  expect(Object.keys(recordedAnswers()).toSorted()).toEqual(questions.map(({ name }) => name).toSorted());
  expect(await differences(new MemoryServer({ crds: conformanceCrds() }).client())).toEqual([]);
});

test.each(faults)('the questions see it when $name', async (fault) => {
  const client = withFault(new MemoryServer({ crds: conformanceCrds() }).client(), fault);
  expect(await differences(client, 1)).toHaveLength(1);
});

test('the same calls give the same uids, names and versions', async () => {
  const play = async () => {
    const client = new MemoryServer({ clock: new ManualClock() }).client();
    await client.create(ConfigMap, object('a'));
    await client.request('POST', '/api/v1/namespaces/default/configmaps', { body: { metadata: { generateName: 'x-' } } });
    await client.patch(ConfigMap, ref('a'), { data: { k: 'v' } }, { type: 'merge' });
    return client.list(ConfigMap);
  };
  const first = await play();
  expect(first.items).toHaveLength(2);
  expect(await play()).toEqual(first);
});

test('clients that share what they read get one object of a change, which nobody can change, and the same as clients that do not', async () => {
  const answersOf = async (server: MemoryServer) => {
    const [writer, other] = [server.client(), server.client()];
    const watches = [follow(writer, server.version), follow(other, server.version, 'a=b')];
    const created = await writer.create(ConfigMap, object('a', { data: { k: 'v' } }, { labels: { a: 'b' } }));
    const events = await Promise.all(
      watches.map(async ({ next }) => (await next())?.type === 'ADDED' && (await other.get(ConfigMap, ref('a')))),
    );
    await other.patch(ConfigMap, ref('a'), { metadata: { labels: { a: null } } }, { type: 'merge' });
    const after = await Promise.all(watches.map(({ next }) => next()));
    for (const { end } of watches) end();
    return { created, events, after };
  };
  const options = () => ({ clock: new ManualClock(), tracksFields: false });
  const shared = await answersOf(new MemoryServer({ ...options(), sharesReadings: true }));
  expect(shared).toEqual(await answersOf(new MemoryServer(options())));
  expect(shared.after).toMatchObject([{ type: 'MODIFIED' }, { type: 'DELETED' }]);
  expect(shared.events[0]).toBe(shared.created);
  expect(() => Object.assign(shared.created.metadata, { name: 'b' })).toThrow(TypeError);
});

test('two servers have no uid in common', async () => {
  const uidOf = async (seed: number) => (await new MemoryServer({ seed }).client().create(ConfigMap, object('a'))).metadata.uid;
  expect(await uidOf(1)).not.toBe(await uidOf(2));
});

test('a version that was compacted is gone, for watches and for pages', async () => {
  const server = new MemoryServer();
  const client = server.client();
  for (const name of ['a', 'b', 'c']) await client.create(ConfigMap, object(name));
  const { resourceVersion } = await client.list(ConfigMap);
  const path = '/api/v1/namespaces/default/configmaps?limit=1';
  const page = (await client.request('GET', path)) as { metadata: { continue: string } };
  await client.delete(ConfigMap, ref('b'));
  server.compact();
  expect(await failure(follow(client, resourceVersion).next())).toMatchObject({ status: 410, reason: 'Expired' });
  expect(await failure(client.request('GET', `${path}&continue=${page.metadata.continue}`))).toMatchObject({
    status: 410,
    serverMessage: expect.stringContaining('The provided continue parameter is too old'),
  });
  expect((await client.list(ConfigMap, { pageSize: 1 })).items.map(({ metadata }) => metadata.name)).toEqual(['a', 'c']);
});

test('only so many changes are kept', async () => {
  const client = new MemoryServer({ mostChanges: 2 }).client();
  await client.create(ConfigMap, object('a'));
  const { resourceVersion } = await client.list(ConfigMap);
  for (const name of ['b', 'c', 'd']) await client.create(ConfigMap, object(name));
  expect(await failure(follow(client, resourceVersion).next())).toMatchObject({ status: 410 });
});

test('a bookmark has the version of the store', async () => {
  const server = new MemoryServer();
  const client = server.client();
  const watch = follow(client, server.version, 'none=such');
  const next = watch.next();
  await client.create(ConfigMap, object('a'));
  server.bookmark();
  expect(await next).toEqual({ type: 'BOOKMARK', resourceVersion: server.version });
  watch.end();
});

test('bookmarks come in time by the clock, and a watch ends in its own', async () => {
  const clock = new ManualClock();
  const server = new MemoryServer({ clock, bookmarkMs: 60_000 });
  const watch = follow(server.client(), server.version);
  const seen: unknown[] = [];
  const reading = (async () => {
    for (let event = await watch.next(); event; event = await watch.next()) seen.push(event.type);
    seen.push('ended');
  })();
  await clock.advance(60_000);
  expect(seen).toEqual(['BOOKMARK']);
  // The client asks for five minutes at least.
  await clock.advance(4 * 60_000);
  await reading;
  expect(seen.at(-1)).toBe('ended');
  expect(clock.pending).toBe(0);
});

test('a restart ends watches without an error', async () => {
  const server = new MemoryServer();
  const next = follow(server.client(), server.version).next();
  await Promise.resolve();
  server.endWatches();
  expect(await next).toBeUndefined();
});

test('readers wake when they are told to', async () => {
  const waiting: (() => void)[] = [];
  const server = new MemoryServer({ deliver: (wake) => waiting.push(wake) });
  const client = server.client();
  const watch = follow(client, server.version);
  const next = watch.next();
  await new Promise((resolve) => setImmediate(resolve));
  await client.create(ConfigMap, object('a'));
  expect(waiting).toHaveLength(1);
  waiting[0]?.();
  expect(await next).toMatchObject({ type: 'ADDED' });
  watch.end();
});

test('admission refuses and changes', async () => {
  const server = new MemoryServer({
    admit: ({ verb, kind, object: written }) => {
      if (kind.kind !== 'ConfigMap') return undefined;
      if (verb === 'delete') throw denied('keep.test', 'it stays');
      return { ...written, data: { seen: verb } };
    },
  });
  const client = server.client();
  expect((await client.create(ConfigMap, object('a'))).data).toEqual({ seen: 'create' });
  expect((await client.patch(ConfigMap, ref('a'), { data: { x: 'y' } }, { type: 'merge' })).data).toEqual({ seen: 'update' });
  expect(await failure(client.delete(ConfigMap, ref('a')))).toMatchObject({
    status: 403,
    reason: 'Forbidden',
    serverMessage: 'admission webhook "keep.test" denied the request: it stays',
  });
});

test('dependents go with their owner, and in the foreground before it', async () => {
  const server = new MemoryServer();
  const client = server.client();
  const own = async (owner: string, name: string) => {
    const { uid = '' } = (await client.get(ConfigMap, ref(owner)))?.metadata ?? {};
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: owner, uid, blockOwnerDeletion: true }];
    await client.create(ConfigMap, object(name, {}, { ownerReferences }));
  };
  const names = () => server.readAll(ConfigMap).map(({ metadata }) => metadata.name);
  for (const owner of ['background', 'foreground', 'orphan']) {
    await client.create(ConfigMap, object(owner));
    await own(owner, `${owner}-child`);
  }
  await client.delete(ConfigMap, ref('background'));
  await client.delete(ConfigMap, ref('foreground'), { propagationPolicy: 'Foreground' });
  await client.delete(ConfigMap, ref('orphan'), { propagationPolicy: 'Orphan' });
  expect(names()).toEqual(['background-child', 'foreground', 'foreground-child', 'orphan', 'orphan-child']);
  server.collectGarbage();
  expect(names()).toEqual(['orphan-child']);
  expect(server.read(ConfigMap, ref('orphan-child'))?.metadata.ownerReferences).toBeUndefined();
});

test('a namespace goes when its content has gone', async () => {
  const server = new MemoryServer({ namespaces: ['n'] });
  const client = server.client();
  const held = { name: 'held', namespace: 'n' };
  await client.create(ConfigMap, { metadata: { ...held, finalizers: ['test.flotilla.io/x'] } });
  await client.create(ConfigMap, { metadata: { name: 'free', namespace: 'n' } });
  await client.delete(Namespace, { name: 'n' });
  server.collectGarbage();
  expect(server.readAll(ConfigMap).map(({ metadata }) => metadata.name)).toEqual(['held']);
  expect(server.read(Namespace, { name: 'n' })).toMatchObject({ status: { phase: 'Terminating' } });
  await client.patch(ConfigMap, held, { metadata: { finalizers: null } }, { type: 'merge' });
  server.collectGarbage();
  expect(server.read(Namespace, { name: 'n' })).toBeUndefined();
});

test('a kind goes with its CRD', async () => {
  const server = new MemoryServer({ crds: boatCrds() });
  const client = server.client();
  await client.create(Boat, object('a', { spec: { sails: 1 } }));
  await client.request('DELETE', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boats.test.flotilla.io');
  expect(await failure(client.list(Boat))).toMatchObject({ status: 404 });
});

test.each<[string, (client: Client) => Promise<unknown>]>([
  ['a subresource', (client) => client.request('POST', '/api/v1/namespaces/default/pods/a/eviction', { body: {} })],
  ['metrics', (client) => client.getText('/metrics')],
  ['a parameter', (client) => client.request('GET', '/api/v1/namespaces/default/configmaps?resourceVersionMatch=Exact')],
  [
    'a strategic merge patch',
    (client) =>
      client.request('PATCH', '/api/v1/namespaces/default/configmaps/a', {
        body: {},
        contentType: 'application/strategic-merge-patch+json',
      }),
  ],
  ['a rule of CEL', (client) => client.create(CRD, definitionWith({ 'x-kubernetes-validations': [{ rule: 'self != null' }] }))],
  ['a part of a schema', (client) => client.create(CRD, definitionWith({ oneOf: [{}] }))],
])('%s that it does not know is refused loudly', async (_, call) => {
  expect(await failure(call(new MemoryServer().client()))).toBeInstanceOf(UnsupportedError);
});
