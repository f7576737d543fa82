import { join } from 'node:path';
import { ClusterRole } from '@flotilla/api/core';
import { SpokeName } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { type Client, createClient } from '@flotilla/runtime';
import { describe, expect, test } from 'vitest';
import { precachePod } from '../fixtures/precache-pod.ts';
import { eachAttempt } from '../integration/world.ts';
import { CHARTS, type ChartHub, NAMESPACE, SERVICE_ACCOUNT, startChartHub } from './chart-hub.ts';

const AGENT = `system:serviceaccount:${NAMESPACE}:agent-flotilla-spoke`;
const PEOPLE = ['viewer', 'operator', 'administrator'] as const;

// One server as hub and as spoke: who may do what is the same on two.
let world: ChartHub;
let admin: Client;

eachAttempt(
  async () => {
    const users = [{ name: AGENT, groups: SERVICE_ACCOUNT }, ...PEOPLE.map((name) => ({ name, groups: ['system:authenticated'] }))];
    world = await startChartHub({ values: ['standalone=true'], apiServer: { users } });
    admin = await world.server.client();
    for (const name of ['apps', 'other', SpokeName.namespace])
      await admin.request('POST', '/api/v1/namespaces', { body: { metadata: { name } } });
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'create', 'patch', 'delete'] }];
    const values = [
      '--set',
      'clusterName=spoke-1,hub.kubeconfigSecret=hub,works.namespaces={apps},works.precache=true,image.repository=registry.example.com/flotilla/spoke-agent',
      '--set-json',
    ];
    await world.runHelm(['install', 'agent', join(CHARTS, 'spoke'), '-n', NAMESPACE, ...values, `works.rules=${JSON.stringify(rules)}`]);
  },
  async () => {
    await world?.[Symbol.asyncDispose]();
  },
);

/** What comes of a write that is not carried out. */
async function attempt(client: Client, method: string, path: string, body: unknown): Promise<string> {
  try {
    await client.request(method, `${path}?dryRun=All`, { body });
    return 'allowed';
  } catch (error) {
    return /forbidden/i.test(String(error)) ? 'forbidden' : String(error);
  }
}

describe('what works may do on a spoke', () => {
  const configMaps = (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps`;
  const body = { metadata: { name: 'x' } };
  const agentAs = async (actAs?: string) =>
    createClient({ kubeconfigPath: await world.server.kubeconfigFor(AGENT), ...(actAs && { actAs }) });
  const works = `${AGENT}-works`;

  test.each([
    { name: 'the agent may in a namespace of the works, as the account of works', actAs: works, namespace: 'apps', want: 'allowed' },
    { name: 'the agent may not there as itself: actions have no rights of works', actAs: undefined, namespace: 'apps', want: 'forbidden' },
    { name: 'works may not in another namespace', actAs: works, namespace: 'other', want: 'forbidden' },
    {
      name: 'the agent may not act as another account',
      actAs: `system:serviceaccount:${NAMESPACE}:default`,
      namespace: 'apps',
      want: 'forbidden',
    },
    { name: 'the agent may not act as a person', actAs: 'admin', namespace: 'apps', want: 'forbidden' },
  ])('$name', async ({ actAs, namespace, want }) => {
    const client = await agentAs(actAs);
    try {
      await eventually(async () => (await attempt(client, 'POST', configMaps(namespace), body)) === want);
    } finally {
      await client.close();
    }
  });
});

describe('pre-caching by a work', () => {
  const worksClient = async () => createClient({ kubeconfigPath: await world.server.kubeconfigFor(AGENT), actAs: `${AGENT}-works` });
  const jobOf = (name: string, image: string) => ({
    metadata: { name },
    spec: { backoffLimit: 0, template: { spec: precachePod(image) } },
  });
  const OURS = 'registry.example.com/flotilla/image-puller:1';
  const jobs = (namespace: string) => `/apis/batch/v1/namespaces/${namespace}/jobs`;
  const { namespace, job } = SpokeName;

  test.each([
    { name: 'its Job', path: jobs(namespace), body: jobOf(job, OURS), want: 'allowed' },
    { name: 'a Job of another name', path: jobs(namespace), body: jobOf('x', OURS), want: 'forbidden' },
    { name: 'a Job of a foreign image', path: jobs(namespace), body: jobOf(job, 'registry.test/x:1'), want: 'forbidden' },
    { name: 'its Job in another namespace', path: jobs('other'), body: jobOf(job, OURS), want: 'forbidden' },
    {
      name: 'what other works may hold, where they may',
      path: '/api/v1/namespaces/apps/configmaps',
      body: { metadata: { name: 'x' } },
      want: 'allowed',
    },
    { name: 'another namespace', path: '/api/v1/namespaces', body: { metadata: { name: 'x' } }, want: 'forbidden' },
  ])('$name: $want', async ({ path, body, want }) => {
    const client = await worksClient();
    try {
      await eventually(async () => (await attempt(client, 'POST', path, body)) === want);
    } finally {
      await client.close();
    }
  });
});

describe('roles for people', () => {
  const upgrades = '/apis/ran.openshift.io/v1alpha1/namespaces/apps/clustergroupupgrades';
  const configs = '/apis/ran.openshift.io/v1alpha1/namespaces/apps/precachingconfigs';
  const upgrade = {
    apiVersion: 'ran.openshift.io/v1alpha1',
    kind: 'ClusterGroupUpgrade',
    metadata: { name: 'x' },
    spec: { remediationStrategy: { maxConcurrency: 1 } },
  };
  const config = { apiVersion: 'ran.openshift.io/v1alpha1', kind: 'PreCachingConfig', metadata: { name: 'x' }, spec: {} };
  const role = { viewer: 'view', operator: 'operate', administrator: 'administrate' } as const;

  eachAttempt(async () => {
    for (const name of PEOPLE)
      await admin.request('POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/apps/rolebindings', {
        body: {
          metadata: { name },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `hub-flotilla-hub-${role[name]}` },
          subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }],
        },
      });
  });

  test.each([
    { who: 'viewer', creates: 'forbidden', configures: 'forbidden' },
    { who: 'operator', creates: 'allowed', configures: 'forbidden' },
    { who: 'administrator', creates: 'allowed', configures: 'allowed' },
  ] as const)('a $who reads upgrades; creating one is $creates, a PreCachingConfig $configures', async ({ who, creates, configures }) => {
    const client = await world.server.client(who);
    await eventually(async () => (await client.request('GET', upgrades)) !== undefined);
    expect(await attempt(client, 'POST', upgrades, upgrade)).toBe(creates);
    expect(await attempt(client, 'POST', configs, config)).toBe(configures);
    // In the one namespace alone.
    expect(await attempt(client, 'POST', upgrades.replace('/apps/', '/other/'), upgrade)).toBe('forbidden');
  });

  test("only reading is added to Kubernetes' own roles", async () => {
    const labelled = [];
    for (const name of Object.values(role)) {
      const found = await admin.get(ClusterRole, { name: `hub-flotilla-hub-${name}` });
      if (Object.keys(found?.metadata.labels ?? {}).some((key) => key.includes('aggregate-to'))) labelled.push(name);
    }
    expect(labelled).toEqual(['view']);
  });
});
