import { dirname, resolve } from 'node:path';
import { findCondition, type Resource } from '@flotilla/api';
import { ClusterRole, ClusterRoleBinding, Lease, Namespace, Role, RoleBinding, Secret, ServiceAccount } from '@flotilla/api/core';
import {
  CLUSTER_AVAILABLE,
  ManagedCluster,
  ManagedClusterAction,
  ManagedClusterView,
  ManifestWork,
  WORK_FINALIZER,
} from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { runCommand } from '@flotilla/control-plane/processes';
import { startApiServer } from '@flotilla/control-plane/servers';
import { eventually } from '@flotilla/pace/testing';
import { type Client, createClient } from '@flotilla/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import type { RunningProgram } from '../support/programs.ts';
import { type ChartHub, startChartHub } from './chart-hub.ts';

const CLI = resolve(import.meta.dirname, '../../apps/cli/src/main.ts');
const Printed = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
  data: z.record(z.string(), z.string()).optional(),
});

let world: ChartHub;
let admin: Client;
let hub: RunningProgram;
const clients: Client[] = [];

beforeAll(async () => {
  world = await startChartHub({ values: ['standalone=true'] });
  admin = await world.server.client();
  hub = await world.startHub(['--standalone']);
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await world?.[Symbol.asyncDispose]();
});

/** The documented command. */
const joinArguments = (name: string): string[] => [
  ...['join', '--hub-kubeconfig', world.server.kubeconfig, '--name', name],
  ...['--image', 'registry.test:5000/agent:v2', '--label', 'fleet=edge'],
];
const helmEnvironment = () => ({
  PATH: `${dirname(world.helm)}:/usr/bin:/bin`,
  HELM_CACHE_HOME: world.dir,
  HELM_CONFIG_HOME: world.dir,
  HELM_DATA_HOME: world.dir,
});

/** Runs the command and returns what it printed for the spoke. */
async function join(name: string) {
  const args = ['--disable-warning=ExperimentalWarning', CLI, ...joinArguments(name), '--print'];
  const text = await runCommand(process.execPath, args, { env: helmEnvironment(), timeoutMs: 90_000 });
  return parseAllDocuments(text).flatMap((document) => (document.contents === null ? [] : [Printed.parse(document.toJS())]));
}

/** A client with the credentials that the agent of this spoke gets. */
async function joined(name: string): Promise<Client> {
  const secret = (await join(name)).find(({ kind }) => kind === Secret.kind);
  const client = createClient({ kubeconfig: Buffer.from(secret?.data?.kubeconfig ?? '', 'base64').toString('utf8') });
  clients.push(client);
  return client;
}

const clusterAt = (name: string) => admin.get(ManagedCluster, { name });
async function conditionOf(name: string, type: string): Promise<string | undefined> {
  const found = findCondition((await clusterAt(name))?.status?.conditions, type);
  return found && `${found.status} ${found.reason}`;
}
const taintsOf = async (name: string) =>
  z
    .array(z.looseObject({ key: z.string() }))
    .parse((await clusterAt(name))?.spec?.taints ?? [])
    .map(({ key }) => key);

/** `allowed` also for what is not there; else `forbidden`, `unauthorized` or what went wrong. */
async function attempt(client: Client, method: string, path: string, body?: unknown): Promise<string> {
  try {
    const contentType = method === 'PATCH' ? { contentType: 'application/merge-patch+json' } : {};
    await client.request(method, path, { ...(body !== undefined && { body }), ...contentType });
    return 'allowed';
  } catch (error) {
    const message = String(error);
    if (/not found/i.test(message)) return 'allowed';
    return /unauthorized/i.test(message) ? 'unauthorized' : /forbidden/i.test(message) ? 'forbidden' : message;
  }
}

const actions = (cluster: string) => `/apis/action.open-cluster-management.io/v1beta1/namespaces/${cluster}/managedclusteractions`;
const views = (cluster: string) => `/apis/view.open-cluster-management.io/v1beta1/namespaces/${cluster}/managedclusterviews`;
const works = (cluster: string) => `/apis/work.open-cluster-management.io/v1/namespaces/${cluster}/manifestworks`;
const leases = (cluster: string) => `/apis/coordination.k8s.io/v1/namespaces/${cluster}/leases`;
const managed = '/apis/cluster.open-cluster-management.io/v1/managedclusters';
const emptyOf = ({ apiVersion, kind }: Resource) => ({ apiVersion, kind, metadata: { name: 'x', resourceVersion: '1' } });

test('a dry run of a registration is checked by hub and spoke, says what it would do, and leaves nothing', async () => {
  await using spoke = await startApiServer();
  const spokeAdmin = await spoke.client();
  const rehearse = (...more: string[]) =>
    runCommand(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        CLI,
        ...joinArguments('spoke-9'),
        '--spoke-kubeconfig',
        spoke.kubeconfig,
        '--dry-run',
        ...more,
      ],
      { env: helmEnvironment(), timeoutMs: 90_000 },
    );
  const said = await rehearse();
  for (const part of [
    'Nothing was written',
    '- create ManagedCluster spoke-9',
    '- create namespace flotilla',
    'Secret flotilla/flotilla-hub',
    'helm upgrade --install',
  ])
    expect(said).toContain(part);
  expect(await clusterAt('spoke-9')).toBeUndefined();
  expect(await spokeAdmin.get(Namespace, { name: 'flotilla' })).toBeUndefined();

  await spokeAdmin.create(Namespace, { metadata: { name: 'flotilla' } });
  expect(await rehearse()).toContain('- write Secret flotilla/flotilla-hub');
  expect((await spokeAdmin.list(Secret, { namespace: 'flotilla' })).items).toEqual([]);
  await expect(rehearse('--chart', '/nowhere')).rejects.toThrow(/helm upgrade failed.*\/nowhere/s);
});

describe('a spoke that joined', () => {
  let agent: Client;
  beforeAll(async () => {
    agent = await joined('spoke-1');
    await joined('spoke-2');
  });

  test('is known to the hub: accepted, labelled, and tainted until its agent reports', async () => {
    expect((await clusterAt('spoke-1'))?.metadata.labels).toMatchObject({ name: 'spoke-1', fleet: 'edge' });
    expect(await conditionOf('spoke-1', 'HubAcceptedManagedCluster')).toBe('True HubClusterAdminAccepted');
    await eventually(async () => (await taintsOf('spoke-1')).includes('cluster.open-cluster-management.io/unreachable'));
    expect((await admin.get(Namespace, { name: 'spoke-1' }))?.metadata.labels).toMatchObject({
      'open-cluster-management.io/cluster-name': 'spoke-1',
    });
  });

  test.each([
    { name: 'watch its actions', method: 'GET', path: `${actions('spoke-1')}` },
    { name: 'watch its views', method: 'GET', path: `${views('spoke-1')}` },
    { name: 'watch its works', method: 'GET', path: `${works('spoke-1')}` },
    { name: 'report on an action', method: 'PUT', path: `${actions('spoke-1')}/x/status`, body: emptyOf(ManagedClusterAction) },
    { name: 'report on a view', method: 'PUT', path: `${views('spoke-1')}/x/status`, body: emptyOf(ManagedClusterView) },
    { name: 'report on a work', method: 'PATCH', path: `${works('spoke-1')}/x/status`, body: { status: {} } },
    {
      name: 'show a sign of life',
      method: 'PATCH',
      path: `${leases('spoke-1')}/managed-cluster-lease`,
      body: { spec: { leaseDurationSeconds: 61 } },
    },
    { name: 'read its own cluster', method: 'GET', path: `${managed}/spoke-1` },
    {
      name: 'report on its own cluster',
      method: 'PATCH',
      path: `${managed}/spoke-1/status`,
      body: { status: { version: { kubernetes: 'v1' } } },
    },
    {
      name: 'renew its token',
      method: 'POST',
      path: '/api/v1/namespaces/spoke-1/serviceaccounts/spoke-agent/token',
      body: { spec: { expirationSeconds: 3600 } },
    },
  ])('may $name', async ({ method, path, body }) => expect(await attempt(agent, method, path, body)).toBe('allowed'));

  test.each([
    { name: 'read the actions of another spoke', method: 'GET', path: actions('spoke-2') },
    { name: 'read the views of another spoke', method: 'GET', path: views('spoke-2') },
    { name: 'read the works of another spoke', method: 'GET', path: works('spoke-2') },
    {
      name: 'read the actions of all spokes',
      method: 'GET',
      path: '/apis/action.open-cluster-management.io/v1beta1/managedclusteractions',
    },
    { name: 'make leases', method: 'POST', path: leases('spoke-1'), body: { metadata: { name: 'x' } } },
    {
      name: 'show a sign of life for another spoke',
      method: 'PATCH',
      path: `${leases('spoke-2')}/managed-cluster-lease`,
      body: { spec: {} },
    },
    { name: 'read another cluster', method: 'GET', path: `${managed}/spoke-2` },
    { name: 'list the clusters', method: 'GET', path: managed },
    { name: 'report on another cluster', method: 'PATCH', path: `${managed}/spoke-2/status`, body: { status: {} } },
    { name: 'change its own cluster', method: 'PATCH', path: `${managed}/spoke-1`, body: { spec: { taints: null } } },
    { name: 'read Secrets, its own namespace included', method: 'GET', path: '/api/v1/namespaces/spoke-1/secrets' },
    { name: 'read the Secrets of the hub', method: 'GET', path: '/api/v1/namespaces/flotilla/secrets' },
    { name: 'give itself work', method: 'POST', path: actions('spoke-1'), body: { metadata: { name: 'x' } } },
    { name: 'take part in the election of the hub', method: 'GET', path: `${leases('flotilla')}/flotilla-hub` },
    {
      name: 'widen its Role',
      method: 'PATCH',
      path: '/apis/rbac.authorization.k8s.io/v1/namespaces/spoke-1/roles/flotilla:spoke-agent',
      body: {},
    },
    {
      name: "take another account's token",
      method: 'POST',
      path: '/api/v1/namespaces/spoke-2/serviceaccounts/spoke-agent/token',
      body: { spec: {} },
    },
  ])('may not $name', async ({ method, path, body }) => expect(await attempt(agent, method, path, body)).toBe('forbidden'));

  test('gets an agent with these credentials, which renews them', async () => {
    const printed = await join('spoke-1');
    const deployment = JSON.stringify(printed.find(({ kind }) => kind === 'Deployment'));
    expect(deployment).toContain('"image":"registry.test:5000/agent:v2"');
    expect(deployment).toContain('"name":"HUB_KUBECONFIG_SECRET","value":"flotilla/flotilla-hub/kubeconfig"');
  });

  test.each([
    {
      name: 'for years',
      spec: { expirationSeconds: 31_536_000 },
      says: 'spec.expirationSeconds: tokens of spoke agents live at most 2592000 seconds',
    },
    {
      name: 'for somebody else',
      spec: { audiences: ['https://vault.example.com'] },
      says: 'spec.audiences: tokens of spoke agents are for this API server alone',
    },
  ])('gets no token $name, and is told why', async ({ spec, says }) => {
    const path = '/api/v1/namespaces/spoke-1/serviceaccounts/spoke-agent/token';
    await expect(agent.request('POST', path, { body: { spec } })).rejects.toThrow(says);
  });

  test('has its requests counted against the share of agents, and the hub its own against another', async () => {
    await agent.request('GET', actions('spoke-1'));
    const metrics = await admin.getText('/metrics', { maxBytes: 64 * 1024 * 1024 });
    const dispatched = metrics.split('\n').filter((line) => line.startsWith('apiserver_flowcontrol_dispatched_requests_total{'));
    const lines = dispatched.join('\n');
    expect(lines).toContain('flow_schema="hub-flotilla-hub-agents",priority_level="hub-flotilla-hub-agents"');
    expect(lines).toContain('flow_schema="hub-flotilla-hub",priority_level="workload-high"');
  });

  test('has its access mended when somebody takes a right from it', async () => {
    const ref = { namespace: 'spoke-1', name: 'flotilla:spoke-agent' };
    await admin.patch(Role, ref, { rules: [] }, { type: 'merge' });
    await admin.delete(RoleBinding, ref);
    await eventually(async () => (await attempt(agent, 'GET', actions('spoke-1'))) === 'allowed');
  });
});

test('a spoke has joined once its agent renews its lease, though nothing else changes', async () => {
  await admin.create(ManagedCluster, { metadata: { name: 'spoke-6' }, spec: { hubAcceptsClient: true } });
  await eventually(async () => (await taintsOf('spoke-6')).length > 0);
  const spec = { renewTime: new Date().toISOString().replace('Z', '000Z') };
  await eventually(() => admin.patch(Lease, { namespace: 'spoke-6', name: 'managed-cluster-lease' }, { spec }, { type: 'merge' }));
  await eventually(async () => (await conditionOf('spoke-6', 'ManagedClusterJoined')) === 'True ManagedClusterJoined');
});

describe('a spoke whose agent stops', () => {
  test('is unreachable five lease durations after its last renewal, whatever its clock says, not before, and not placed on', async () => {
    await admin.create(ManagedCluster, { metadata: { name: 'spoke-3' }, spec: { hubAcceptsClient: true, leaseDurationSeconds: 2 } });
    await eventually(async () => (await conditionOf('spoke-3', 'HubAcceptedManagedCluster')) !== undefined);
    const ref = { namespace: 'spoke-3', name: 'managed-cluster-lease' };
    let renewedAt = Date.now();
    // Its clock is five minutes behind.
    const spec = () => ({ renewTime: new Date(renewedAt - 300_000).toISOString().replace('Z', '000Z') });
    await eventually(() => admin.patch(Lease, ref, { spec: spec() }, { type: 'merge' }));
    const condition = {
      type: CLUSTER_AVAILABLE,
      status: 'True',
      reason: 'ManagedClusterAvailable',
      message: '',
      lastTransitionTime: new Date().toISOString(),
    };
    await eventually(async () => {
      // As the agent: the list is written whole, under its version.
      const cluster = await clusterAt('spoke-3');
      const conditions = [...(cluster?.status?.conditions ?? []), condition];
      const patch = { metadata: { resourceVersion: cluster?.metadata.resourceVersion }, status: { conditions } };
      return admin.patch(ManagedCluster, { name: 'spoke-3' }, patch, { type: 'merge', subresource: 'status' });
    });
    await eventually(async () => (await taintsOf('spoke-3')).length === 0);
    renewedAt = Date.now();
    await admin.patch(Lease, ref, { spec: spec() }, { type: 'merge' });
    await eventually(async () => (await conditionOf('spoke-3', CLUSTER_AVAILABLE)) === 'Unknown ManagedClusterLeaseUpdateStopped');
    const lateMs = Date.now() - renewedAt - 10_000;
    expect(lateMs).toBeGreaterThanOrEqual(0);
    // Generous: the clock is exact, the machine may be busy.
    expect(lateMs).toBeLessThan(6_000);
    await eventually(async () => (await taintsOf('spoke-3')).includes('cluster.open-cluster-management.io/unreachable'));
  });
});

describe('a spoke that is not wanted any more', () => {
  const own = { namespace: 'spoke-4', name: 'flotilla:spoke-agent' };
  const wide = { name: 'flotilla:spoke-agent:spoke-4' };
  const left = async () => {
    const account = admin.get(ServiceAccount, { namespace: 'spoke-4', name: 'spoke-agent' });
    const rest = [admin.get(Role, own), admin.get(RoleBinding, own), admin.get(ClusterRole, wide), admin.get(ClusterRoleBinding, wide)];
    return (await Promise.all([account, ...rest])).filter((object) => object !== undefined).length;
  };

  test('loses its credentials when it is denied, and needs new ones when it is accepted again', async () => {
    const agent = await joined('spoke-4');
    expect(await attempt(agent, 'GET', actions('spoke-4'))).toBe('allowed');
    const metadata = { name: 'left-over', namespace: 'spoke-4' };
    await admin.create(ManagedClusterAction, { metadata, spec: { actionType: 'Delete', kube: { resource: 'nodes', name: 'x' } } });
    await admin.create(ManagedClusterView, { metadata, spec: { scope: { resource: 'nodes', name: 'x' } } });
    await admin.create(ManifestWork, { metadata, spec: { workload: { manifests: [] } } });
    const begun = { ...metadata, name: 'begun', finalizers: [WORK_FINALIZER] };
    await admin.create(ManifestWork, { metadata: begun, spec: { workload: { manifests: [] } } });
    await admin.patch(ManagedCluster, { name: 'spoke-4' }, { spec: { hubAcceptsClient: false } }, { type: 'merge' });
    await eventually(async () => (await left()) === 0);
    // Whoever joins next under this name is another cluster, perhaps.
    for (const kind of [ManagedClusterAction, ManagedClusterView, ManifestWork]) expect(await admin.get(kind, metadata)).toBeUndefined();
    expect(await admin.get(ManifestWork, begun)).toBeUndefined();
    // API servers remember for ten seconds that a token was good.
    await eventually(async () => (await attempt(agent, 'GET', actions('spoke-4'))) === 'unauthorized');
    expect(await conditionOf('spoke-4', 'HubAcceptedManagedCluster')).toBe('False HubClusterAdminDenied');
    const again = await joined('spoke-4');
    expect(await attempt(again, 'GET', actions('spoke-4'))).toBe('allowed');
    expect(await attempt(agent, 'GET', actions('spoke-4'))).toBe('unauthorized');
  });

  test('loses them when it is deleted while no hub runs; its namespace and the other spokes stay', async () => {
    expect(await left()).toBe(5);
    await hub.stop();
    await admin.delete(ManagedCluster, { name: 'spoke-4' });
    hub = await world.startHub(['--standalone']);
    await eventually(async () => (await left()) === 0);
    expect(await admin.get(Namespace, { name: 'spoke-4' })).toBeDefined();
    expect(await admin.get(ServiceAccount, { namespace: 'spoke-2', name: 'spoke-agent' })).toBeDefined();
  });
});

test('a cluster whose name cannot be a namespace is told so', async () => {
  await admin.create(ManagedCluster, { metadata: { name: 'spoke.one' }, spec: { hubAcceptsClient: true } });
  await eventually(async () => (await conditionOf('spoke.one', 'HubAcceptedManagedCluster')) === 'False Error');
});

test('an upgrade that names policies says that this hub has no policy framework', async () => {
  const ref = { name: 'of-policies', namespace: 'default' };
  await admin.create(ClusterGroupUpgrade, {
    metadata: ref,
    spec: { clusters: ['spoke-1'], managedPolicies: ['policy'], remediationStrategy: { maxConcurrency: 1 } },
  });
  const validated = await eventually(async () =>
    findCondition((await admin.get(ClusterGroupUpgrade, ref))?.status?.conditions, 'Validated'),
  );
  expect(validated).toMatchObject({ status: 'False', reason: 'PolicyFrameworkMissing' });
  expect(validated.message).toMatch(/manifestWorkTemplates/);
  await admin.delete(ClusterGroupUpgrade, ref);
});
