import { ClusterRole, ClusterRoleBinding, Lease, Namespace, Role, RoleBinding } from '@flotilla/api/core';
import { AGENT_LEASE, ManagedCluster, ManagedClusterView, ManifestWork, WORK_FINALIZER } from '@flotilla/api/ocm';
import { eventually } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ChartHub, HUB, SERVICE_ACCOUNT, startChartHub } from '../chart-hub.ts';

const SPOKE = 'spoke-1';
const OURS = `system:serviceaccount:${SPOKE}:spoke-agent`;
const STOCK = `system:open-cluster-management:${SPOKE}:agent`;
const RBAC = 'rbac.authorization.k8s.io';

let world: ChartHub;
let admin: Client;
let clients: Readonly<Record<'ours' | 'stock' | 'hub', Client>>;

beforeAll(async () => {
  const users = [
    { name: OURS, groups: SERVICE_ACCOUNT },
    { name: STOCK, groups: [`system:open-cluster-management:${SPOKE}`, 'system:authenticated'] },
  ];
  world = await startChartHub({ values: ['standalone=true'], apiServer: { users } });
  admin = await world.server.client();
  clients = { ours: await world.server.client(OURS), stock: await world.server.client(STOCK), hub: await world.server.client(HUB) };
  const hub = await world.startHub(['--standalone']);
  await admin.create(ManagedCluster, { metadata: { name: SPOKE }, spec: { hubAcceptsClient: true } });
  await eventually(async () => (await admin.get(RoleBinding, { namespace: SPOKE, name: 'flotilla:spoke-agent' })) !== undefined);
  await hub.stop();
  // As registration binds the group of a stock agent.
  const rules = [
    { apiGroups: ['work.open-cluster-management.io'], resources: ['manifestworks', 'manifestworks/status'], verbs: ['update', 'patch'] },
  ];
  const metadata = { name: 'stock', namespace: SPOKE };
  await admin.create(Role, { metadata, rules });
  const subjects = [{ kind: 'Group', apiGroup: RBAC, name: `system:open-cluster-management:${SPOKE}` }];
  await admin.create(RoleBinding, { metadata, roleRef: { apiGroup: RBAC, kind: 'Role', name: 'stock' }, subjects });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const ref = { namespace: SPOKE, name: 'work' };
const manifests = [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'default' } }];
const labels = { 'flotilla.io/work': 'rollout', 'flotilla.io/upgrade-uid': 'uid-of-another' };

beforeEach(async () => {
  await admin.patch(ManifestWork, ref, { metadata: { finalizers: null } }, { type: 'merge' }).catch(() => undefined);
  await admin.delete(ManifestWork, ref);
  await admin.create(ManifestWork, { metadata: { ...ref, labels: { own: 'yes' } }, spec: { workload: { manifests } } });
});

/** `allowed`, or what the server said. */
const outcome = (write: Promise<unknown>): Promise<string> =>
  write.then(
    () => 'allowed',
    (error: unknown) => String(error),
  );
const merge = { type: 'merge' } as const;
const status = { type: 'merge', subresource: 'status' } as const;
const condition = (message = '', type = 'Applied') => ({
  type,
  status: 'True',
  reason: 'Test',
  message,
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
/** Characters of one message. */
const PART = 30_000;
const manifestStatus = (ordinal: number, message: string) => ({ resourceMeta: { ordinal }, conditions: [condition(message)] });

describe.each(['ours', 'stock'] as const)('an agent (%s)', (who) => {
  test('sets and removes its finalizer, and reports', async () => {
    const agent = clients[who];
    expect(await outcome(agent.patch(ManifestWork, ref, { metadata: { finalizers: [WORK_FINALIZER] } }, merge))).toBe('allowed');
    expect(await outcome(agent.patch(ManifestWork, ref, { status: { conditions: [condition('done')] } }, status))).toBe('allowed');
    expect(await outcome(agent.patch(ManifestWork, ref, { metadata: { finalizers: null } }, merge))).toBe('allowed');
  });

  test('reports on as many manifests as a work can hold', async () => {
    const manifests = Array.from({ length: 500 }, (_, ordinal) => manifestStatus(ordinal, 'Apply manifest complete'));
    expect(await outcome(clients[who].patch(ManifestWork, ref, { status: { resourceStatus: { manifests } } }, status))).toBe('allowed');
  });

  test.each([
    { name: 'a label of another upgrade', change: { metadata: { labels } }, says: 'may not change labels, annotations' },
    { name: 'an annotation', change: { metadata: { annotations: { a: 'b' } } }, says: 'may not change labels, annotations' },
    {
      name: 'an owner',
      change: { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: 'default', uid: 'u' }] } },
      says: 'ownerReferences',
    },
    { name: 'a finalizer of its own making', change: { metadata: { finalizers: ['example.com/held'] } }, says: 'metadata.finalizers' },
    { name: 'its spec', change: { spec: { workload: { manifests: [] } } }, says: "the hub's to say" },
    { name: 'its spec away', change: { spec: null }, says: "the hub's to say" },
  ])('cannot give a work $name', async ({ change, says }) => {
    expect(await outcome(clients[who].patch(ManifestWork, ref, change, merge))).toContain(says);
    const work = await admin.get(ManifestWork, ref);
    expect([work?.metadata.labels, work?.spec?.workload]).toEqual([{ own: 'yes' }, { manifests }]);
    expect(work?.metadata.finalizers).toBeUndefined();
  });

  test('cannot remove the finalizer of another', async () => {
    await admin.patch(ManifestWork, ref, { metadata: { finalizers: ['example.com/kept', WORK_FINALIZER] } }, merge);
    expect(await outcome(clients[who].patch(ManifestWork, ref, { metadata: { finalizers: null } }, merge))).toContain('and no other');
    expect(await outcome(clients[who].patch(ManifestWork, ref, { metadata: { finalizers: ['example.com/kept'] } }, merge))).toBe('allowed');
  });

  test.each(['x', '<', '\u0001'])('leaves room in a work for its deletion, filled with %j to the last byte', async (character) => {
    await admin.patch(ManifestWork, ref, { metadata: { finalizers: [WORK_FINALIZER] } }, merge);
    const report = (length: number) => {
      const parts = Array.from({ length: Math.ceil(length / PART) }, (_, index) => character.repeat(Math.min(PART, length - index * PART)));
      const manifests = parts.map((text, ordinal) => manifestStatus(ordinal, text));
      return outcome(clients[who].patch(ManifestWork, ref, { status: { resourceStatus: { manifests } } }, status));
    };
    let length = 0;
    for (let step = 1_048_576; step >= 16; step /= 2) if ((await report(length + step)) === 'allowed') length += step;
    expect(length).toBeGreaterThan(10_000);
    const { metadata } = (await admin.get(ManifestWork, ref)) ?? {};
    expect(await admin.delete(ManifestWork, ref, { uid: metadata?.uid })).toBe(true);
    expect((await admin.get(ManifestWork, ref))?.metadata.deletionTimestamp).toBeDefined();
  });
});

describe('what an agent of ours reports of its cluster', () => {
  const path = `/apis/cluster.open-cluster-management.io/v1/managedclusters/${SPOKE}/status`;
  const report = (said: object) => outcome(clients.ours.patch(ManagedCluster, { name: SPOKE }, { status: said }, status));

  test('may be what agents report', async () => {
    const claims = Array.from({ length: 60 }, (_, index) => ({ name: `claim-${index}.example.com`, value: 'v'.repeat(200) }));
    const said = {
      conditions: [condition('fine')],
      clusterClaims: claims,
      capacity: { cpu: '4', memory: 7 },
      version: { kubernetes: 'v1.36.1' },
    };
    expect(await report(said)).toBe('allowed');
  });

  const many = <T>(count: number, one: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => one(index));
  test.each([
    { name: 'claims', said: { clusterClaims: many(200, (index) => ({ name: `c${index}`, value: 'v'.repeat(7_000) })) } },
    { name: 'many claims', said: { clusterClaims: many(10_000, (index) => ({ name: `c${index}`, value: '' })) } },
    { name: 'conditions', said: { conditions: many(10_000, (index) => condition('', `T${index}`)) } },
    { name: 'messages', said: { conditions: many(40, (index) => condition('<'.repeat(32_000), `T${index}`)) } },
    { name: 'capacities', said: { capacity: Object.fromEntries(many(10_000, (index) => [`c${index}`, index])) } },
    { name: 'names of capacities', said: { capacity: Object.fromEntries(many(50, (index) => [`c${index}`.repeat(5_000), index])) } },
    { name: 'namespaces', said: { managedNamespaces: [{ name: 'n', any: 'x'.repeat(1_000_000) }] } },
    { name: 'versions', said: { version: { kubernetes: 'v'.repeat(1_400_000) } } },
  ])('cannot fill it with $name, and a denial is always taken', async ({ said }) => {
    // Admission does not look at the administrator: the schema has to hold alone, on servers without such policies.
    await outcome(admin.patch(ManagedCluster, { name: SPOKE }, { status: { conditions: [condition('fine')], ...said } }, status));
    const schemaAlone = await admin.getText(`/apis/cluster.open-cluster-management.io/v1/managedclusters/${SPOKE}`);
    expect(schemaAlone.length).toBeLessThan(262_144);
    await report({ conditions: [condition('fine')], ...said });
    const whole = await admin.getText(`/apis/cluster.open-cluster-management.io/v1/managedclusters/${SPOKE}`);
    expect(whole.length).toBeLessThan(262_144);
    for (const hubAcceptsClient of [false, true]) await admin.patch(ManagedCluster, { name: SPOKE }, { spec: { hubAcceptsClient } }, merge);
  });

  test('cannot fill it with field managers', async () => {
    const conditions = many(40, (index) => condition('', `Type${index}`));
    const body = { apiVersion: ManagedCluster.apiVersion, kind: ManagedCluster.kind, metadata: { name: SPOKE }, status: { conditions } };
    let last = 'allowed';
    for (let index = 0; index < 80 && last === 'allowed'; index += 1) {
      const query = `?force=true&fieldManager=${'m'.repeat(100)}${index}`;
      last = await outcome(clients.ours.request('PATCH', `${path}${query}`, { body, contentType: 'application/apply-patch+yaml' }));
    }
    expect(last).toMatch(/bytes with its metadata, and an agent may fill 262144: report less/);
    await admin.patch(ManagedCluster, { name: SPOKE }, { metadata: { managedFields: [{}] } }, merge);
  });
});

test('the answer to a view leaves room in it, and its metadata alone', async () => {
  const metadata = { namespace: SPOKE, name: 'view' };
  await admin.create(ManagedClusterView, { metadata, spec: { scope: { resource: 'pods', name: 'x' } } });
  const put = async (bytes: number) => {
    const { metadata: current } = (await admin.get(ManagedClusterView, metadata)) ?? {};
    const result = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data: { x: 'x'.repeat(bytes) } };
    const object = { ...ManagedClusterView, metadata: { ...current, name: 'view', labels }, status: { result } };
    const { apiVersion, kind } = ManagedClusterView;
    return outcome(clients.ours.replace(ManagedClusterView, { ...object, apiVersion, kind }, { subresource: 'status' }));
  };
  expect(await put(500_000)).toBe('allowed');
  expect((await admin.get(ManagedClusterView, metadata))?.metadata.labels).toBeUndefined();
  expect(await put(1_200_000)).toContain('an agent may fill 1048576');
});

test.each([
  { name: 'a label', change: { metadata: { labels: { a: 'b' } } } },
  { name: 'a finalizer', change: { metadata: { finalizers: ['example.com/held'] } } },
  { name: 'a holder without end', change: { spec: { holderIdentity: 'x'.repeat(100_000) } } },
])('its lease takes no $name', async ({ change }) => {
  const lease = { namespace: SPOKE, name: AGENT_LEASE };
  expect(await outcome(clients.ours.patch(Lease, lease, change, merge))).toMatch(/may not change|and no other|an agent may fill/);
  const spec = { renewTime: '2026-01-01T00:00:00.000000Z', holderIdentity: 'agent', leaseDurationSeconds: 60 };
  expect(await outcome(clients.ours.patch(Lease, lease, { spec }, merge))).toBe('allowed');
});

describe('the hub', () => {
  const roleRef = { apiGroup: RBAC, kind: 'ClusterRole', name: 'view' };
  const subject = (namespace: string, name = 'spoke-agent') => ({ kind: 'ServiceAccount', namespace, name });
  const binding = (name: string, ref: object, subjects: object[]) =>
    clients.hub.create(ClusterRoleBinding, { metadata: { name }, roleRef: ref, subjects });
  const own = 'flotilla:spoke-agent:spoke-9';

  test('deletes and changes no ClusterRole and no binding but those of agents', async () => {
    await admin.create(ClusterRoleBinding, { metadata: { name: 'of-somebody' }, roleRef, subjects: [] });
    expect(await outcome(clients.hub.delete(ClusterRoleBinding, { name: 'of-somebody' }))).toContain(
      'its own begin with flotilla:spoke-agent:',
    );
    expect(await outcome(clients.hub.patch(ClusterRoleBinding, { name: 'of-somebody' }, { subjects: null }, merge))).toContain(
      'its own begin',
    );
    expect(await outcome(clients.hub.delete(ClusterRole, { name: 'view' }))).toContain('its own begin');
    expect(await admin.get(ClusterRoleBinding, { name: 'of-somebody' })).toBeDefined();
  });

  test('binds an agent to the role of its own cluster alone', async () => {
    await clients.hub.create(ClusterRole, { metadata: { name: own }, rules: [] });
    const ref = { ...roleRef, name: own };
    expect(await outcome(binding(own, ref, [subject('spoke-9', 'other')]))).toContain('the account of an agent alone');
    expect(await outcome(binding(own, ref, [subject('spoke-8')]))).toContain('the account of an agent alone');
    expect(await outcome(binding(own, ref, [subject('spoke-9')]))).toBe('allowed');
    expect(await outcome(clients.hub.delete(ClusterRoleBinding, { name: own }))).toBe('allowed');
    expect(await outcome(clients.hub.delete(ClusterRole, { name: own }))).toBe('allowed');
  });

  test('gives a namespace the label of its cluster and nothing else', async () => {
    const label = { 'open-cluster-management.io/cluster-name': SPOKE };
    const patch = (name: string, labels: object) => outcome(clients.hub.patch(Namespace, { name }, { metadata: { labels } }, merge));
    expect(await patch(SPOKE, label)).toBe('allowed');
    expect(await patch(SPOKE, { 'pod-security.kubernetes.io/enforce': 'privileged' })).toContain('nothing else of namespace spoke-1');
    expect(await patch('kube-system', label)).toContain('nothing else of namespace kube-system');
  });
});
