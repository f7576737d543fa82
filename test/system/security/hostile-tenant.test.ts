import { findCondition } from '@flotilla/api';
import { Namespace, RoleBinding } from '@flotilla/api/core';
import {
  CLUSTER_SET_LABEL,
  clusterSetCrds,
  ManagedCluster,
  ManagedClusterAction,
  ManagedClusterSet,
  ManagedClusterSetBinding,
  ManagedClusterView,
  ManifestWork,
  Placement,
  PlacementBinding,
  Policy,
  transportCrds,
} from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, PreCachingConfig } from '@flotilla/api/ran';
import { policyCrds } from '@flotilla/api/testing';
import {
  type PolicyPropagator,
  registerSpokes,
  type SimulatedSpokes,
  startPolicyPropagator,
  startSimulatedSpokes,
} from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import { ApiError, type Client } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { placePolicy } from '../../fixtures/placed-policies.ts';
import { eachAttempt, PLATFORM, PULLER } from '../../integration/world.ts';
import type { RunningProgram } from '../../support/programs.ts';
import { type ChartHub, startChartHub } from '../chart-hub.ts';

const TENANT = 'blue-administrator';
/** The API server itself takes long over the largest of these objects. */
const VERDICT_MS = 60_000;
/** A pass that blocks the hub longer than this is one that a tenant can hold it up by. The machine may be busy. */
const MOST_SILENT_MS = 5000;

let world: ChartHub;
let admin: Client;
/** With the rights that the chart's ClusterRole gives in namespace `blue`. */
let tenant: Client;
let spokes: SimulatedSpokes;
let propagator: PolicyPropagator;
let hub: RunningProgram;
let url: string;

eachAttempt(
  async () => {
    world = await startChartHub({
      values: ['tenancy=true'],
      apiServer: {
        users: [{ name: TENANT, groups: ['system:authenticated'] }],
        crds: [...transportCrds(), ...clusterSetCrds(), ...policyCrds()],
      },
    });
    admin = await world.server.client();
    tenant = await world.server.client(TENANT);
    const teams = ['blue', 'red'];
    const clusters = teams.map((team) => `${team}-1`);
    await registerSpokes(admin, clusters);
    for (const team of teams) {
      await admin.patch(ManagedCluster, { name: `${team}-1` }, { metadata: { labels: { [CLUSTER_SET_LABEL]: team } } }, { type: 'merge' });
      await admin.create(Namespace, { metadata: { name: team } });
      await admin.create(ManagedClusterSet, { metadata: { name: team } });
      await admin.create(ManagedClusterSetBinding, { metadata: { namespace: team, name: team }, spec: { clusterSet: team } });
      await admin.create(PreCachingConfig, {
        metadata: { namespace: team, name: 'config' },
        spec: { overrides: { platformImage: PLATFORM } },
      });
    }
    await admin.create(RoleBinding, {
      metadata: { namespace: 'blue', name: 'administrate' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'hub-flotilla-hub-administrate' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: TENANT }],
    });
    const job = { seconds: 0.5, jitter: 0, startupMs: 200 };
    spokes = await startSimulatedSpokes({ client: admin, names: clusters, seed: 1, job, namespaceDeletionMs: 300 });
    propagator = await startPolicyPropagator({ client: admin, seed: 1, compliance: { seconds: 0.3, jitter: 0 } });
    await placePolicy(admin, 'own', { namespace: 'blue', clusters: ['blue-1'] });
    await placePolicy(admin, 'foreign', { namespace: 'red', clusters });
    hub = await world.startHub(['--tenancy', '--precache-image', PULLER, '--job-view-seconds', '1']);
    const port = /"port":(\d+)/.exec(await hub.output())?.[1];
    url = `http://127.0.0.1:${port}/healthz`;
  },
  async () => {
    await propagator?.stop();
    await spokes?.stop();
    await world?.[Symbol.asyncDispose]();
  },
);

const strategy = { maxConcurrency: 1, timeout: 240 };
const config = (name: string, spec: Record<string, unknown>) =>
  tenant.create(PreCachingConfig, { metadata: { namespace: 'blue', name }, spec });

/** Creates the upgrade as the tenant. */
const upgrade = (name: string, spec: Record<string, unknown>) =>
  tenant.create(ClusterGroupUpgrade, { metadata: { namespace: 'blue', name }, spec: { remediationStrategy: strategy, ...spec } });

/** The server's refusal of what is attempted, or all conditions of the upgrade that are False for a reason of its own. */
async function answerTo(name: string, attempt: () => Promise<unknown>, want: RegExp): Promise<string> {
  try {
    await attempt();
  } catch (error) {
    if (error instanceof ApiError) return `refused: ${error.message}`;
    throw error;
  }
  let said = '';
  await eventually(
    async () => {
      const conditions = (await admin.get(ClusterGroupUpgrade, { namespace: 'blue', name }))?.status?.conditions ?? [];
      said = conditions.map(({ type, status, reason, message }) => `${type}=${status}/${reason}: ${message}`).join('\n');
      return want.test(said);
    },
    `an answer like ${want}`,
    VERDICT_MS,
  ).catch(() => undefined);
  return said;
}

/** How long the hub's slowest answer to `/healthz` took while this was done, milliseconds. */
async function slowestAnswerDuring(work: () => Promise<unknown>): Promise<number> {
  const worked = { done: false };
  let slowest = 0;
  const asking = (async () => {
    do {
      const since = performance.now();
      const answer = await fetch(url, { signal: AbortSignal.timeout(30_000) });
      expect(answer.status).toBe(200);
      slowest = Math.max(slowest, performance.now() - since);
      await new Promise((resolve) => setTimeout(resolve, 50));
    } while (!worked.done);
  })();
  try {
    await work();
  } finally {
    worked.done = true;
  }
  await asking;
  return slowest;
}

const own = { clusters: ['blue-1'], managedPolicies: ['own'] };
const DIGITS = '9'.repeat(64_000);
const MANY = 40_000;
const edits = (key: string) => ({ ...own, actions: { beforeEnable: { addClusterAnnotations: { [key]: '/' } } } });
const cases: { name: string; attempt: (name: string) => Promise<unknown>; want: RegExp }[] = [
  {
    name: 'foreign-cluster',
    attempt: (name) =>
      upgrade(name, { clusters: ['blue-1', 'red-1'], preCaching: true, preCachingConfigRef: { name: 'config' }, enable: false }),
    want: /ClustersSelected=False\/ClusterNotBound: .*cluster red-1 is in no cluster set that is bound to namespace blue; .*ManagedClusterSetBinding/,
  },
  {
    name: 'nobodys-cluster',
    attempt: (name) => upgrade(name, { ...own, clusters: ['nobody'] }),
    want: /ClusterNotBound: .*cluster nobody is in no cluster set that is bound to namespace blue/,
  },
  {
    name: 'foreign-policy',
    attempt: (name) => upgrade(name, { ...own, managedPolicies: ['foreign'] }),
    want: /Validated=False\/NotAllManagedPoliciesExist: Missing managed policies: \[foreign\] in namespace blue; .*spec\.managedPolicies/,
  },
  {
    name: 'foreign-config',
    attempt: (name) => upgrade(name, { ...own, preCaching: true, preCachingConfigRef: { name: 'config', namespace: 'red' } }),
    want: /Validated=False\/ForeignPreCachingConfig: spec\.preCachingConfigRef\.namespace is "red"/,
  },
  {
    name: 'foreign-image',
    attempt: async (name) => {
      await config(name, { overrides: { platformImage: PLATFORM, preCacheImage: 'evil.test/root:1' } });
      await upgrade(name, { ...own, preCaching: true, preCachingConfigRef: { name } });
    },
    want: /overrides\.preCacheImage "evil\.test\/root:1" is not allowed/,
  },
  {
    name: 'runtime-storage',
    attempt: (name) => upgrade(name, edits('flotilla.io/runtime-storage')),
    want: /spec\.actions\.beforeEnable\.addClusterAnnotations: key "flotilla\.io\/runtime-storage" may not be edited/,
  },
  {
    name: 'own-set',
    attempt: (name) => upgrade(name, { ...own, actions: { beforeEnable: { addClusterLabels: { [CLUSTER_SET_LABEL]: 'red' } } } }),
    want: /spec\.actions\.beforeEnable\.addClusterLabels: key "cluster\.open-cluster-management\.io\/clusterset" may not be edited/,
  },
  {
    name: 'space-required',
    attempt: async (name) => {
      await config(name, { overrides: { platformImage: PLATFORM }, spaceRequired: `${DIGITS} GiB` });
      await upgrade(name, { ...own, preCaching: true, preCachingConfigRef: { name } });
    },
    want: /spaceRequired/,
  },
  {
    name: 'label-selectors',
    attempt: (name) => {
      const selectors: Record<string, unknown>[] = Array.from({ length: MANY / 4 }, () => ({ matchLabels: { a: '' } }));
      const last = { matchExpressions: [{ key: 'a', operator: 'Near' }] };
      return upgrade(name, { managedPolicies: ['own'], clusterLabelSelectors: [...selectors, last] });
    },
    want: /spec\.clusterLabelSelectors/,
  },
];

test.each(cases)('$name is refused, or ends in a condition that names the field, and the hub answers meanwhile', async (each) => {
  let answer = '';
  const slowest = await slowestAnswerDuring(async () => {
    answer = await answerTo(each.name, () => each.attempt(each.name), each.want);
  });
  expect(answer.slice(0, 2000)).toMatch(each.want);
  expect(slowest).toBeLessThan(MOST_SILENT_MS);
});

test('selectors, however many, select of the tenant’s own alone', async () => {
  const slowest = await slowestAnswerDuring(async () => {
    const clusterSelector = [...Array.from({ length: MANY }, () => 'a=b'), 'name=red-1', `${CLUSTER_SET_LABEL}=red`];
    const create = upgrade('selectors', { clusterSelector, clusterLabelSelectors: [{}], managedPolicies: ['own'], enable: false });
    const refusal = await create.then(
      () => undefined,
      (error: unknown) => error,
    );
    if (refusal) return expect(refusal).toMatchObject({ message: expect.stringContaining('spec.clusterSelector') });
    const plan = async () => (await admin.get(ClusterGroupUpgrade, { namespace: 'blue', name: 'selectors' }))?.status?.remediationPlan;
    await eventually(async () => (await plan()) !== undefined, 'a plan', VERDICT_MS);
    expect(await plan()).toEqual([['blue-1']]);
  });
  expect(slowest).toBeLessThan(MOST_SILENT_MS);
});

/** A policy of ten raw templates that a parser of YAML takes long for, of so many characters together. */
const slowPolicy = (characters: number) => {
  const raw = '- !a b\n'.repeat(characters / 70);
  const spec = { 'object-templates-raw': raw };
  const objectDefinition = {
    apiVersion: 'policy.open-cluster-management.io/v1',
    kind: 'ConfigurationPolicy',
    metadata: { name: 'slow' },
    spec,
  };
  return {
    clusters: ['blue-1'],
    namespace: 'blue',
    spec: { 'policy-templates': Array.from({ length: 10 }, () => ({ objectDefinition })) },
  };
};

test.each([
  { name: 'huge', characters: 1_200_000 },
  { name: 'slow', characters: 250_000 },
])('three $name policies keep the hub from nobody, and from nothing when their status changes', async ({ name, characters }) => {
  const want = /Validated=True/;
  const names = [0, 1, 2].map((i) => `${name}-${i}`);
  const slowest = await slowestAnswerDuring(async () => {
    for (const each of names) await placePolicy(admin, each, slowPolicy(characters));
    const attempt = () => upgrade(name, { clusters: ['blue-1'], managedPolicies: names, enable: false });
    expect((await answerTo(name, attempt, want)).slice(0, 2000)).toMatch(want);
    for (let round = 0; round < 10; round++)
      for (const each of names) {
        const status = {
          status: [{ clustername: 'blue-1', clusternamespace: 'blue-1', compliant: round % 2 ? 'NonCompliant' : 'Pending' }],
        };
        await admin.patch(Policy, { namespace: 'blue', name: each }, { status }, { type: 'merge', subresource: 'status' });
      }
  });
  expect(slowest).toBeLessThan(MOST_SILENT_MS);
  for (const each of names) await admin.delete(PlacementBinding, { namespace: 'blue', name: each });
});

test('a tenant may bind no set, edit no cluster and write no status', async () => {
  const binding = { metadata: { namespace: 'blue', name: 'red' }, spec: { clusterSet: 'red' } };
  await expect(tenant.create(ManagedClusterSetBinding, binding)).rejects.toMatchObject({ status: 403 });
  const label = { metadata: { labels: { [CLUSTER_SET_LABEL]: 'blue' } } };
  await expect(tenant.patch(ManagedCluster, { name: 'red-1' }, label, { type: 'merge' })).rejects.toMatchObject({ status: 403 });
  const ref = { namespace: 'blue', name: 'foreign-cluster' };
  const status = { status: { remediationPlan: [['red-1']] } };
  await expect(tenant.patch(ClusterGroupUpgrade, ref, status, { type: 'merge', subresource: 'status' })).rejects.toMatchObject({
    status: 403,
  });
});

test('an honest upgrade of the own cluster pre-caches and goes through', async () => {
  await upgrade('honest', { ...own, preCaching: true, preCachingConfigRef: { name: 'config' } });
  const read = () => admin.get(ClusterGroupUpgrade, { namespace: 'blue', name: 'honest' });
  await eventually(async () => findCondition((await read())?.status?.conditions, 'Succeeded') !== undefined, 'a verdict', 90_000).catch(
    async (cause: unknown) => {
      throw new Error(JSON.stringify((await read())?.status), { cause });
    },
  );
  expect(findCondition((await read())?.status?.conditions, 'Succeeded')).toMatchObject({ status: 'True' });
  expect(spokes.jobsCreated('blue-1')).toHaveLength(1);
});

test("when a cluster is bound, the upgrade that waits for it goes on; until then nothing was done to the other tenant's", async () => {
  for (const kind of [ManagedClusterAction, ManagedClusterView, ManifestWork])
    expect((await admin.list(kind, { namespace: 'red-1' })).items).toEqual([]);
  expect(spokes.events('red-1')).toEqual([]);
  const placements = (await admin.list(Placement, { namespace: 'red' })).items.map(({ metadata }) => metadata.name);
  expect(placements).toEqual(['foreign']);
  expect((await admin.get(ManagedCluster, { name: 'blue-1' }))?.metadata.annotations ?? {}).not.toHaveProperty(
    'flotilla.io/runtime-storage',
  );
  expect(hub.hasExited()).toBe(false);

  await admin.create(ManagedClusterSetBinding, { metadata: { namespace: 'blue', name: 'red' }, spec: { clusterSet: 'red' } });
  const selected = async () => {
    const found = await admin.get(ClusterGroupUpgrade, { namespace: 'blue', name: 'foreign-cluster' });
    return findCondition(found?.status?.conditions, 'ClustersSelected')?.status === 'True';
  };
  await eventually(selected, 'the cluster to be selected', VERDICT_MS);
  await eventually(() => spokes.jobsCreated('red-1').length === 1, 'the cluster to be pre-cached', VERDICT_MS);
});
