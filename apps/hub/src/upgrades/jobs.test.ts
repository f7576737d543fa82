import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
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

test('after a restart in mid-rollout a spoke that was tried again is cleaned: its inputs are those that are stored', () => {
  const job = createPrecacheJob(settings);
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns', uid: 'uid' },
    spec: { remediationStrategy: { maxConcurrency: 1 }, preCaching: true },
    status: { precaching: { spec: { platformImage: 'registry.test/release:1' }, status: { again: 'Succeeded' }, retries: { again: 1 } } },
  });
  const requested: PrecacheInputs[] = [];
  const engine = {
    job,
    run: () => undefined,
    hasHubObjects: () => true,
    request: ({ inputs }: { inputs: PrecacheInputs }) => requested.push(inputs),
  };
  const jobs = new UpgradeJobs({ precaching: { jobs: engine, settings }, backup: { jobs: engine, settings } } as never);
  jobs.resumeCleaning(upgrade);
  const [inputs = expect.fail('nothing is requested')] = requested;
  expect(job.digest?.(inputs, 'again')).toBe(job.digest?.(job.inputsIn(upgrade) ?? expect.fail('no inputs'), 'again'));
});

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
