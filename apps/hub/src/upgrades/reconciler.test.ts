import { findCondition, Label } from '@flotilla/api';
import { ManagedCluster, ManifestWork, Placement, PlacementBinding } from '@flotilla/api/ocm';
import { CLEANUP_FINALIZER, ClusterGroupUpgrade } from '@flotilla/api/ran';
import { kstatus } from '@flotilla/api/testing';
import { settled } from '@flotilla/pace/testing';
import { objectDefinitions, PLACEMENT_APP } from '@flotilla/rollout';
import { buildClusterGroupUpgrade, buildWork, UPGRADE } from '@flotilla/rollout/testing';
import { createLogger, createMetrics, type EventToRecord } from '@flotilla/runtime';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type HubProcess, MemoryHub } from '../../testing/memory-hub.ts';
import { createCaches, fillCaches } from '../caches.ts';
import { Problems } from '../spokes/problems.ts';
import { SpokeRollouts } from '../spokes/rollout/part.ts';
import type { UpgradeJobs } from './jobs.ts';
import { UpgradeReconciler } from './reconciler.ts';

const KEY = `${UPGRADE.namespace}/${UPGRADE.name}`;
const T0 = Date.parse('2026-01-01T12:00:00Z');
const HOUR = 3_600_000;
const logger = createLogger({ name: 'test', level: 'silent' });

let hub: MemoryHub;
let stop: AbortController;
let now: number;
let caches: ReturnType<typeof createCaches>;
let reconciler: UpgradeReconciler;
let events: EventToRecord[];
/** Value of `isForced` in each clean-up. */
let gaveUp: boolean[];
let hold: HubProcess['hold'];
/** Way of pins that another hub has left. */
let pinsLeft: 'runtime' | undefined;

beforeEach(async () => {
  hub = new MemoryHub();
  stop = new AbortController();
  now = T0;
  events = [];
  gaveUp = [];
  pinsLeft = undefined;
  await begin();
});
afterEach(() => {
  stop.abort();
  hub.stop();
});

/** Starts a hub process: caches, engine and reconciler know nothing of an earlier one. */
async function begin(talmStrict = false): Promise<void> {
  const hubProcess = await hub.process();
  const { client } = hubProcess;
  hold = (...kinds) => hubProcess.hold(...kinds);
  caches = createCaches(client, { logger, metrics: createMetrics() });
  await fillCaches(caches, logger, stop.signal);
  const rollout = new SpokeRollouts({
    caches,
    step: () => Promise.resolve(false),
    problems: new Problems({ onChange: () => undefined, now: () => now }),
    now: () => now,
  });
  const jobs: Pick<UpgradeJobs, 'precache' | 'nextProofs' | 'backUp' | 'backUpLate' | 'precacheLate' | 'end' | 'isClean' | 'owePins'> = {
    nextProofs: () => undefined,
    precache: () => undefined,
    backUp: () => undefined,
    backUpLate: () => undefined,
    precacheLate: () => ({}),
    end: () => Promise.resolve(),
    isClean: (_, isForced) => {
      gaveUp.push(isForced);
      return true;
    },
    owePins: async () => pinsLeft,
  };
  reconciler = new UpgradeReconciler({
    client,
    caches,
    rollout,
    problems: () => new Map(),
    placing: { apply: async () => undefined, forget: () => undefined },
    jobs,
    isBusy: () => false,
    recorder: { record: (event) => void events.push(event) },
    now: () => now,
    logger,
    talmStrict,
    updateGraphUrl: undefined,
    lookUpRelease: () => ({ kind: 'pending' }),
    readPolicy: (policy) => objectDefinitions(policy),
    standalone: false,
    precacheImage: '',
    precacheImageAllow: [],
  });
}

const stored = () => hub.get(ClusterGroupUpgrade, UPGRADE) as ClusterGroupUpgrade | undefined;
const labels = { [Label.app]: PLACEMENT_APP, [Label.upgradeName]: UPGRADE.name, [Label.upgradeNamespace]: UPGRADE.namespace };
const PLACEMENT = {
  apiVersion: Placement.apiVersion,
  kind: Placement.kind,
  metadata: { namespace: 'policies', name: 'left', labels },
  spec: {},
};
const met = (type: string, status: string) => ({
  type,
  status,
  reason: 'Completed',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const metadata = { finalizers: [CLEANUP_FINALIZER] };
const DELETED = { ...metadata, deletionTimestamp: new Date(T0 - HOUR).toISOString() };
const ENDED = { conditions: [met('Progressing', 'False'), met('Succeeded', 'True')] };

/** Waits until the caches have every object put or removed so far. */
const untilCached = () =>
  settled(() => {
    expect(caches.upgrades.get(UPGRADE)?.metadata.resourceVersion).toBe(stored()?.metadata.resourceVersion);
    expect(caches.placements.size).toBe(hub.names(Placement).length);
    expect(caches.works.size).toBe(hub.names(ManifestWork).length);
  });

test('an upgrade that was deleted long before the hub started keeps its finalizer until its Placements are gone', async () => {
  hub.put(ClusterGroupUpgrade, buildClusterGroupUpgrade({ metadata: DELETED, status: {} }));
  hub.put(Placement, PLACEMENT);
  await untilCached();
  for (let minute = 0; minute < 5; minute += 1) {
    await reconciler.reconcile(KEY);
    now += 60_000;
  }
  expect(stored()?.metadata.finalizers).toEqual([CLEANUP_FINALIZER]);
  hub.remove(Placement, PLACEMENT.metadata);
  await untilCached();
  await reconciler.reconcile(KEY);
  expect(stored()).toBeUndefined();
});

test('an upgrade that is deleted while its kinds are not served stays until they are, for half an hour at most', async () => {
  hub.put(Placement, PLACEMENT);
  hub.put(ClusterGroupUpgrade, buildClusterGroupUpgrade({ metadata: DELETED, status: { placements: ['left'] } }));
  await untilCached();
  hub.unserve(PlacementBinding);
  await settled(() => expect(caches.bindings.present).toBe(false));
  hub.remove(Placement, PLACEMENT.metadata);
  await untilCached();
  for (let minute = 0; minute < 30; minute += 1) {
    await reconciler.reconcile(KEY);
    await untilCached();
    now += 60_000;
  }
  expect(stored()?.metadata.finalizers).toEqual([CLEANUP_FINALIZER]);
  expect(stored()?.status?.messages).toEqual({ '(placements)': expect.stringContaining('The API server serves no PlacementBinding') });
  await reconciler.reconcile(KEY);
  expect(stored()).toBeUndefined();
});

test('members that are not there are waited for half an hour, however many leaders there are, and only those of the plan', async () => {
  for (const [step, minutes] of [0, 20, 29, 31].entries()) {
    if (step === 0) {
      const status = { remediationPlan: [['spoke', 'away']], precaching: { status: { spoke: 'Succeeded', dropped: 'Succeeded' } } };
      hub.put(ManagedCluster, ManagedCluster.schema.parse({ metadata: { name: 'spoke', labels: { group: 'g' } } }));
      const spec = { clusters: undefined, clusterSelector: ['group=g'] };
      hub.put(ClusterGroupUpgrade, buildClusterGroupUpgrade({ metadata, spec, status }));
      await untilCached();
    } else await begin();
    now = T0 + minutes * 60_000;
    await reconciler.reconcile(KEY);
    await untilCached();
    const { reason, message = '' } = findCondition(stored()?.status?.conditions, 'ClustersSelected') ?? {};
    expect([minutes, reason]).toEqual([minutes, minutes < 30 ? 'WaitingForMembers' : 'ClusterSelectionCompleted']);
    expect(message).not.toContain('dropped');
  }
});

test('an upgrade that was let go is not cleaned up again before its end is seen', async () => {
  hub.put(ClusterGroupUpgrade, buildClusterGroupUpgrade({ metadata: DELETED, status: {} }));
  await untilCached();
  hold(ClusterGroupUpgrade.plural);
  await reconciler.reconcile(KEY);
  expect(stored()).toBeUndefined();
  expect(gaveUp).toEqual([false]);
  await reconciler.reconcile(KEY);
  // Cleaning a clean spoke writes an action that nobody would remove.
  expect(gaveUp).toEqual([false]);
});

test('completedAt is not written before the hub is clean, however long ago the verdict was', async () => {
  hub.put(ClusterGroupUpgrade, buildClusterGroupUpgrade({ metadata, status: ENDED }));
  hub.put(Placement, PLACEMENT);
  await untilCached();
  now += HOUR;
  await reconciler.reconcile(KEY);
  expect(stored()?.status?.status.completedAt).toBeUndefined();
  hub.remove(Placement, PLACEMENT.metadata);
  await untilCached();
  await reconciler.reconcile(KEY);
  expect(stored()?.status?.status.completedAt).toBe(new Date(now).toISOString().replace('.000Z', 'Z'));
});

test('spokes have their time from the first attempt of this process on, not from the deletion', async () => {
  hub.put(ClusterGroupUpgrade, buildClusterGroupUpgrade({ metadata: DELETED, status: {} }));
  hub.put(Placement, PLACEMENT);
  await untilCached();
  await reconciler.reconcile(KEY);
  now += 59_000;
  await reconciler.reconcile(KEY);
  now += 1000;
  await reconciler.reconcile(KEY);
  expect(gaveUp).toEqual([false, false, true]);
});

test('spokes have their time, and no more, when the clock steps back while they are cleaned', async () => {
  hub.put(ClusterGroupUpgrade, buildClusterGroupUpgrade({ metadata: DELETED, status: {} }));
  hub.put(Placement, PLACEMENT);
  await untilCached();
  await reconciler.reconcile(KEY);
  now -= HOUR;
  await reconciler.reconcile(KEY);
  now += 60_000;
  await reconciler.reconcile(KEY);
  expect(gaveUp).toEqual([false, false, true]);
});

test('a work that only its agent can let go is waited for as long as a spoke is, and no longer', async () => {
  hub.put(ClusterGroupUpgrade, buildClusterGroupUpgrade({ metadata: DELETED, spec: { clusters: ['spoke'] }, status: {} }));
  hub.put(ManifestWork, buildWork('leaving', { deletionTimestamp: DELETED.deletionTimestamp, finalizers: ['agent'] }));
  await untilCached();
  await reconciler.reconcile(KEY);
  expect(stored()?.metadata.finalizers).toEqual([CLEANUP_FINALIZER]);
  now += 60_000;
  await reconciler.reconcile(KEY);
  expect(stored()).toBeUndefined();
});

test('a clock that steps back does not hold an upgrade for the length of the step', async () => {
  hub.put(ClusterGroupUpgrade, buildClusterGroupUpgrade({ metadata, spec: { clusters: ['nobody'] } }));
  await untilCached();
  await reconciler.reconcile(KEY);
  await untilCached();
  now -= HOUR;
  hub.put(ClusterGroupUpgrade, { ...stored(), spec: { ...stored()?.spec, clusters: ['somebody'] } } as ClusterGroupUpgrade);
  await untilCached();
  const { requeueAfterMs = 0 } = await reconciler.reconcile(KEY);
  expect(requeueAfterMs).toBeLessThanOrEqual(1000);
  expect(findCondition(stored()?.status?.conditions, 'ClustersSelected')?.message).toContain('somebody');
});

test('a spec beyond the limits, stored before there were any, ends in a condition that names the field', async () => {
  hub.put(
    ClusterGroupUpgrade,
    buildClusterGroupUpgrade({ metadata, spec: { clusterSelector: Array.from({ length: 40_000 }, (_, i) => `key-${i}=x`) } }),
  );
  await untilCached();
  await reconciler.reconcile(KEY);
  expect(findCondition(stored()?.status?.conditions, 'Validated')).toMatchObject({
    status: 'False',
    reason: 'InvalidSpec',
    message: 'spec.clusterSelector cannot be used: has 40000 entries, at most 5000 are accepted; correct it',
  });
});

test('an upgrade without a spec says so in a condition, and goes on once it has one', async () => {
  const { spec: _, ...bare } = buildClusterGroupUpgrade({ metadata });
  hub.put(ClusterGroupUpgrade, bare);
  await untilCached();
  await reconciler.reconcile(KEY);
  expect(findCondition(stored()?.status?.conditions, 'ClustersSelected')).toMatchObject({
    status: 'False',
    reason: 'ClusterNotFound',
    message: expect.stringContaining('spec is missing: give it clusters'),
  });
  await untilCached();
  now += 1000;
  hub.put(ClusterGroupUpgrade, {
    ...stored(),
    spec: { clusters: ['nobody'], remediationStrategy: { maxConcurrency: 1 } },
  } as ClusterGroupUpgrade);
  await untilCached();
  await reconciler.reconcile(KEY);
  expect(findCondition(stored()?.status?.conditions, 'ClustersSelected')?.message).toContain('nobody');
});

/** An upgrade that another hub ended. */
const endedAt = (name: string, completedAt: string, { ready = 'False', verdict = 'True' } = {}) =>
  buildClusterGroupUpgrade({
    metadata: { ...metadata, name, generation: 1 },
    status: {
      conditions: [met('Ready', ready), met('Progressing', 'False'), met('Succeeded', verdict)],
      status: { completedAt },
    },
  });

/** Reconciles these upgrades as they are enqueued, until nothing is left to do; returns milliseconds from the first to the last write. */
async function settle(...names: string[]): Promise<number> {
  const keys = names.map((name) => `${UPGRADE.namespace}/${name}`);
  const due = new Map(keys.map((key) => [key, now]));
  const began = now;
  while (due.size > 0) {
    const [key, at] = [...due].reduce((first, next) => (next[1] < first[1] ? next : first));
    due.delete(key);
    now = Math.max(now, at);
    const { requeueAfterMs } = await reconciler.reconcile(key);
    if (requeueAfterMs !== undefined) due.set(key, now + requeueAfterMs);
  }
  return now - began;
}

test('ended upgrades of another version are brought up to date once, the newest first, and a second leader writes nothing', async () => {
  hub.put(ClusterGroupUpgrade, endedAt('old', '2025-01-01T00:00:00Z'));
  hub.put(ClusterGroupUpgrade, endedAt('new', '2026-01-01T00:00:00Z', { verdict: 'False' }));
  hub.put(ClusterGroupUpgrade, endedAt('middle', '2025-06-01T00:00:00Z'));
  await settled(() => expect(caches.upgrades.size).toBe(3));
  hub.writes.length = 0;
  expect(await settle('old', 'new', 'middle')).toBe(1400);
  expect(hub.writes.map((write) => write.split(' ').at(-1))).toEqual(['new', 'middle', 'old'].map((name) => expect.stringContaining(name)));
  const tools = ['old', 'new', 'middle'].map((name) => kstatus(hub.get(ClusterGroupUpgrade, { ...UPGRADE, name })));
  expect(tools).toEqual(['Current', 'Failed', 'Current']);
  hub.writes.length = 0;
  await begin();
  expect([await settle('old', 'new', 'middle'), hub.writes]).toEqual([0, []]);
  await begin(true);
  await settle('old');
  expect(
    (hub.get(ClusterGroupUpgrade, { ...UPGRADE, name: 'old' }) as ClusterGroupUpgrade).status?.conditions?.map(({ type }) => type),
  ).toEqual(['Progressing', 'Succeeded']);
});

test('pins that another hub has left are noted of the ended upgrade, so that no later leader looks for them', async () => {
  const ended = endedAt(UPGRADE.name, '2026-01-01T00:00:00Z');
  hub.put(ClusterGroupUpgrade, { ...ended, status: { status: {}, ...ended.status, precaching: { status: { spoke: 'Succeeded' } } } });
  await untilCached();
  pinsLeft = 'runtime';
  await settle(UPGRADE.name);
  expect(stored()?.status?.precaching?.pins).toBe('runtime');
});

test('an edit after the end is told by name in conditions of its generation', async () => {
  hub.put(ClusterGroupUpgrade, endedAt(UPGRADE.name, '2026-01-01T00:00:00Z'));
  await untilCached();
  await settle(UPGRADE.name);
  const ended = stored();
  hub.put(ClusterGroupUpgrade, {
    ...ended,
    metadata: { ...ended?.metadata, generation: 2 },
    spec: { ...ended?.spec, clusters: ['another'] },
  } as ClusterGroupUpgrade);
  await untilCached();
  await settle(UPGRADE.name);
  const { observedGeneration, conditions = [] } = stored()?.status ?? {};
  expect([observedGeneration, ...conditions.map((condition) => condition.observedGeneration)]).toEqual([2, 2, 2, 2, 2, 2]);
  expect(findCondition(conditions, 'EditsIgnored')?.message).toContain('spec.clusters');
  expect([findCondition(conditions, 'Ready')?.status, findCondition(conditions, 'Stalled')?.status]).toEqual(['False', 'True']);
});
