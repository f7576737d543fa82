import { Annotation } from '@flotilla/api';
import { ManagedCluster, ManagedClusterAction } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, PreCachingConfig } from '@flotilla/api/ran';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { MemoryHub } from '../../testing/memory-hub.ts';
import { createPrecacheJob, type PrecacheInputs } from '../spoke-jobs/kinds/precache/job.ts';
import { UpgradeJobs } from './jobs.ts';

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

test('a pause reaches pulls that run also while the plan is refused', () => {
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns', uid: 'uid', annotations: { 'flotilla.io/paused': 'stop' } },
    spec: { remediationStrategy: { maxConcurrency: 1 }, preCaching: true },
    status: { precaching: { spec: {}, status: { a: 'Active' } } },
  });
  const existing = { request: { clusters: ['a'], inputs: {} }, spokes: new Map() };
  const paused: unknown[] = [];
  const engine = {
    run: () => existing,
    request: (request: { paused?: { stops: boolean } }) => {
      paused.push(request.paused?.stops);
      return existing;
    },
  };
  const jobs = new UpgradeJobs({ precaching: { jobs: engine, settings }, backup: { jobs: engine, settings } } as never);
  jobs.precache(upgrade, upgrade.spec ?? expect.fail('no spec'), {
    selection: { clusters: [] },
    stopped: 'validation',
    precachingClusters: [],
  } as never);
  expect(paused).toEqual([true]);
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
  await vi.waitFor(() => expect(caches.clusters.size).toBe(3));
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
  const requested: PrecacheInputs[] = [];
  const engine = {
    job,
    run: () => undefined,
    hasHubObjects: () => false,
    request: (request: { inputs: PrecacheInputs }) => void requested.push(request.inputs),
  };
  const jobs = new UpgradeJobs({ precaching: { jobs: engine, settings }, backup: { jobs: engine, settings } } as never);
  const spec = { platformImage: 'registry.test/release:1' };
  jobs.precache(upgrade, upgrade.spec ?? expect.fail('no spec'), {
    selection: { clusters: ['a'] },
    precaching: { spec },
    precachingClusters: ['a'],
  } as never);
  const stored = { ...upgrade, status: { status: {}, precaching: { spec, status: {} } } } as ClusterGroupUpgrade;
  expect(requested[0]?.nodes?.rules?.absent).toBe('fail');
  expect(requested).toEqual([{ ...job.inputsIn(stored), retries: {}, proofs: undefined }]);
});

test('what the status says of clusters goes with each request, so that a new leader keeps it', () => {
  const said = { failed: '401 Unauthorized' };
  const job = createPrecacheJob(settings);
  const asked: unknown[] = [];
  const run = { spokes: new Map(), request: { clusters: ['failed'], inputs: {} } };
  const engine = {
    job: { ...job, machine: job.machine },
    run: () => undefined,
    hasHubObjects: () => false,
    request: (request: { said?: unknown }) => {
      asked.push(request.said);
      return run;
    },
  };
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns', uid: 'uid' },
    spec: { remediationStrategy: { maxConcurrency: 1 }, preCaching: true, backup: true },
    status: {
      precaching: { spec: {}, status: { failed: 'UnrecoverableError' }, messages: said },
      backup: { status: { failed: 'UnrecoverableError' }, messages: said },
    },
  });
  const jobs = new UpgradeJobs({
    precaching: { jobs: engine, settings },
    backup: { jobs: engine, settings: { image: 'registry.test/recovery:1' } },
  } as never);
  jobs.precache(upgrade, upgrade.spec ?? expect.fail('no spec'), {
    selection: { clusters: ['failed'] },
    precaching: { spec: {} },
    precachingClusters: ['failed'],
  } as never);
  jobs.backUp(upgrade, { enabled: false, wantsBackup: true, planned: ['failed'], blocking: {} } as never);
  expect(asked).toEqual([said, said]);
});

test.each([
  { name: 'was cleaned at its end asks no spoke again', deleteObjects: undefined, completedAt: '2026-01-01T00:00:00Z', want: [] },
  { name: 'kept its objects asks its spokes', deleteObjects: false, completedAt: '2026-01-01T00:00:00Z', want: ['precache-ns-delete'] },
  { name: 'is deleted before its end asks its spokes', deleteObjects: undefined, completedAt: undefined, want: ['precache-ns-delete'] },
])('the deletion of an upgrade that $name', async ({ deleteObjects, completedAt, want }) => {
  const { client, caches } = await hub.process();
  hub.put(ManagedCluster, { metadata: { name: 'failed' } });
  await vi.waitFor(() => expect(caches.clusters.size).toBe(1));
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns', uid: 'abc-1', deletionTimestamp: '2026-01-02T00:00:00Z' },
    spec: {
      clusters: ['failed'],
      remediationStrategy: { maxConcurrency: 1 },
      preCaching: true,
      actions: { afterCompletion: { deleteObjects } },
    },
    status: { status: { completedAt }, precaching: { spec: {}, status: { failed: 'UnrecoverableError' } } },
  });
  const ended = { end: () => Promise.resolve() };
  const deps = {
    client,
    caches,
    now: Date.now,
    signal: new AbortController().signal,
    precaching: { jobs: ended, settings },
    backup: { jobs: ended, settings },
  };
  const jobs = new UpgradeJobs(deps as never);
  await jobs.tearDown(jobs.teardowns(upgrade), upgrade, false);
  expect(hub.names(ManagedClusterAction)).toEqual(want);
});
