import { type KubeObject, Label } from '@flotilla/api';
import { ManagedCluster, ManifestWork, ManifestWorkReplicaSet, Placement, PlacementBinding, PlacementDecision } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { buildCluster, buildClusterGroupUpgrade, UPGRADE } from '@flotilla/rollout/testing';
import { ApiError, createLogger, createMetrics, type EnqueueOptions, systemClock } from '@flotilla/runtime';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { MemoryHub } from '../../testing/memory-hub.ts';
import { createCaches, fillCaches } from '../caches.ts';
import { placementWrites } from '../placements/plan.ts';
import type { StepKey } from '../steps/step-key.ts';
import type { StepHandler } from '../steps/step-queue.ts';
import { SpokeRollouts } from './reconciler.ts';
import { createRolloutStep } from './steps.ts';

const SPOKES = ['a', 'b', 'c'];
/** A watchdog that a test waits for, and one that it does not. */
const SHORT_MS = 80;
const LONG_MS = 600_000;
/** Error of a server that is unavailable. */
const AWAY = new ApiError('FLOTILLA_API_UNAVAILABLE', 'PATCH', { status: 503, reason: '', serverMessage: 'away' });
const condition = { type: 'Progressing', status: 'True', reason: 'InProgress', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
const logger = createLogger({ name: 'test', level: 'silent' });

let hub: MemoryHub;
let stop: AbortController;
let rollouts: SpokeRollouts;
/** Runs a step in the requesting process, as an in-memory queue does. */
let step: StepHandler;
/** Number of calls of `onProblem`. */
let errors: number;
/** Enqueued keys, in order. */
let asked: string[];
let priorities: Map<string, number>;
let start: (watchdogMs: number, now?: () => number) => void;
let caches: ReturnType<typeof createCaches>;

beforeEach(async () => {
  hub = new MemoryHub();
  stop = new AbortController();
  asked = [];
  errors = 0;
  const { client } = await hub.process();
  caches = createCaches(client, { logger, metrics: createMetrics() });
  await fillCaches(caches, logger, stop.signal);
  priorities = new Map();
  const enqueue = (key: string, { priority = 0 }: EnqueueOptions = {}) => {
    const [kind, , cluster = ''] = key.split('/');
    asked.push(`${kind} ${cluster}`.trim());
    priorities.set(cluster, priority);
  };
  step = createRolloutStep({ client, caches, now: Date.now, logger }, false);
  start = (watchdogMs, now = Date.now) => {
    rollouts = new SpokeRollouts({
      caches,
      queue: { enqueue, holds: () => false, forget: () => {} },
      apply: step,
      onProblem: () => (errors += 1),
      clock: { ...systemClock, now },
      logger,
      watchdogMs,
      signal: stop.signal,
    });
    rollouts.start();
  };
});
afterEach(() => {
  stop.abort();
  hub.stop();
});

const put = (status: Record<string, unknown>, spec: Record<string, unknown> = {}) =>
  hub.put(
    ClusterGroupUpgrade,
    buildClusterGroupUpgrade({ spec, status: { conditions: [condition], remediationPlan: [SPOKES], ...status } }),
  );
const putCluster = (name: string, labels: Record<string, string>) =>
  hub.put(ManagedCluster, buildCluster({ metadata: { name, uid: `uid-${name}`, labels } }));
const inProgress = (...clusters: string[]) => ({
  currentBatch: 1,
  currentBatchRemediationProgress: Object.fromEntries(clusters.map((cluster) => [cluster, { state: 'InProgress' }])),
});
const until = (want: string[]) => vi.waitFor(() => expect(asked).toEqual(want), { timeout: 2000, interval: 5 });
/** The same where missing writes are enqueued again so soon that more may have come by the time of a look. */
const untilBegunWith = (want: string[]) =>
  vi.waitFor(() => expect(asked.slice(0, want.length)).toEqual(want), { timeout: 2000, interval: 5 });
/** Waits until everything put so far has been reconciled: the caches are current, and the event loop has turned. */
async function idle(): Promise<void> {
  const { metadata } = hub.put(ManagedCluster, buildCluster({ metadata: { name: 'last', uid: 'uid-last' } }));
  await vi.waitFor(() => expect(caches.clusters.get({ name: 'last' })?.metadata.resourceVersion).toBe(metadata.resourceVersion));
  await new Promise((resolve) => setImmediate(resolve));
}

test('clusters with missing edits are enqueued, and again while the edits are missing', async () => {
  hub.refuse = () => AWAY;
  start(SHORT_MS);
  putCluster('a', { name: 'a' });
  for (const cluster of ['b', 'c']) putCluster(cluster, {});
  await vi.waitFor(() => expect(caches.clusters.size).toBe(3));
  put({ status: {} });
  await untilBegunWith(['rollout b', 'rollout c', 'rollout b', 'rollout c']);
  putCluster('b', { name: 'b' });
  await vi.waitFor(() => expect(asked.slice(-2)).toEqual(['rollout c', 'rollout c']));
});

test('missing writes are enqueued again although the clock has stepped back', async () => {
  hub.refuse = () => AWAY;
  let stepMs = 0;
  start(SHORT_MS, () => Date.now() - stepMs);
  putCluster('a', {});
  put({ status: {}, remediationPlan: [['a']] });
  await untilBegunWith(['rollout a']);
  const before = asked.length;
  stepMs = 3_600_000;
  await vi.waitFor(() => expect(asked.length).toBeGreaterThan(before), { timeout: 2000, interval: 5 });
});

describe('a late step is applied here, and its error is known as long as it lasts', () => {
  const upgrade = () => caches.upgrades.get(UPGRADE) ?? buildClusterGroupUpgrade();
  const template = {
    metadata: { name: 't', namespace: UPGRADE.namespace },
    spec: { manifestWorkTemplate: { workload: { manifests: [{ kind: 'ConfigMap' }] } } },
  };
  const taken = { name: '', namespace: 'a' };

  test('a name that is taken', async () => {
    start(SHORT_MS);
    putCluster('a', { name: 'a' });
    hub.put(ManifestWorkReplicaSet, template);
    put({ status: inProgress('a'), remediationPlan: [['a']], safeResourceNames: { '/ns.t': 'taken' } }, { manifestWorkTemplates: ['t'] });
    hub.put(ManifestWork, { metadata: { ...taken, name: 'taken' } });
    await vi.waitFor(() =>
      expect(rollouts.problems(upgrade()).get('a')?.message).toContain('ManifestWork a/taken belongs to no ClusterGroupUpgrade; delete'),
    );
    expect(rollouts.problems(upgrade()).get('a')?.isRefused).toBe(false);
    expect(errors).toBeGreaterThan(0);
    hub.remove(ManifestWork, { ...taken, name: 'taken' });
    await vi.waitFor(() => expect(rollouts.problems(upgrade()).size).toBe(0), { timeout: 5000 });
    expect(hub.names(ManifestWork)).toEqual(['taken']);
  });

  test('an edit that is refused counts as refused the second time, and what nobody refuses is simply done', async () => {
    hub.refuse = (verb, { plural }, { name }) =>
      verb === 'patch' && plural === 'managedclusters' && name === 'a'
        ? new ApiError('FLOTILLA_API_FORBIDDEN', 'PATCH managedclusters a', { status: 403, reason: 'Forbidden', serverMessage: 'denied' })
        : undefined;
    start(SHORT_MS);
    for (const cluster of ['a', 'b']) putCluster(cluster, {});
    put({ status: {}, remediationPlan: [['a', 'b']] });
    await vi.waitFor(() => expect(rollouts.problems(upgrade()).get('a')?.isRefused).toBe(true), { timeout: 5000 });
    expect(rollouts.problems(upgrade()).get('a')?.message).toMatch(/managedclusters a.*denied; give the hub's account the right to it/);
    expect(rollouts.problems(upgrade()).get('b')).toBeUndefined();
    expect(hub.get(ManagedCluster, { name: 'b' })?.metadata.labels).toEqual({ name: 'b' });
  });
});

test('a changed upgrade does not enqueue again the steps of a moment ago', async () => {
  start(LONG_MS);
  putCluster('a', {});
  put({ status: {}, remediationPlan: [['a']] });
  await until(['rollout a']);
  put({ status: {}, remediationPlan: [['a']], computedMaxConcurrency: 1 });
  await vi.waitFor(() => expect(caches.upgrades.get(UPGRADE)?.status?.computedMaxConcurrency).toBe(1));
  await idle();
  expect(asked).toEqual(['rollout a']);
});

test('the Placements of a batch come first, the Subscriptions of its clusters when the policy is enforced', async () => {
  start(LONG_MS);
  for (const cluster of SPOKES) putCluster(cluster, { name: cluster });
  const content = JSON.stringify([{ kind: 'Subscription', name: 's', apiVersion: 'operators.coreos.com/v1alpha1', namespace: 'o' }]);
  const policies = {
    managedPoliciesForUpgrade: [{ name: 'p', namespace: 'policies' }],
    managedPoliciesContent: { p: content },
    placements: ['x'],
  };
  put({ ...policies, status: inProgress('a', 'b') });
  await vi.waitFor(() => expect(caches.upgrades.size).toBe(1));
  const create = () => {
    const upgrade = caches.upgrades.get(UPGRADE);
    for (const write of upgrade ? placementWrites(upgrade, caches) : []) if (write.verb === 'create') hub.put(write.kind, write.object);
  };
  create();
  await vi.waitFor(() => expect(caches.placements.size).toBe(1));
  await idle();
  expect(asked).toEqual([]);
  decide(['a', 'b']);
  await vi.waitFor(() => expect(caches.decisions.size).toBe(1));
  create();
  await until(['rollout a', 'rollout b']);
  expect([hub.names(Placement), hub.names(PlacementBinding)].map((names) => names.length)).toEqual([1, 1]);
});

/** Decides as a placement controller does. */
function decide(clusters: readonly string[]): void {
  const name = hub.names(Placement)[0]?.split('/').at(-1) ?? '';
  hub.put(
    PlacementDecision,
    PlacementDecision.schema.parse({
      metadata: { name: `${name}-decision-1`, namespace: 'policies', labels: { [Label.placement]: name } },
      status: { decisions: clusters.map((clusterName) => ({ clusterName, reason: '' })) },
    }),
  );
}

test('an event of a cluster plans that cluster alone, and clusters outside the batch are cleaned', async () => {
  start(LONG_MS);
  for (const cluster of SPOKES) putCluster(cluster, { name: cluster });
  hub.put(ManifestWorkReplicaSet, {
    metadata: { name: 't', namespace: UPGRADE.namespace },
    spec: { manifestWorkTemplate: { workload: { manifests: [{ kind: 'ConfigMap' }] } } },
  });
  put({ status: inProgress('a', 'b') }, { manifestWorkTemplates: ['t'] });
  await until(['rollout a', 'rollout b']);
  const labels = {
    'openshift-cluster-group-upgrades/clusterGroupUpgrade': UPGRADE.name,
    'openshift-cluster-group-upgrades/clusterGroupUpgradeNamespace': UPGRADE.namespace,
    'flotilla.io/upgrade-uid': UPGRADE.uid,
  };
  hub.put(ManifestWork, { metadata: { name: 'left', namespace: 'c', labels } } satisfies KubeObject);
  await until(['rollout a', 'rollout b', 'rollout c']);
});

test('clean-up of a batch yields to the next batch', async () => {
  for (const cluster of SPOKES) putCluster(cluster, { name: cluster });
  hub.put(ManifestWorkReplicaSet, {
    metadata: { name: 't', namespace: UPGRADE.namespace },
    spec: { manifestWorkTemplate: { workload: { manifests: [{ kind: 'ConfigMap' }] } } },
  });
  const labels = { 'flotilla.io/upgrade-uid': UPGRADE.uid, [Label.upgradeName]: UPGRADE.name };
  hub.put(ManifestWork, { metadata: { name: 'left', namespace: 'a', labels } } satisfies KubeObject);
  put({ status: inProgress('b', 'c') }, { manifestWorkTemplates: ['t'] });
  await vi.waitFor(() => expect([caches.works.size, caches.templates.size, caches.upgrades.size]).toEqual([1, 1, 1]));
  await idle();
  start(LONG_MS);
  await vi.waitFor(() => expect(Object.fromEntries(priorities)).toEqual({ a: 3, b: 1, c: 1 }));
});

test('somebody who undoes everything at once is not followed at his pace', async () => {
  start(LONG_MS);
  put({ status: {}, remediationPlan: [['a']] });
  for (let round = 0; round < 20; round += 1) {
    putCluster('a', { round: String(round) });
    await idle();
    const [upgrade] = caches.upgrades.list();
    await step({ kind: 'rollout', upgrade: upgrade?.metadata.uid ?? '', cluster: 'a' }, stop.signal);
    await idle();
  }
  expect(asked).toEqual(Array.from({ length: 12 }, () => 'rollout a'));
});

test('a process that has lost its lease writes nothing more', async () => {
  put({ status: {}, remediationPlan: [['a']] });
  putCluster('a', { round: '1' });
  await vi.waitFor(() => expect([caches.upgrades.size, caches.clusters.size]).toEqual([1, 1]));
  const [upgrade] = caches.upgrades.list();
  const key: StepKey = { kind: 'rollout', upgrade: upgrade?.metadata.uid ?? '', cluster: 'a' };
  const before = hub.writes.length;
  await expect(step(key, AbortSignal.abort(new Error('the lease is lost')))).rejects.toThrow('the lease is lost');
  expect(hub.writes.slice(before)).toEqual([]);
  expect(await step(key, stop.signal)).toBe(true);
});

test('a work in a cluster that the upgrade never named keeps it from nothing, whatever its labels say', async () => {
  const labels = {
    'openshift-cluster-group-upgrades/clusterGroupUpgrade': UPGRADE.name,
    'flotilla.io/upgrade-uid': UPGRADE.uid,
  };
  // All writes of the spoke are refused, because only that would hold an upgrade.
  hub.refuse = () => AWAY;
  start(LONG_MS);
  put({ status: {}, conditions: [{ ...condition, type: 'Succeeded' }], remediationPlan: [['a']] });
  const isClean = () => rollouts.isClean(caches.upgrades.get(UPGRADE) ?? buildClusterGroupUpgrade(), { leavingCounts: true });
  hub.put(ManifestWork, { metadata: { name: 'theirs', namespace: 'evil', labels } } satisfies KubeObject);
  await vi.waitFor(() => expect([caches.works.size, caches.upgrades.size]).toEqual([1, 1]));
  expect(isClean()).toBe(true);
  await vi.waitFor(() => expect(asked).toContain('rollout evil'));
  hub.put(ManifestWork, { metadata: { name: 'ours', namespace: 'a', labels } } satisfies KubeObject);
  await vi.waitFor(() => expect(caches.works.size).toBe(2));
  expect(isClean()).toBe(false);
});
