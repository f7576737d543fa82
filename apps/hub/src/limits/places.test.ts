import { Annotation, Label, type Ref } from '@flotilla/api';
import { ConfigMap } from '@flotilla/api/core';
import { ManagedCluster, ManifestWork } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, type ClusterGroupUpgradeStatus, FleetLimitsName } from '@flotilla/api/ran';
import { settled } from '@flotilla/pace/testing';
import { type Client, createLogger, createMetrics } from '@flotilla/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { MemoryHub } from '../../testing/memory-hub.ts';
import { createCaches, fillCaches } from '../caches.ts';
import { Limits } from './limits.ts';
import { createPlaces } from './places.ts';

const REF = { namespace: 'default', name: FleetLimitsName.configMap };
const NOW = Date.parse('2026-01-01T00:00:00Z');
const CLUSTERS = ['a', 'b', 'c', 'd'];

/** A hub with four clusters, without its reconcilers. */
async function startHub(text: string | undefined, options = {}) {
  const hub = new MemoryHub();
  const { client } = await hub.process();
  for (const name of CLUSTERS) hub.put(ManagedCluster, { metadata: { name, labels: { region: name < 'c' ? 'north' : 'south' } } });
  const say = async (limits: string) => {
    const data = { [FleetLimitsName.key]: limits };
    if (await client.get(ConfigMap, REF)) await client.patch(ConfigMap, REF, { data }, { type: 'merge' });
    else await client.create(ConfigMap, { metadata: REF, data });
  };
  if (text !== undefined) await say(text);
  const logger = createLogger({ name: 'test', level: 'silent' });
  const caches = createCaches(client, { logger, metrics: createMetrics() });
  const stopping = new AbortController();
  onTestFinished(() => {
    stopping.abort();
    hub.stop();
  });
  await fillCaches(caches, logger, stopping.signal);
  const events: string[] = [];
  const recorder = { record: ({ note }: { readonly note: string }) => void events.push(note) };
  const limits = new Limits({ caches, options, namespace: REF.namespace, recorder, logger });
  const told: string[] = [];
  const places = createPlaces({ caches, limits, now: () => NOW, onFree: (uid) => told.push(uid) });
  const create = (name: string, annotations = {}) => createUpgrade(client, name, annotations);
  const versionOf = (upgrade: ClusterGroupUpgrade | undefined) => upgrade?.metadata.resourceVersion;
  const seen = (upgrade: ClusterGroupUpgrade) =>
    settled(() => expect(versionOf(caches.upgrades.get(upgrade.metadata))).toBe(versionOf(upgrade)));
  /** Asks for places in one pass; the clusters that got theirs. */
  const pass = (upgrade: ClusterGroupUpgrade, clusters: readonly string[]) => {
    const asked = places.pulling.open(upgrade);
    const given = clusters.filter((cluster) => asked.find(cluster) === undefined);
    asked.close();
    return given;
  };
  const store = async ({ metadata }: ClusterGroupUpgrade, states: NonNullable<ClusterGroupUpgradeStatus['precaching']>['status']) => {
    const patch = { status: { status: {}, precaching: { status: states } } };
    const stored = await client.patch(ClusterGroupUpgrade, metadata, patch, { type: 'merge', subresource: 'status' });
    await seen(stored);
    return stored;
  };
  const isEnding = (ref: Ref) => caches.upgrades.get(ref)?.metadata.deletionTimestamp !== undefined;
  return { isEnding, client, limits, places, told, events, say, create, seen, pass, store };
}

async function createUpgrade(client: Client, name: string, annotations: Record<string, string>): Promise<ClusterGroupUpgrade> {
  const spec = { clusters: CLUSTERS, preCaching: true, remediationStrategy: { maxConcurrency: 4, timeout: 60 } };
  return client.create(ClusterGroupUpgrade, { metadata: { namespace: 'default', name, annotations }, spec });
}

test("a place that is given and not stored yet is nobody else's, and one that is not asked for again is free", async () => {
  const hub = await startHub('pulling: 2');
  const [one, other] = [await hub.create('one'), await hub.create('other')];
  await hub.seen(other);
  expect(hub.pass(one, ['a', 'b', 'c'])).toEqual(['a', 'b']);
  expect(hub.pass(other, ['d'])).toEqual([]);
  expect(hub.told).toEqual([]);
  // The next pass of the first finds one of them held.
  expect(hub.pass(one, ['a'])).toEqual(['a']);
  expect(hub.told).toEqual([other.metadata.uid]);
  expect(hub.pass(other, ['d'])).toEqual(['d']);
});

test('the pass that begins a rollout goes by what the pass before has given', async () => {
  const hub = await startHub('pulling: 1');
  const [one, other] = [await hub.create('one'), await hub.create('other')];
  await hub.seen(other);
  expect(hub.pass(one, ['a', 'b'])).toEqual(['a']);
  const begun = { ...one, status: { status: {}, precaching: { status: { a: 'PreparingToStart', b: 'NotStarted' } } } } as const;
  expect(hub.pass(begun, ['b', 'a'])).toEqual(['a']);
  // It does not ask for one that has begun, and nothing is stored yet.
  expect(hub.pass(begun, [])).toEqual([]);
  expect(hub.pass(other, ['c'])).toEqual([]);
  await hub.store(one, { a: 'Succeeded', b: 'NotStarted' });
  expect(hub.pass({ ...one, status: { status: {}, precaching: { status: { a: 'Succeeded', b: 'NotStarted' } } } }, [])).toEqual([]);
  expect(hub.pass(other, ['c'])).toEqual(['c']);
});

test('stored states have their places, and leave them when they end; who waits is told', async () => {
  const hub = await startHub('pulling: 2');
  const [one, other] = [await hub.create('one'), await hub.create('other')];
  await hub.store(one, { a: 'Active', b: 'Starting' });
  expect(hub.pass(other, ['c'])).toEqual([]);
  expect(hub.places.pulling.waiting).toBe(1);
  await hub.store(one, { a: 'Succeeded', b: 'Active' });
  expect(hub.told).toContain(other.metadata.uid);
  expect(hub.pass(other, ['c', 'd'])).toEqual(['c']);
});

test('a cluster that pulls takes its place along when its label changes', async () => {
  const hub = await startHub('byLabel: [{label: region, pulling: 1}]');
  const [one, other] = [await hub.create('one'), await hub.create('other')];
  await hub.store(one, { a: 'Active' });
  await hub.seen(other);
  expect(hub.pass(other, ['b', 'c'])).toEqual(['c']);
  const move = (region: string | null) =>
    hub.client.patch(ManagedCluster, { name: 'a' }, { metadata: { labels: { region } } }, { type: 'merge' });
  await move('south');
  await settled(() => expect(hub.told).toContain(other.metadata.uid));
  expect(hub.pass(other, ['b', 'd'])).toEqual(['b']);
  hub.told.length = 0;
  await move(null);
  await settled(() => expect(hub.told).toContain(other.metadata.uid));
  expect(hub.pass(other, ['b', 'd'])).toEqual(['b', 'd']);
});

test('a free place is kept for the upgrade whose window opens first, unless another limit holds its cluster', async () => {
  const hub = await startHub('pulling: 1\nbyLabel: [{label: region, pulling: 1}]');
  const late = await hub.create('a-late', { [Annotation.windowStart]: '2026-01-02T00:00:00Z' });
  const soon = await hub.create('soon', { [Annotation.windowStart]: '2026-01-01T01:00:00Z' });
  const running = await hub.create('running');
  const stored = await hub.store(running, { a: 'Active' });
  await hub.seen(soon);
  expect([hub.pass(late, ['c']), hub.pass(soon, ['d'])]).toEqual([[], []]);
  await hub.store(stored, { a: 'Succeeded' });
  expect(hub.pass(late, ['c'])).toEqual([]);
  expect(hub.pass(soon, ['d'])).toEqual(['d']);
  hub.places.pulling.forget(soon.metadata.uid ?? '');
  // Its turn is first, but its region is full.
  await hub.say('pulling: 2\nbyLabel: [{label: region, pulling: 1}]');
  await settled(() => expect(hub.limits.now.limits?.pulling).toBe(2));
  await hub.store(stored, { a: 'Active' });
  expect(hub.pass(soon, ['b'])).toEqual([]);
  expect(hub.pass(late, ['c'])).toEqual(['c']);
});

test('limits that cannot be read keep the last, and without any nothing begins', async () => {
  const hub = await startHub('pulling: 0');
  const one = await hub.create('one');
  await hub.seen(one);
  expect(hub.pass(one, ['a'])).toEqual([]);
  expect(hub.events).toEqual([expect.stringMatching(/^ConfigMap flotilla-limits cannot be used: limits\.yaml\.pulling is 0: /)]);
  await hub.say('pulling: 1');
  await settled(() => expect(hub.told).toContain(one.metadata.uid));
  expect(hub.pass(one, ['a', 'b'])).toEqual(['a']);
  await hub.say('pulling: none');
  await settled(() => expect(hub.events).toHaveLength(2));
  expect(hub.pass(one, ['a', 'b'])).toEqual(['a']);
  await hub.client.delete(ConfigMap, REF);
  await settled(() => expect(hub.limits.now).toEqual({ limits: {} }));
  expect(hub.pass(one, ['a', 'b'])).toEqual(['a', 'b']);
});

test('a limit of bytes has places, and gives and takes them as it is raised, lowered and gone', async () => {
  const hub = await startHub('bytesPerSecond: 327680');
  const [one, other] = [await hub.create('one'), await hub.create('other')];
  await hub.seen(other);
  expect(hub.pass(one, ['a', 'b'])).toEqual(['a']);
  await hub.store(one, { a: 'Active' });
  // It wants no second one, which it would have before the younger.
  hub.pass(one, ['a']);
  expect(hub.pass(other, ['c'])).toEqual([]);
  hub.told.length = 0;
  await hub.say('bytesPerSecond: 655360');
  await settled(() => expect(hub.told).toContain(other.metadata.uid));
  expect(hub.pass(other, ['c', 'd'])).toEqual(['c']);
  await hub.store(other, { c: 'Active' });
  await hub.say('bytesPerSecond: 20000');
  await settled(() => expect(hub.limits.now.limits?.bytesPerSecond).toBe(20_000));
  expect(hub.pass(one, ['a', 'b'])).toEqual(['a']);
  await hub.client.delete(ConfigMap, REF);
  await settled(() => expect(hub.limits.now).toEqual({ limits: {} }));
  expect(hub.pass(one, ['a', 'b'])).toEqual(['a', 'b']);
});

test('the ConfigMap wins over options', async () => {
  const hub = await startHub(undefined, { pulling: 1 });
  const one = await hub.create('one');
  await hub.seen(one);
  expect(hub.pass(one, ['a', 'b'])).toEqual(['a']);
  await hub.say('pulling: 3');
  await settled(() => expect(hub.limits.now.limits).toEqual({ pulling: 3 }));
  expect(hub.pass(one, CLUSTERS)).toEqual(['a', 'b', 'c']);
});

test('an upgrade that is deleted leaves its places', async () => {
  const hub = await startHub('pulling: 1');
  const [one, other] = [await hub.create('one'), await hub.create('other')];
  await hub.store(one, { a: 'Active' });
  expect(hub.pass(other, ['b'])).toEqual([]);
  await hub.client.delete(ClusterGroupUpgrade, one.metadata);
  await settled(() => expect(hub.told).toContain(other.metadata.uid));
  expect(hub.pass(other, ['b'])).toEqual(['b']);
});

test.each([
  { name: 'is being deleted', end: 'delete' },
  { name: 'is stopped', end: 'stop' },
])('a job of an upgrade that $name keeps its place until the hub has removed it', async ({ end }) => {
  const hub = await startHub('pulling: 1');
  const [one, other] = [await hub.create('one'), await hub.create('other')];
  const { metadata } = await hub.store(one, { a: end === 'stop' ? 'NotStarted' : 'Active' });
  const labels = { [Label.upgradeName]: 'one', [Label.upgradeUid]: metadata.uid ?? '', [Label.work]: 'precache' };
  const work = await hub.client.create(ManifestWork, { metadata: { namespace: 'a', name: 'precache', labels }, spec: {} });
  const change = end === 'stop' ? { annotations: { [Annotation.paused]: 'stop' } } : { finalizers: ['flotilla.io/test'] };
  await hub.seen(await hub.client.patch(ClusterGroupUpgrade, metadata, { metadata: change }, { type: 'merge' }));
  if (end === 'delete') {
    await hub.client.delete(ClusterGroupUpgrade, metadata);
    await settled(() => expect(hub.isEnding(metadata)).toBe(true));
  }
  await settled(() => expect(hub.pass(other, ['b'])).toEqual([]));
  hub.told.length = 0;
  await hub.client.delete(ManifestWork, work.metadata);
  await settled(() => expect(hub.told).toContain(other.metadata.uid));
  expect(hub.pass(other, ['b'])).toEqual(['b']);
});
