import { Label } from '@flotilla/api';
import { ManagedCluster, ManagedClusterAction, ManifestWork } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, type FleetLimits, type PrecacheState } from '@flotilla/api/ran';
import { ManualClock, settled } from '@flotilla/pace/testing';
import { workLabels } from '@flotilla/rollout';
import { createLogger } from '@flotilla/runtime';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MemoryHub } from '../../testing/memory-hub.ts';
import { UPGRADE } from '../../testing/observation-builders.ts';
import { createLimitsCache } from '../caches.ts';
import { ByteShares } from './shares.ts';

const MB = 1_000_000;
const logger = createLogger({ name: 'test', level: 'silent' });

let hub: MemoryHub;
let clock: ManualClock;
beforeEach(() => {
  hub = new MemoryHub();
  clock = new ManualClock();
});
afterEach(() => hub.stop());

/** Shares under limits that the test changes. */
async function shares(given: FleetLimits | undefined) {
  const { caches, client } = await hub.process();
  const known = { given };
  const limits = createLimitsCache(client, { logger }, 'flotilla');
  return { known, limits, bytes: new ByteShares({ caches, clock, limits: () => known.given }) };
}

const putStates = (status: Record<string, PrecacheState>) =>
  hub.put(
    ClusterGroupUpgrade,
    ClusterGroupUpgrade.schema.parse({
      metadata: { name: UPGRADE.name, namespace: UPGRADE.namespace, uid: UPGRADE.uid },
      spec: { remediationStrategy: { maxConcurrency: 9 }, preCaching: true },
      status: { precaching: { spec: {}, status } },
    }),
  );
const putCluster = (name: string, site?: string) => hub.put(ManagedCluster, { metadata: { name, ...(site && { labels: { site } }) } });
const cap = (bytesPerSecond: number, seconds: number) => ({
  'flotilla.io/cap': `${bytesPerSecond} ${new Date(clock.now() - seconds * 1_000).toISOString()}`,
});
const putWork = (namespace: string, annotations: Record<string, string> = {}) =>
  hub.put(ManifestWork, { metadata: { name: 'precache-work', namespace, labels: workLabels(UPGRADE, 'precache'), annotations } });

test('only clusters that pull have a share, each by the limits of its labels', async () => {
  for (const [name, site] of [
    ['a', 'x'],
    ['b', 'x'],
    ['c', 'y'],
    ['d', 'y'],
  ] as const)
    putCluster(name, site);
  putStates({ a: 'Active', b: 'Starting', c: 'PreparingToStart', d: 'Succeeded', e: 'NotStarted' });
  const { bytes } = await shares({ bytesPerSecond: 9 * MB, byLabel: [{ label: 'site', bytesPerSecond: 4 * MB }] });
  expect(['a', 'b', 'c', 'd', 'e'].map(bytes.capOf)).toEqual([2 * MB, 2 * MB, 3 * MB, undefined, undefined]);
});

test('one that begins has its part at once', async () => {
  putStates({ a: 'Active' });
  putWork('a', cap(9 * MB, 600));
  const { bytes } = await shares({ bytesPerSecond: 9 * MB });
  expect(bytes.capOf('a')).toBe(9 * MB);
  putStates({ a: 'Active', b: 'PreparingToStart' });
  await settled(() => expect(bytes.capOf('b')).toBe(4.5 * MB));
  expect(bytes.capOf('a')).toBe(4.5 * MB);
});

test('the leader has the spokes looked at whose cap changes, when their minute is over', async () => {
  putStates({ a: 'Active', b: 'Starting', c: 'Active' });
  putWork('a', cap(9 * MB, 20));
  putWork('c');
  const { bytes, limits } = await shares({ bytesPerSecond: 9 * MB });
  const stop = new AbortController();
  const enqueued: string[] = [];
  bytes.follow(limits, (key) => void enqueued.push(key), stop.signal);
  await clock.advance(2_000);
  expect(enqueued).toEqual(['uid-1/c']);
  expect(bytes.capOf('c')).toBe(3 * MB);
  expect(bytes.capOf('a')).toBe(9 * MB);
  putWork('c', cap(3 * MB, 0));
  await clock.advance(37_000);
  expect(enqueued).toEqual(['uid-1/c']);
  await clock.advance(2_000);
  expect(enqueued).toEqual(['uid-1/c', 'uid-1/a']);
  expect(bytes.capOf('a')).toBe(3 * MB);
  stop.abort();
  expect(clock.pending).toBe(0);
});

test('limits that are gone take the caps along, and limits that nobody could read leave them', async () => {
  putStates({ a: 'Active' });
  putWork('a', cap(5 * MB, 600));
  const { bytes, known, limits } = await shares(undefined);
  expect(bytes.capOf('a')).toBe(5 * MB);
  known.given = {};
  const enqueued: string[] = [];
  const stop = new AbortController();
  bytes.follow(limits, (key) => void enqueued.push(key), stop.signal);
  await clock.advance(2_000);
  expect(bytes.capOf('a')).toBeUndefined();
  expect(enqueued).toEqual(['uid-1/a']);
  putWork('a');
  putStates({ a: 'Active', b: 'Starting' });
  await clock.advance(2_000);
  known.given = { bytesPerSecond: 9 * MB };
  putStates({ a: 'Active', b: 'Active' });
  await clock.advance(2_000);
  expect(bytes.capOf('b')).toBe(4.5 * MB);
  expect(enqueued).toEqual(['uid-1/a', 'uid-1/a']);
  stop.abort();
});

test('by actions a cap stays as it began, and counts', async () => {
  putStates({ a: 'Active', b: 'Starting' });
  hub.put(ManagedClusterAction, {
    metadata: {
      name: 'precache-spec-cm-create',
      namespace: 'a',
      labels: { ...workLabels(UPGRADE, 'precache'), [Label.upgradeUid]: UPGRADE.uid },
      annotations: { 'flotilla.io/cap': String(6 * MB) },
    },
  });
  const { bytes } = await shares({ bytesPerSecond: 9 * MB });
  expect([bytes.capOf('a'), bytes.capOf('b')]).toEqual([6 * MB, 3 * MB]);
});
