import { ClusterGroupUpgrade, PreCachingConfig } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { createPrecacheJob, progressPace } from './job.ts';
import type { PrecacheSettings } from './settings.ts';

test.each([
  { clusters: 1, want: 5 },
  { clusters: 125, want: 5 },
  { clusters: 126, want: 10 },
  { clusters: 500, want: 20 },
  { clusters: 2000, want: 80 },
  { clusters: 1990, want: 80 },
  { clusters: 5000, want: 320 },
])('a spoke of $clusters reports every $want s: twenty-five a second at most', ({ clusters, want }) => {
  expect(progressPace(5, clusters)).toBe(want);
  expect(clusters / progressPace(5, clusters)).toBeLessThanOrEqual(25);
});

const settings: PrecacheSettings = {
  image: 'registry.test/puller:1',
  profile: 'least-privilege',
  imageAllow: [],
  variables: {},
  caBundle: '',
  jobViewSeconds: 5,
  progressViewSeconds: 5,
  graceMs: 0,
};

/** Plans the workload of an upgrade whose PreCachingConfig has these annotations. */
function workloadWith(annotations: Record<string, string>, talmStrict = false) {
  const config = PreCachingConfig.schema.parse({ metadata: { name: 'config', namespace: 'ns', annotations } });
  const job = createPrecacheJob({ ...settings, talmStrict }, { get: () => config });
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns' },
    spec: { remediationStrategy: { maxConcurrency: 1 }, preCaching: true, preCachingConfigRef: { name: 'config' } },
    status: { precaching: { spec: { platformImage: 'registry.test/release:1' } } },
  });
  const inputs = job.inputsIn(upgrade) ?? expect.fail('no inputs');
  return job.workload(inputs, { upgradeUid: 'uid', managed: undefined, clusters: 1 });
}

test.each<{ name: string; annotations: Record<string, string>; talmStrict: boolean; has: boolean }>([
  { name: 'the cap of the PreCachingConfig', annotations: { 'flotilla.io/bandwidth': '2000000' }, talmStrict: false, has: true },
  { name: 'no cap without the annotation', annotations: {}, talmStrict: false, has: false },
  { name: 'no cap where the hub follows the reference', annotations: { 'flotilla.io/bandwidth': '2000000' }, talmStrict: true, has: false },
])('the puller gets $name', ({ annotations, talmStrict, has }) => {
  const workload = workloadWith(annotations, talmStrict);
  expect(workload.problem).toBeUndefined();
  const manifests = JSON.stringify(workload.manifests());
  expect(manifests.includes('{"name":"BANDWIDTH","value":"2000000"}')).toBe(has);
  expect(manifests.includes('BANDWIDTH')).toBe(has);
});

test('a cap that cannot be read holds the spoke instead of being left out', () => {
  expect(workloadWith({ 'flotilla.io/bandwidth': 'fast' }).problem).toContain('flotilla.io/bandwidth is "fast"; write bytes a second');
});
