import { type KubeObject, Label } from '@flotilla/api';
import { ManagedCluster, ManifestWork, ManifestWorkReplicaSet, Placement, PlacementBinding, PlacementDecision } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { ManualClock, settled } from '@flotilla/pace/testing';
import { buildCluster, buildClusterGroupUpgrade, UPGRADE } from '@flotilla/rollout/testing';
import { ApiError, createLogger, createMetrics, logOnly } from '@flotilla/runtime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { idle } from '../../../testing/jobs-world.ts';
import { MemoryHub } from '../../../testing/memory-hub.ts';
import { BY_UID, createCaches, fillCaches } from '../../caches.ts';
import { placementWrites } from '../../placements/placing.ts';
import { HandOver } from '../../workers/hand-over.ts';
import { parseSpokeKey, type SpokeKey } from '../part.ts';
import { Problems } from '../problems.ts';
import { SpokeReconciler } from '../reconciler.ts';
import { SpokeRollouts } from './part.ts';
import { createRolloutStep } from './step.ts';

const SPOKES = ['a', 'b', 'c'];
/** Error of a server that is unavailable. */
const AWAY = new ApiError('FLOTILLA_API_UNAVAILABLE', 'PATCH', { status: 503, reason: '', serverMessage: 'away' });
const condition = { type: 'Progressing', status: 'True', reason: 'InProgress', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
const logger = createLogger({ name: 'test', level: 'silent' });
const TEMPLATE = {
  metadata: { name: 't', namespace: UPGRADE.namespace },
  spec: { manifestWorkTemplate: { workload: { manifests: [{ kind: 'ConfigMap' }] } } },
};

let hub: MemoryHub;
let stop: AbortController;
let clock: ManualClock;
let rollouts: SpokeRollouts;
let step: ReturnType<typeof createRolloutStep>;
/** Uids of upgrades whose problems have changed. */
let told: string[];
/** Clusters whose steps were handed over, in order. */
let asked: string[];
let caches: ReturnType<typeof createCaches>;

beforeEach(async () => {
  hub = new MemoryHub();
  stop = new AbortController();
  clock = new ManualClock();
  [asked, told] = [[], []];
  const { client } = await hub.process();
  caches = createCaches(client, { logger, metrics: createMetrics() });
  await fillCaches(caches, logger, stop.signal);
  step = createRolloutStep({ client, caches, now: () => clock.now(), logger }, false);
});
afterEach(() => {
  stop.abort();
  hub.stop();
});

/** @param takes the leader takes all steps; default: it hands them over, and nobody takes them */
function start({ takes = false }: { readonly takes?: boolean } = {}): void {
  const problems = new Problems({ onChange: (uid) => void told.push(uid), now: () => clock.now() });
  rollouts = new SpokeRollouts({ caches, step, problems, now: () => clock.now() });
  const queue = { enqueue: (text: string) => void asked.push(parseSpokeKey(text)?.cluster ?? ''), holds: () => true };
  const isGone = (uid: string) => caches.upgrades.byIndex(BY_UID, uid).length === 0;
  const handOver = takes ? undefined : new HandOver(queue, clock);
  new SpokeReconciler({
    onTrouble: logOnly,
    parts: [rollouts],
    problems,
    isGone,
    handOver,
    concurrency: 4,
    clock,
    logger,
    signal: stop.signal,
  }).start();
}

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
const upgrade = () => caches.upgrades.get(UPGRADE) ?? buildClusterGroupUpgrade();
const keyOf = (cluster: string): SpokeKey => ({ upgrade: upgrade().metadata.uid ?? '', cluster });
const until = (want: string[]) => settled(() => expect(asked).toEqual(want), { interval: 5 });
/** Waits until everything put so far has been reconciled: the caches are current, and the event loop has turned. */
async function untilReconciled(): Promise<void> {
  const { metadata } = hub.put(ManagedCluster, buildCluster({ metadata: { name: 'last', uid: 'uid-last' } }));
  await settled(() => expect(caches.clusters.get({ name: 'last' })?.metadata.resourceVersion).toBe(metadata.resourceVersion));
  await idle();
}

test('clusters with missing edits are asked for, and their edits are tried again while they are missing', async () => {
  hub.refuse = () => AWAY;
  start({ takes: true });
  putCluster('a', { name: 'a' });
  for (const cluster of ['b', 'c']) putCluster(cluster, {});
  await settled(() => expect(caches.clusters.size).toBe(3));
  put({ status: {} });
  const patched = (name: string) => hub.writes.filter((write) => write === `patch managedclusters ${name}`).length;
  await untilReconciled();
  await clock.advance(10_000);
  expect([patched('a'), patched('b') > 1, patched('c') > 1]).toEqual([0, true, true]);
  putCluster('b', { name: 'b' });
  await untilReconciled();
  const [ofB, ofC] = [patched('b'), patched('c')];
  await clock.advance(60_000);
  expect([patched('b') - ofB, patched('c') > ofC]).toEqual([0, true]);
});

describe('the error of a step is known as long as it lasts', () => {
  const problem = (cluster = 'a') => rollouts.problems(upgrade()).get(cluster);

  test('a name that is taken', async () => {
    start({ takes: true });
    putCluster('a', { name: 'a' });
    hub.put(ManifestWorkReplicaSet, TEMPLATE);
    hub.put(ManifestWork, { metadata: { namespace: 'a', name: 'taken' } });
    await untilReconciled();
    put({ status: inProgress('a'), remediationPlan: [['a']], safeResourceNames: { '/ns.t': 'taken' } }, { manifestWorkTemplates: ['t'] });
    await untilReconciled();
    await clock.advance(20_000);
    expect(problem()?.message).toContain('ManifestWork a/taken belongs to no ClusterGroupUpgrade; delete');
    expect([problem()?.isRefused, told]).toEqual([false, [upgrade().metadata.uid]]);
    hub.remove(ManifestWork, { namespace: 'a', name: 'taken' });
    await untilReconciled();
    await clock.advance(20_000);
    expect([problem(), hub.names(ManifestWork)]).toEqual([undefined, ['taken']]);
  });

  test('an edit that is refused counts as refused once that lasts, and what nobody refuses is simply done', async () => {
    hub.refuse = (verb, { plural }, { name }) =>
      verb === 'patch' && plural === 'managedclusters' && name === 'a'
        ? new ApiError('FLOTILLA_API_FORBIDDEN', 'PATCH managedclusters a', { status: 403, reason: 'Forbidden', serverMessage: 'denied' })
        : undefined;
    start({ takes: true });
    for (const cluster of ['a', 'b']) putCluster(cluster, {});
    await untilReconciled();
    put({ status: {}, remediationPlan: [['a', 'b']] });
    await untilReconciled();
    await clock.advance(60_000);
    expect(problem()).toMatchObject({
      isRefused: true,
      message: expect.stringMatching(/managedclusters a.*denied; give the hub's account the right to it/),
    });
    expect(problem('b')).toBeUndefined();
    expect(hub.get(ManagedCluster, { name: 'b' })?.metadata.labels).toEqual({ name: 'b' });
  });

  test('one of the Placements, which stands for no cluster', async () => {
    start();
    put({ status: {} });
    await settled(() => expect(caches.upgrades.size).toBe(1));
    for (let attempt = 0; attempt < 2; attempt += 1) {
      rollouts.placed(upgrade(), AWAY);
      await clock.advance(5_000);
    }
    expect(problem('')?.message).toContain('away');
    rollouts.placed(upgrade(), undefined);
    expect(rollouts.problems(upgrade()).size).toBe(0);
  });
});

test('a changed upgrade does not ask again for the steps of a moment ago', async () => {
  start();
  putCluster('a', {});
  put({ status: {}, remediationPlan: [['a']] });
  await until(['a']);
  put({ status: {}, remediationPlan: [['a']], computedMaxConcurrency: 1 });
  await settled(() => expect(caches.upgrades.get(UPGRADE)?.status?.computedMaxConcurrency).toBe(1));
  await untilReconciled();
  expect(asked).toEqual(['a']);
});

test('the Placements of a batch come first, the Subscriptions of its clusters when the policy is enforced', async () => {
  start();
  for (const cluster of SPOKES) putCluster(cluster, { name: cluster });
  const content = JSON.stringify([{ kind: 'Subscription', name: 's', apiVersion: 'operators.coreos.com/v1alpha1', namespace: 'o' }]);
  const policies = {
    managedPoliciesForUpgrade: [{ name: 'p', namespace: 'policies' }],
    managedPoliciesContent: { p: content },
    placements: ['x'],
  };
  put({ ...policies, status: inProgress('a', 'b') });
  await settled(() => expect(caches.upgrades.size).toBe(1));
  const create = () => {
    for (const write of placementWrites(upgrade(), caches)) if (write.verb === 'create') hub.put(write.kind, write.object);
  };
  create();
  await settled(() => expect(caches.placements.size).toBe(1));
  await untilReconciled();
  expect(asked).toEqual([]);
  decide(['a', 'b']);
  await settled(() => expect(caches.decisions.size).toBe(1));
  create();
  await until(['a', 'b']);
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
  start();
  for (const cluster of SPOKES) putCluster(cluster, { name: cluster });
  hub.put(ManifestWorkReplicaSet, TEMPLATE);
  put({ status: inProgress('a', 'b') }, { manifestWorkTemplates: ['t'] });
  await until(['a', 'b']);
  const labels = {
    'openshift-cluster-group-upgrades/clusterGroupUpgrade': UPGRADE.name,
    'openshift-cluster-group-upgrades/clusterGroupUpgradeNamespace': UPGRADE.namespace,
    'flotilla.io/upgrade-uid': UPGRADE.uid,
  };
  hub.put(ManifestWork, { metadata: { name: 'left', namespace: 'c', labels } } satisfies KubeObject);
  await until(['a', 'b', 'c']);
  const { uid = '' } = caches.upgrades.get(UPGRADE)?.metadata ?? {};
  const yields = ['a', 'c'].map((cluster) => rollouts.plan({ upgrade: uid, cluster }).yields);
  expect(yields).toEqual([false, true]);
});

test('somebody who undoes everything at once is not followed at his pace', async () => {
  start({ takes: true });
  put({ status: {}, remediationPlan: [['a']] });
  await settled(() => expect(caches.upgrades.size).toBe(1));
  for (let round = 0; round < 20; round += 1) {
    putCluster('a', { round: String(round) });
    await untilReconciled();
  }
  expect(hub.writes.filter((write) => write === 'patch managedclusters a')).toHaveLength(12);
});

test('a process that has lost its lease writes nothing more', async () => {
  put({ status: {}, remediationPlan: [['a']] });
  putCluster('a', { round: '1' });
  await settled(() => expect([caches.upgrades.size, caches.clusters.size]).toEqual([1, 1]));
  const before = hub.writes.length;
  await expect(step(keyOf('a'), AbortSignal.abort(new Error('the lease is lost')))).rejects.toThrow('the lease is lost');
  expect(hub.writes.slice(before)).toEqual([]);
  expect(await step(keyOf('a'), stop.signal)).toBe(true);
});

test('a work in a cluster that the upgrade never named keeps it from nothing, whatever its labels say', async () => {
  const labels = {
    'openshift-cluster-group-upgrades/clusterGroupUpgrade': UPGRADE.name,
    'flotilla.io/upgrade-uid': UPGRADE.uid,
  };
  start();
  put({ status: {}, conditions: [{ ...condition, type: 'Succeeded' }], remediationPlan: [['a']] });
  const isClean = () => rollouts.isClean(upgrade(), { leavingCounts: true });
  hub.put(ManifestWork, { metadata: { name: 'theirs', namespace: 'evil', labels } } satisfies KubeObject);
  await settled(() => expect([caches.works.size, caches.upgrades.size]).toEqual([1, 1]));
  expect(isClean()).toBe(true);
  await settled(() => expect(asked).toContain('evil'));
  hub.put(ManifestWork, { metadata: { name: 'ours', namespace: 'a', labels } } satisfies KubeObject);
  await settled(() => expect(caches.works.size).toBe(2));
  expect(isClean()).toBe(false);
});

test('what is left of an earlier upgrade of the name, as after a restore, wakes this one and keeps it from being clean', async () => {
  const labels = {
    'openshift-cluster-group-upgrades/clusterGroupUpgrade': UPGRADE.name,
    'openshift-cluster-group-upgrades/clusterGroupUpgradeNamespace': UPGRADE.namespace,
    'flotilla.io/upgrade-uid': 'uid-before-the-restore',
  };
  start();
  put({ status: {}, conditions: [{ ...condition, type: 'Succeeded' }], remediationPlan: [['a']] });
  await settled(() => expect(caches.upgrades.size).toBe(1));
  await untilReconciled();
  expect(asked).not.toContain('a');
  hub.put(ManifestWork, { metadata: { name: 'lost', namespace: 'a', labels } } satisfies KubeObject);
  await settled(() => expect(asked).toContain('a'));
  expect(rollouts.isClean(upgrade(), { leavingCounts: true })).toBe(false);
});
