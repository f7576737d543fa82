import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, PreCachingConfig } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import type { PrecacheSettings } from './inputs.ts';
import { createPrecacheJob, progressPace } from './job.ts';

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

/** Plans the workload of an upgrade whose PreCachingConfig has these annotations and this spec. */
function workloadWith(
  annotations: Record<string, string>,
  { talmStrict = false, spec = {}, managed }: { talmStrict?: boolean; spec?: object; managed?: ManagedCluster } = {},
) {
  const config = PreCachingConfig.schema.parse({ metadata: { name: 'config', namespace: 'ns', annotations }, spec });
  const job = createPrecacheJob({ ...settings, talmStrict, imageAllow: ['registry.test/own'] }, { get: () => config });
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns' },
    spec: { remediationStrategy: { maxConcurrency: 1 }, preCaching: true, preCachingConfigRef: { name: 'config' } },
    status: { precaching: { spec: { platformImage: 'registry.test/release:1' } } },
  });
  const inputs = job.inputsIn(upgrade) ?? expect.fail('no inputs');
  return job.workload(inputs, { upgradeUid: 'uid', managed, clusters: 1 });
}

test.each<{ name: string; annotations: Record<string, string>; talmStrict: boolean; has: boolean }>([
  { name: 'the cap of the PreCachingConfig', annotations: { 'flotilla.io/bandwidth': '2000000' }, talmStrict: false, has: true },
  { name: 'no cap without the annotation', annotations: {}, talmStrict: false, has: false },
  { name: 'no cap where the hub follows the reference', annotations: { 'flotilla.io/bandwidth': '2000000' }, talmStrict: true, has: false },
])('the puller gets $name', ({ annotations, talmStrict, has }) => {
  const workload = workloadWith(annotations, { talmStrict });
  expect(workload.problem).toBeUndefined();
  const manifests = JSON.stringify(workload.manifests());
  expect(manifests.includes('{"name":"BANDWIDTH","value":"2000000"}')).toBe(has);
  expect(manifests.includes('BANDWIDTH')).toBe(has);
});

test.each([
  { talmStrict: false, image: 'registry.test/own:2' },
  { talmStrict: true, image: settings.image },
])('the image of a PreCachingConfig counts as far as the reference allows: $image', ({ talmStrict, image }) => {
  const workload = workloadWith({}, { talmStrict, spec: { overrides: { preCacheImage: 'registry.test/own:2' } } });
  expect(JSON.stringify(workload.manifests())).toContain(`"image":"${image}"`);
});

test.each<{ name: string; claims: Record<string, string>; annotations: Record<string, string>; has: boolean }>([
  {
    name: 'a topology that knows no workers',
    claims: { 'controlplanetopology.openshift.io': 'SingleReplica' },
    annotations: {},
    has: false,
  },
  {
    name: 'the same where a PreCachingConfig asks for nodes',
    claims: { 'controlplanetopology.openshift.io': 'SingleReplica' },
    annotations: { 'flotilla.io/absent-nodes': 'fail' },
    has: true,
  },
  {
    name: 'a count of one',
    claims: { 'nodes.flotilla.io': '1 amd64 containerd://2.1.4', 'transports.flotilla.io': 'actions,works,puller-account,node-pullers' },
    annotations: { 'flotilla.io/absent-nodes': 'fail' },
    has: false,
  },
  { name: 'no claim', claims: {}, annotations: {}, has: true },
])('other nodes are asked by $name: $has', ({ claims, annotations, has }) => {
  const clusterClaims = Object.entries(claims).map(([name, value]) => ({ name, value }));
  const managed = ManagedCluster.schema.parse({ metadata: { name: 'a' }, status: { clusterClaims } });
  const manifests = workloadWith(annotations, { managed }).manifests();
  expect(manifests.some(({ template }) => template.kind === 'DaemonSet')).toBe(has);
});

test('a cap that cannot be read holds the spoke instead of being left out', () => {
  expect(workloadWith({ 'flotilla.io/bandwidth': 'fast' }).problem).toContain('flotilla.io/bandwidth is "fast"; write bytes a second');
});

/** Plans the workload of cluster `a` of an upgrade that asks for proofs, whose job is such a one. */
function provingWorkload(kind: 'prove' | 'pull' | undefined, { talmStrict = false, within = '2h' } = {}) {
  const job = createPrecacheJob({ ...settings, talmStrict });
  const proofs = kind && [{ number: 4, kind, at: '2026-01-01T00:00:00Z', clusters: ['a'] }];
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns', annotations: { 'flotilla.io/proof-within': within } },
    spec: { remediationStrategy: { maxConcurrency: 1 }, preCaching: true },
    status: { precaching: { spec: { platformImage: 'registry.test/release:1' }, proofs } },
  });
  const inputs = job.inputsIn(upgrade) ?? expect.fail('no inputs');
  const workload = job.workload(inputs, { upgradeUid: 'uid', managed: undefined, cluster: 'a', clusters: 1 });
  const manifests = workload.manifests();
  return { text: JSON.stringify(manifests), digest: job.digest?.(inputs, 'a'), other: job.digest?.(inputs, 'b'), workload };
}

test('a proof is a job of its own that asks no registry, with a short deadline, beside the record of the pull', () => {
  const pull = provingWorkload(undefined);
  const proof = provingWorkload('prove');
  const record = ['{"name":"RECORD_DIR","value":"/host/var/lib/flotilla/precache"}', '"path":"/var/lib/flotilla"'];
  for (const { text } of [pull, proof]) for (const part of record) expect(text).toContain(part);
  expect(proof.text).toContain('{"name":"MODE","value":"prove"}');
  expect(proof.text).toContain('"activeDeadlineSeconds":900');
  expect(pull.text).not.toContain('MODE');
  expect([pull.digest, proof.digest]).toEqual([proof.other, `${pull.digest}-proof-4`]);
});

test('what is pulled again is a job of its own too, as long as any pull', () => {
  const { text, digest, other } = provingWorkload('pull');
  expect(text).not.toContain('MODE');
  expect(digest).toBe(`${other}-proof-4`);
  expect(text).toContain('"activeDeadlineSeconds":14400');
});

test.each([{ talmStrict: true }, { within: 'soon' }])('without a usable annotation nothing of the node is written: %j', (options) => {
  expect(provingWorkload(undefined, options).text).not.toContain('/var/lib/flotilla');
});

test.each<{ name: string; pins?: string; talmStrict?: boolean; profile?: 'talm'; has: boolean }>([
  { name: 'pins for the upgrade where it asks for them', pins: 'runtime', has: true },
  { name: 'no pins without the annotation', has: false },
  { name: 'no pins by a value that is none', pins: 'true', has: false },
  { name: 'no pins where the hub follows the reference', pins: 'runtime', talmStrict: true, has: false },
  { name: "no pins with the reference's job", pins: 'runtime', profile: 'talm', has: false },
])('the puller makes $name', ({ pins, talmStrict = false, profile, has }) => {
  const job = createPrecacheJob({ ...settings, talmStrict, ...(profile && { profile }) });
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns', ...(pins && { annotations: { 'flotilla.io/pins': pins } }) },
    spec: { remediationStrategy: { maxConcurrency: 1 }, preCaching: true },
    status: { precaching: { spec: {} } },
  });
  const inputs = job.inputsIn(upgrade) ?? expect.fail('no inputs');
  const text = JSON.stringify(job.workload(inputs, { upgradeUid: 'a-uid', managed: undefined, clusters: 1 }).manifests());
  expect(text.split('{"name":"PIN_FOR","value":"a-uid"}')).toHaveLength(has ? 2 : 1);
  expect(text.includes('PIN_FOR')).toBe(has);
});

test('a puller that pins by sets knows the deadline of its Job', () => {
  const job = createPrecacheJob(settings);
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns', annotations: { 'flotilla.io/pins': 'pinned-image-set' } },
    spec: { remediationStrategy: { maxConcurrency: 1, timeout: 10 }, preCaching: true },
    status: { precaching: { spec: {} } },
  });
  const inputs = job.inputsIn(upgrade) ?? expect.fail('no inputs');
  const text = JSON.stringify(job.workload(inputs, { upgradeUid: 'a-uid', managed: undefined, clusters: 1 }).manifests());
  const variables = { PIN_FOR: 'a-uid', PIN_BY: 'pinned-image-set', JOB_SECONDS: '600' };
  for (const [name, value] of Object.entries(variables)) expect(text).toContain(JSON.stringify({ name, value }));
});

test.each<{ name: string; profile?: 'talm'; prove?: true; want: number | undefined }>([
  { name: 'the cap that is handed out now', want: 300_000 },
  { name: "no such cap with the reference's job", profile: 'talm', want: undefined },
  { name: 'no such cap for a proof', prove: true, want: undefined },
])('a puller gets $name, as part of the same job', ({ profile, prove, want }) => {
  const proofs = prove && [{ number: 4, kind: 'prove' as const, at: '2026-01-01T00:00:00Z', clusters: ['a'] }];
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns' },
    spec: { remediationStrategy: { maxConcurrency: 1 }, preCaching: true },
    status: { precaching: { spec: {}, proofs } },
  });
  const digests = [undefined, 300_000].map((cap) => {
    const capOf = (cluster: string, uid: string) => (`${cluster} ${uid}` === 'a uid' ? cap : undefined);
    const job = createPrecacheJob({ ...settings, ...(profile && { profile }) }, undefined, capOf);
    const inputs = job.inputsIn(upgrade) ?? expect.fail('no inputs');
    const { findCap, manifests } = job.workload(inputs, { upgradeUid: 'uid', managed: undefined, cluster: 'a', clusters: 1 });
    if (cap !== undefined) expect(findCap?.()).toBe(want);
    const [namespace, ...others] = manifests();
    return [job.digest?.(inputs, 'a'), namespace, others.find(({ template }) => template.kind === 'Job')];
  });
  expect(digests[1]).toEqual(digests[0]);
});
