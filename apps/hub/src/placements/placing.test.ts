import { Label } from '@flotilla/api';
import { Placement, PlacementBinding, PlacementDecision } from '@flotilla/api/ocm';
import { settled } from '@flotilla/pace/testing';
import { buildClusterGroupUpgrade, UPGRADE } from '@flotilla/rollout/testing';
import { ApiError, createLogger, createMetrics } from '@flotilla/runtime';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MemoryHub } from '../../testing/memory-hub.ts';
import { createCaches, fillCaches } from '../caches.ts';
import { Placing, placementWrites } from './placing.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
const DENIED = new ApiError('FLOTILLA_API_FORBIDDEN', 'POST placements', { status: 403, reason: 'Forbidden', serverMessage: 'denied' });
const RUNNING = {
  conditions: [{ type: 'Progressing', status: 'True', reason: 'InProgress', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }],
  managedPoliciesForUpgrade: [{ name: 'p', namespace: 'policies' }],
  managedPoliciesContent: { p: '[]' },
  placements: ['x'],
  remediationPlan: [['a', 'b']],
};
const inProgress = (...clusters: string[]) => ({
  currentBatch: 1,
  currentBatchRemediationProgress: Object.fromEntries(clusters.map((cluster) => [cluster, { state: 'InProgress' }])),
});

let hub: MemoryHub;
let stop: AbortController;
let caches: ReturnType<typeof createCaches>;
let now: number;
/** Error of each attempt that failed, and `undefined` for each time at which nothing was missing. */
let said: unknown[];
let placing: Placing;

beforeEach(async () => {
  hub = new MemoryHub();
  stop = new AbortController();
  now = 1_000_000;
  said = [];
  const { client } = await hub.process();
  caches = createCaches(client, { logger, metrics: createMetrics() });
  await fillCaches(caches, logger, stop.signal);
  placing = new Placing({ client, caches, logger, signal: stop.signal, now: () => now, onPlaced: (_, error) => said.push(error) });
});
afterEach(() => {
  stop.abort();
  hub.stop();
});

const put = (status: Record<string, unknown>) => buildClusterGroupUpgrade({ spec: {}, status: { ...RUNNING, ...status } });
const upgrade = () => put({ status: inProgress('a', 'b') });

test('a running upgrade gets its Placement at once, and nothing is written a second time', async () => {
  expect(await placing.apply(upgrade())).toBeUndefined();
  expect(await placing.apply(upgrade())).toBeUndefined();
  expect(hub.writes.filter((write) => write.includes('placements'))).toHaveLength(1);
  expect(said).toEqual([undefined, undefined]);
});

test('an upgrade that has ended gets none', async () => {
  const ended = { ...RUNNING, conditions: [{ ...RUNNING.conditions[0], type: 'Succeeded' }], status: {} };
  expect(await placing.apply(put(ended))).toBeUndefined();
  expect(hub.names(Placement)).toEqual([]);
});

test('a refusal is tried again later each time, told each time, and forgotten when it is over', async () => {
  hub.refuse = (verb, { plural }) => (verb === 'create' && plural === 'placements' ? DENIED : undefined);
  const begun = now;
  let attempts = 0;
  while (now - begun < 60_000) {
    attempts += 1;
    now += (await placing.apply(upgrade())) ?? 0;
  }
  expect(attempts).toBeLessThan(20);
  expect(said).toEqual(Array.from({ length: attempts }, () => DENIED));
  // Somebody else's event brings no attempt before its time.
  const waitMs = await placing.apply(upgrade());
  expect(await placing.apply(upgrade())).toBeCloseTo(waitMs ?? 0);
  hub.refuse = () => undefined;
  now += waitMs ?? 0;
  expect(await placing.apply(upgrade())).toBeUndefined();
  expect(said.at(-1)).toBeUndefined();
  expect(hub.names(Placement)).toHaveLength(1);
});

test('other writes do not wait for those that failed', async () => {
  hub.refuse = (verb, { plural }) => (verb === 'create' && plural === 'placements' ? DENIED : undefined);
  expect(await placing.apply(upgrade())).toBeGreaterThan(0);
  hub.refuse = () => undefined;
  const two = { managedPoliciesForUpgrade: [...RUNNING.managedPoliciesForUpgrade, { name: 'q', namespace: 'policies' }] };
  expect(
    await placing.apply(put({ ...two, managedPoliciesContent: { p: '[]', q: '[]' }, placements: ['x', 'y'], status: inProgress('a') })),
  ).toBeUndefined();
  expect(hub.names(Placement)).toHaveLength(2);
});

test('what somebody undoes for ever is written a few times, and again after a pause', async () => {
  let waitMs: number | undefined;
  let undone = 0;
  for (; waitMs === undefined && undone < 100; undone += 1) {
    waitMs = await placing.apply(upgrade());
    for (const name of hub.names(Placement)) hub.remove(Placement, { namespace: 'policies', name: name.split('/').at(-1) ?? '' });
    await settled(() => expect(caches.placements.size).toBe(0));
  }
  expect(undone).toBe(13);
  now += waitMs ?? 0;
  expect(await placing.apply(upgrade())).toBeUndefined();
  expect(hub.names(Placement)).toHaveLength(1);
});

test('a Placement of another upgrade under the name is left alone', async () => {
  await placing.apply(upgrade());
  const [name = ''] = hub.names(Placement).map((each) => each.split('/').at(-1));
  hub.remove(Placement, { namespace: 'policies', name });
  await settled(() => expect(caches.placements.size).toBe(0));
  const labels = { [Label.upgradeName]: 'another', [Label.upgradeNamespace]: UPGRADE.namespace };
  hub.put(Placement, Placement.schema.parse({ metadata: { namespace: 'policies', name, labels }, spec: {} }));
  for (const _ of [1, 2, 3, 4]) now += (await placing.apply(upgrade())) ?? 0;
  expect(String(said.at(-1))).toMatch(/belongs to ClusterGroupUpgrade .*another; delete it, or give this upgrade another name suffix/);
  expect(hub.get(Placement, { namespace: 'policies', name })?.metadata.labels).toEqual(labels);
});

test('nothing is unbound while the server has lost the Placements', async () => {
  await placing.apply(upgrade());
  const [name = ''] = hub.names(Placement).map((each) => each.split('/').at(-1));
  const decided = { decisions: ['a', 'b'].map((clusterName) => ({ clusterName, reason: '' })) };
  const metadata = { namespace: 'policies', name: `${name}-1`, labels: { [Label.placement]: name } };
  hub.put(PlacementDecision, PlacementDecision.schema.parse({ metadata, status: decided }));
  await settled(async () => {
    await placing.apply(upgrade());
    expect(hub.names(PlacementBinding)).toHaveLength(1);
  });
  hub.unserve(Placement);
  await settled(() => expect(caches.placements.present).toBe(false));
  expect(placementWrites(upgrade(), caches)).toEqual([]);
});
