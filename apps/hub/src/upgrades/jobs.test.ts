import { Annotation } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, PreCachingConfig, type PrecacheState } from '@flotilla/api/ran';
import { settled } from '@flotilla/pace/testing';
import { FirstSeen } from '@flotilla/rollout';
import { openGates } from '@flotilla/rollout/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MemoryHub } from '../../testing/memory-hub.ts';
import { createPrecacheJob, type PrecacheInputs, type PrecacheJobs } from '../spokes/jobs/kinds/precache/job.ts';
import type { JobRequest } from '../spokes/jobs/part.ts';
import { UpgradeJobs } from './jobs.ts';

/** Asks for no proof. */
const PASS = { ask: undefined, sightings: new FirstSeen().pass('uid', 0) };
const settings = {
  image: 'registry.test/puller:1',
  profile: 'least-privilege',
  imageAllow: [],
  variables: {},
  caBundle: '',
  jobViewSeconds: 5,
  progressViewSeconds: 5,
  graceMs: 0,
} as const;

/** Creates jobs whose engines note each request, and find these states, or those that are stored. */
function createJobs({
  job = createPrecacheJob(settings),
  hasHubObjects = () => false,
  states = {},
}: Partial<Pick<PrecacheJobs, 'job' | 'hasHubObjects'>> & { readonly states?: Readonly<Record<string, PrecacheState>> } = {}) {
  const asked: JobRequest<PrecacheState, PrecacheInputs>[] = [];
  const judge = (request: JobRequest<PrecacheState, PrecacheInputs>) => {
    asked.push(request);
    const { clusters, stored } = request;
    const stateOf = (cluster: string): PrecacheState => states[cluster] ?? stored[cluster] ?? 'NotStarted';
    return { spokes: new Map(clusters.map((cluster) => [cluster, { state: stateOf(cluster), message: undefined }])), at: undefined };
  };
  const engine = { job, hasHubObjects, judge };
  const backup = { jobs: engine, settings: { image: 'registry.test/recovery:1' } };
  return { jobs: new UpgradeJobs({ precaching: { jobs: engine, settings }, backup } as never), asked };
}

test('a pause reaches pulls that run also while the plan is refused', () => {
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns', uid: 'uid', annotations: { 'flotilla.io/paused': 'stop' } },
    spec: { remediationStrategy: { maxConcurrency: 1 }, preCaching: true },
    status: { precaching: { spec: {}, status: { a: 'Active' } } },
  });
  const { jobs, asked } = createJobs();
  const plan = { selection: { clusters: [] }, stopped: 'validation', precachingClusters: [] } as never;
  jobs.precache(upgrade, plan, PASS);
  expect(asked.map(({ clusters, paused }) => [clusters, paused?.stops])).toEqual([[['a'], true]]);
});

test('a cluster that left the plan is asked about while its job has begun, or the hub has objects of it', () => {
  const status = { begun: 'Active', stopped: 'NotStarted', idle: 'NotStarted', planned: 'NotStarted' } as const;
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns', uid: 'uid' },
    spec: { remediationStrategy: { maxConcurrency: 1 }, preCaching: true },
    status: { precaching: { spec: {}, status } },
  });
  const { jobs, asked } = createJobs({ hasHubObjects: (_, cluster) => cluster === 'stopped' });
  const plan = { selection: { clusters: ['planned'] }, precaching: { spec: {} }, precachingClusters: ['planned'] } as never;
  jobs.precache(upgrade, plan, PASS);
  expect(asked.map(({ clusters, stored }) => [clusters, stored])).toEqual([[['planned', 'begun', 'stopped'], status]]);
});

describe('a cluster that left the plan in mid-pull, while the rollout of the others runs', () => {
  const running = (status: object, states: Readonly<Record<string, PrecacheState>>) =>
    ClusterGroupUpgrade.schema.parse({
      metadata: { name: 'u', namespace: 'ns', uid: 'uid' },
      spec: { remediationStrategy: { maxConcurrency: 1 }, preCaching: true, backup: true },
      status: {
        remediationPlan: [['stays']],
        status: { startedAt: '2026-01-01T00:00:00Z', currentBatch: 1, currentBatchStartedAt: '2026-01-01T00:00:00Z' },
        precaching: { spec: {}, status: states },
        ...status,
      },
    });
  const pass = { ...PASS, proofs: undefined };

  test('is asked about until its job has ended', () => {
    const { jobs, asked } = createJobs();
    const { jobs: report } = jobs.precacheLate(running({}, { stays: 'Succeeded', left: 'Active', idle: 'NotStarted' }), pass);
    expect(asked.map(({ clusters }) => clusters)).toEqual([['left']]);
    expect(report?.clusters).toEqual(['left']);
    expect(jobs.precacheLate(running({}, { stays: 'Succeeded', left: 'Succeeded', idle: 'NotStarted' }), pass)).toEqual({});
  });

  test('counts in no roll-up of those that came later', () => {
    const { jobs } = createJobs({ states: { late: 'Succeeded', left: 'Active' } });
    const came = { remediationPlan: [['stays'], ['late']], batchesAtStart: 1 };
    const states = { stays: 'Succeeded', failed: 'PrecacheTimeout', late: 'Active', left: 'Active', over: 'PrecacheTimeout' } as const;
    // A backup that failed has left one out before its pull began.
    const clusters = ['failed', 'left-out'].map((name) => ({ name, state: 'failed' }));
    const { pulls } = jobs.precacheLate(running({ ...came, clusters }, { ...states, 'left-out': 'NotStarted' }), pass);
    expect([pulls?.clusters, pulls?.rollUp.failed, pulls?.rollUp.reason]).toEqual([['late'], ['failed'], 'PartiallyDone']);
  });

  test('is asked about its backup too', () => {
    const { jobs, asked } = createJobs();
    const backup = { status: { stays: 'Succeeded', left: 'Active' } };
    const report = jobs.backUpLate(running({ backup }, {}), PASS.sightings);
    expect(asked.flatMap(({ clusters }) => clusters)).toContain('left');
    expect(report?.rollUp.failed).toEqual([]);
    expect(
      jobs.backUpLate(running({ backup: { status: { stays: 'Succeeded', left: 'BackupTimeout' } } }, {}), PASS.sightings),
    ).toBeUndefined();
  });
});

describe('under a refused plan', () => {
  const refusedBy = (reason: string) =>
    ({ selection: { failure: { reason, message: 'why' } }, stopped: 'selection', precachingClusters: [] }) as never;
  const upgradeOf = (status: Record<string, PrecacheState>, annotations: Record<string, string> = {}) =>
    ClusterGroupUpgrade.schema.parse({
      metadata: { name: 'u', namespace: 'ns', uid: 'uid', annotations },
      spec: { remediationStrategy: { maxConcurrency: 1 }, preCaching: true },
      status: { precaching: { spec: {}, status } },
    });
  const statesOf = (report: ReturnType<UpgradeJobs['precache']>) =>
    Object.fromEntries([...(report?.spokes ?? [])].map(([cluster, { state }]) => [cluster, state]));

  test('a cluster of a set that is unbound in mid-pull is not asked about, and is in progress', () => {
    const states = { pulled: 'Succeeded', idle: 'NotStarted' } as const;
    const { jobs, asked } = createJobs();
    const report = jobs.precache(upgradeOf(states), refusedBy('ClusterNotBound'), PASS);
    expect(asked.map(({ clusters }) => clusters)).toEqual([['pulled']]);
    expect([report?.rollUp.reason, report?.clusters, statesOf(report)]).toEqual(['InProgress', ['pulled', 'idle'], states]);
  });

  test('a cluster that is to be tried again keeps its failure until the plan is valid', () => {
    const states = { pulled: 'Succeeded', failed: 'UnrecoverableError' } as const;
    const { jobs } = createJobs();
    const report = jobs.precache(upgradeOf(states, { [Annotation.retryAt]: 't' }), refusedBy('ClusterNotFound'), PASS);
    expect([report?.rollUp.reason, statesOf(report), report?.retries]).toEqual(['PartiallyDone', states, {}]);
  });
});

let hub: MemoryHub;
beforeEach(() => {
  hub = new MemoryHub();
});
afterEach(() => hub.stop());

test.each<{ name: string; pins?: 'runtime'; asked?: boolean; completedAt?: string; keeps?: boolean; want: readonly string[] }>([
  { name: 'every cluster that has begun', pins: 'runtime', want: ['failed', 'good'] },
  { name: 'no failed one whose job is kept for its users', pins: 'runtime', keeps: true, want: ['good'] },
  { name: 'none of an upgrade without pins', want: [] },
  { name: 'none again when a completed upgrade is deleted', pins: 'runtime', asked: true, completedAt: '2026-01-01T00:00:00Z', want: [] },
  {
    name: 'every cluster of one that was ended by a hub which knew no pins, and whose status has lost them',
    asked: true,
    completedAt: '2026-01-01T00:00:00Z',
    want: ['failed', 'good'],
  },
  { name: 'none of such a one whose pins have ended by themselves', asked: true, completedAt: '2025-12-01T00:00:00Z', want: [] },
])('the end of an upgrade owes its pins to $name', async ({ pins, asked = false, completedAt, keeps = false, want }) => {
  const { client, caches } = await hub.process();
  for (const name of ['good', 'failed', 'waiting']) hub.put(ManagedCluster, { metadata: { name } });
  await settled(() => expect(caches.clusters.size).toBe(3));
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns', uid: 'abc-1', ...(asked && { annotations: { [Annotation.pins]: 'runtime' } }) },
    spec: {
      remediationStrategy: { maxConcurrency: 1 },
      preCaching: true,
      ...(keeps && { actions: { afterCompletion: { deleteObjects: false } } }),
    },
    status: {
      status: { completedAt },
      precaching: {
        spec: {},
        status: { good: 'Succeeded', failed: 'PrecacheTimeout', waiting: 'NotStarted', gone: 'Succeeded' },
        ...(pins && { pins }),
      },
    },
  });
  const deps = {
    client,
    caches,
    now: () => Date.parse('2026-01-02T00:00:00Z'),
    signal: new AbortController().signal,
    precaching: { jobs: { job: createPrecacheJob(settings) }, settings },
  };
  const jobs = new UpgradeJobs(deps as never);
  await jobs.owePins(upgrade);
  await jobs.owePins(upgrade);
  expect(hub.writes.toSorted()).toEqual(want.map((name) => `patch managedclusters ${name}`));
  for (const name of want)
    expect(hub.get(ManagedCluster, { name })?.metadata.annotations).toEqual({ 'pins.flotilla.io/abc-1': 'registry.test/puller:1' });
});

test('the leader judges by the rules of the PreCachingConfig that the steps follow', () => {
  const annotations = { 'flotilla.io/absent-nodes': 'fail', 'flotilla.io/bandwidth': '1Mi' };
  const config = PreCachingConfig.schema.parse({ metadata: { name: 'config', namespace: 'ns', annotations }, spec: {} });
  const job = createPrecacheJob(settings, { get: () => config });
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns', uid: 'uid' },
    spec: { remediationStrategy: { maxConcurrency: 1 }, preCaching: true, preCachingConfigRef: { name: 'config' } },
  });
  const { jobs, asked } = createJobs({ job });
  const spec = { platformImage: 'registry.test/release:1' };
  const plan = { selection: { clusters: ['a'] }, precaching: { spec }, precachingClusters: ['a'] } as never;
  jobs.precache(upgrade, plan, PASS);
  const stored = { ...upgrade, status: { status: {}, precaching: { spec, status: {} } } } as ClusterGroupUpgrade;
  expect(asked[0]?.inputs.nodes?.rules?.absent).toBe('fail');
  expect(asked.map(({ inputs }) => inputs)).toEqual([{ ...job.inputsIn(stored), retries: {}, proofs: undefined }]);
});

test('what the status says of clusters goes with each request, so that a new leader keeps it', () => {
  const said = { failed: '401 Unauthorized' };
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns', uid: 'uid' },
    spec: { remediationStrategy: { maxConcurrency: 1 }, preCaching: true, backup: true },
    status: {
      precaching: { spec: {}, status: { failed: 'UnrecoverableError' }, messages: said },
      backup: { status: { failed: 'UnrecoverableError' }, messages: said },
    },
  });
  const { jobs, asked } = createJobs();
  const plan = { selection: { clusters: ['failed'] }, precaching: { spec: {} }, precachingClusters: ['failed'] } as never;
  jobs.precache(upgrade, plan, PASS);
  jobs.backUp(upgrade, { enabled: false, wantsBackup: true, planned: ['failed'], blocking: {}, upgrade } as never, PASS.sightings);
  expect(asked.map((request) => request.said)).toEqual([said, said]);
});

test.each([
  {
    name: 'alone while a blocking upgrade that filters clusters is gone',
    eligible: [],
    first: { name: 'gone', namespace: 'ns' },
    want: ['a'],
  },
  { name: 'with those that the blocking upgrades let pass', eligible: ['a', 'b'], first: undefined, want: ['a', 'b'] },
])('a backup that has begun goes on $name', ({ eligible, first, want }) => {
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns', uid: 'uid' },
    spec: { remediationStrategy: { maxConcurrency: 1 }, backup: true },
    status: { backup: { status: { a: 'PreparingToStart' } } },
  });
  const { jobs, asked } = createJobs();
  const blocking = { missing: first ? [first.name] : [], incomplete: [], stalled: [], first, eligible: new Set(eligible) };
  const report = jobs.backUp(upgrade, { ...openGates, upgrade, wantsBackup: true, planned: ['a', 'b', 'c'], blocking }, PASS.sightings);
  expect([asked.map(({ clusters }) => clusters), report?.rollUp.reason]).toEqual([[want], 'InProgress']);
});
