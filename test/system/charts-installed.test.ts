import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withPullerAccount } from '@flotilla/agent';
import { Job } from '@flotilla/api/core';
import { SpokeName } from '@flotilla/api/ran';
import { runCommand } from '@flotilla/control-plane/processes';
import { type Client, createObjectAccess } from '@flotilla/runtime';
import { describe, expect, test, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { precachePod } from '../fixtures/precache-pod.ts';
import { eachAttempt } from '../integration/world.ts';
import { CHARTS, HUB, NAMESPACE } from './chart-hub.ts';
import { AGENT, type ChartServer, REQUIRED, Rendered, sets, startChartServer } from './chart-server.ts';

/** User of the puller's pod. */
const PULLER_ACCOUNT = `system:serviceaccount:${SpokeName.namespace}:${SpokeName.serviceAccount}`;

let world: ChartServer;

eachAttempt(
  async () => {
    world = await startChartServer({ users: [{ name: PULLER_ACCOUNT, groups: ['system:serviceaccounts', 'system:authenticated'] }] });
  },
  async () => world?.[Symbol.asyncDispose](),
);

/** What a user may do, asked by doing it without effect. Answers the HTTP status of a refusal, or `allowed`. */
async function attempt(client: Client, method: string, path: string, body?: unknown): Promise<string> {
  try {
    const dryRun = method === 'GET' ? '' : `${path.includes('?') ? '&' : '?'}dryRun=All`;
    const contentType = method === 'PATCH' ? { contentType: 'application/merge-patch+json' } : {};
    await client.request(method, `${path}${dryRun}`, { ...(body !== undefined && { body }), ...contentType });
    return 'allowed';
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (/not found/i.test(message)) return 'allowed';
    return /forbidden|may not write/i.test(message) ? 'forbidden' : message;
  }
}

describe('the installed spoke agent', () => {
  let agent: Client;
  const namespace = SpokeName.namespace;
  const inNamespace = (name: string) => ({ metadata: { name, namespace } });
  const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  const rules = [{ apiGroups: ['batch'], resources: ['jobs/status'], resourceNames: [SpokeName.job], verbs: ['patch'] }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: SpokeName.role };
  const subjects = [{ kind: 'ServiceAccount', name: SpokeName.serviceAccount, namespace }];
  const pod = precachePod('registry.example.com/flotilla/image-puller@sha256:0');
  const job = (spec: object) => ({ ...inNamespace(SpokeName.job), spec: { backoffLimit: 0, template: { spec } } });

  eachAttempt(async () => {
    await world.helm('install', 'agent', join(CHARTS, 'spoke'), '-n', NAMESPACE, ...sets(REQUIRED.spoke));
    agent = await world.server.client(AGENT);
    // The admission policy takes effect a moment after it was created.
    const elsewhere = () => attempt(agent, 'POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'probe' } });
    const permitted = () => attempt(agent, 'POST', '/api/v1/namespaces', { metadata: { name: namespace } });
    await vi.waitUntil(async () => (await permitted()) === 'allowed' && (await elsewhere()) === 'forbidden', { timeout: 30_000 });
  });

  test('creates everything a pre-cache needs, and reads what a view shows', async () => {
    await agent.request('POST', '/api/v1/namespaces', { body: { metadata: { name: namespace } } });
    await agent.request('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { body: inNamespace(SpokeName.serviceAccount) });
    await agent.request('POST', `${rbac}/roles`, { body: { ...inNamespace(SpokeName.role), rules } });
    await agent.request('POST', `${rbac}/rolebindings`, { body: { ...inNamespace(SpokeName.roleBinding), roleRef, subjects } });
    await agent.request('POST', configMaps, { body: inNamespace(SpokeName.specConfigMap) });
    const jobs = `/apis/batch/v1/namespaces/${namespace}/jobs`;
    await agent.request('POST', jobs, { body: job(pod) });
    for (const path of [`/api/v1/namespaces/${namespace}`, `${jobs}/${SpokeName.job}`]) {
      expect(await agent.request('GET', path)).toMatchObject({ metadata: { uid: expect.any(String) } });
    }
  });

  test('makes the account of the puller, which may annotate its Job and change nothing else of it', async () => {
    const jobs = `/apis/batch/v1/namespaces/${namespace}/jobs`;
    const path = `${jobs}/${SpokeName.job}`;
    await world.admin.request('DELETE', path, { body: { propagationPolicy: 'Background' } });
    const access = withPullerAccount(createObjectAccess(agent, 'test'), 'agent-flotilla-spoke-puller');
    const served = await access.findKind('batch/v1', 'Job');
    await access.create(served ?? expect.fail(), namespace, { apiVersion: 'batch/v1', kind: 'Job', ...job(pod) });

    const puller = await world.server.client(PULLER_ACCOUNT);
    const report = { metadata: { annotations: { 'flotilla.io/progress': '{}' } } };
    // The server's caches learn of a binding a moment after it was made.
    await vi.waitUntil(async () => (await attempt(puller, 'PATCH', `${path}/status`, report)) === 'allowed', { timeout: 10_000 });
    const elsewhere = { spec: { parallelism: 2, suspend: true, template: { spec: { nodeName: 'another' } } } };
    const { metadata, spec } = Job.schema.parse(
      await puller.request('PATCH', `${path}/status`, { body: { ...report, ...elsewhere }, contentType: 'application/merge-patch+json' }),
    );
    expect(metadata.annotations).toMatchObject(report.metadata.annotations);
    expect(spec).toMatchObject({ parallelism: 1, suspend: false });
    expect(JSON.stringify(spec)).not.toContain('another');
    for (const [method, where, body] of [
      ['PATCH', path, report],
      ['PATCH', `${jobs}/other/status`, report],
      ['GET', path, undefined],
      ['POST', configMaps, { metadata: { name: 'x' } }],
      ['PATCH', `/apis/batch/v1/namespaces/default/jobs/${SpokeName.job}/status`, report],
    ] as const)
      expect(await attempt(puller, method, where, body)).toBe('forbidden');
  });

  const podWith = (change: object) => job({ ...pod, ...change });
  const mounting = (path: string) => podWith({ volumes: [{ name: 'v', hostPath: { path } }] });
  const running = (image: string, more: object = {}) =>
    podWith({ containers: precachePod(image).containers.map((container) => ({ ...container, ...more })) });

  test.each([
    { name: 'of another name', job: { ...mounting('/run'), metadata: { name: 'other', namespace } }, why: 'may not write Job other' },
    { name: 'with the root of the node', job: mounting('/'), why: 'may not mount host path /;' },
    { name: 'with /etc of the node', job: mounting('/etc'), why: 'may not mount host path /etc;' },
    { name: 'with a path beside an allowed one', job: mounting('/var/lib/containerside'), why: 'may not mount host path' },
    { name: 'with a foreign image', job: running('evil.example/image-puller:1'), why: 'may not run image evil.example/image-puller:1' },
    {
      name: 'with an image of a folder named alike',
      job: running('registry.example.com/flotilla-evil/puller:1'),
      why: 'may not run image',
    },
    { name: 'with an image of another port', job: running('registry.example.com/flotilla:5000/puller'), why: 'may not run image' },
    {
      name: 'with a foreign image to begin with',
      job: podWith({ initContainers: [{ name: 'init', image: 'evil.example/init' }] }),
      why: 'may not run image',
    },
    {
      name: 'with privileges',
      job: running('registry.example.com/flotilla/image-puller:1', { securityContext: { privileged: true } }),
      why: 'may not set containers[0].securityContext',
    },
    {
      name: 'with a capability',
      job: running('registry.example.com/flotilla/image-puller:1', { securityContext: { capabilities: { add: ['SYS_ADMIN'] } } }),
      why: 'may not set containers[0].securityContext',
    },
    { name: 'in the network of the host', job: podWith({ hostNetwork: true }), why: 'may not set spec.template.spec.hostNetwork' },
  ])('is refused a Job $name', async ({ job, why }) => {
    const path = `/apis/batch/v1/namespaces/${namespace}/jobs?dryRun=All`;
    await expect(agent.request('POST', path, { body: job })).rejects.toThrow(why);
  });

  test.each([
    { name: 'a plain cluster', file: 'plain-kubernetes' },
    { name: 'a cluster with SecurityContextConstraints', file: 'openshift' },
  ])('creates what the hub puts on $name', async ({ file }) => {
    const text = await readFile(new URL(`../../apps/hub/src/spokes/jobs/kinds/precache/recorded/${file}.yaml`, import.meta.url), 'utf8');
    const image = 'registry.example.com/flotilla/image-puller:1';
    const objects = parseAllDocuments(text.replace('registry.example/puller:1', image)).map((each) => Rendered.parse(each.toJS()));
    const plurals: Record<string, string> = {
      ServiceAccount: `/api/v1/namespaces/${namespace}/serviceaccounts`,
      ConfigMap: configMaps,
      Role: `${rbac}/roles`,
      RoleBinding: `${rbac}/rolebindings`,
      Job: `/apis/batch/v1/namespaces/${namespace}/jobs`,
    };
    // The job of an earlier test.
    await world.admin
      .request('DELETE', `${plurals.Job}/${SpokeName.job}`, { body: { propagationPolicy: 'Background' } })
      .catch(() => undefined);
    for (const object of objects.filter(({ kind }) => kind !== 'Namespace')) {
      const body = {
        ...object,
        metadata: { ...object.metadata, name: `${object.metadata.name}${object.kind === 'Job' ? '' : `-${file}`}` },
      };
      const stored = await agent.request('POST', `${plurals[object.kind]}?dryRun=All&fieldValidation=Strict`, { body });
      expect(stored).toMatchObject({ kind: object.kind });
    }
  });

  test.each([
    {
      name: 'a ConfigMap in another namespace',
      method: 'POST',
      path: '/api/v1/namespaces/default/configmaps',
      body: { metadata: { name: 'x' } },
    },
    {
      name: 'a Job in another namespace',
      method: 'POST',
      path: '/apis/batch/v1/namespaces/default/jobs',
      body: { metadata: { name: 'x' }, spec: { template: { spec: pod } } },
    },
    { name: 'another namespace', method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: 'x' } } },
    { name: 'deleting another namespace', method: 'DELETE', path: '/api/v1/namespaces/default' },
    { name: 'reading Secrets', method: 'GET', path: `/api/v1/namespaces/${NAMESPACE}/secrets` },
    {
      name: 'reading other ConfigMaps',
      method: 'GET',
      path: '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication',
    },
    {
      name: 'a ClusterRoleBinding',
      method: 'POST',
      path: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
      body: {
        metadata: { name: SpokeName.clusterRoleBinding },
        roleRef: { ...roleRef, kind: 'ClusterRole', name: 'cluster-admin' },
        subjects,
      },
    },
    {
      name: 'a Role that grants more than the agent has',
      method: 'POST',
      path: `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`,
      body: { metadata: { name: 'more' }, rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }] },
    },
  ])('is refused $name', async ({ method, path, body }) => {
    expect(await attempt(agent, method, path, body)).toBe('forbidden');
  });

  test('removes the namespace', async () => {
    await agent.request('DELETE', `/api/v1/namespaces/${namespace}`, { body: { propagationPolicy: 'Foreground' } });
    expect(await agent.request('GET', `/api/v1/namespaces/${namespace}`)).toMatchObject({ status: { phase: 'Terminating' } });
  });
});

describe('the installed hub', () => {
  let hub: Client;
  const actions = '/apis/action.open-cluster-management.io/v1beta1/namespaces/spoke-1/managedclusteractions';
  const views = '/apis/view.open-cluster-management.io/v1beta1/namespaces/spoke-1/managedclusterviews';
  const upgrades = '/apis/ran.openshift.io/v1alpha1/namespaces/default/clustergroupupgrades';
  const overrides = 'cluster-group-upgrade-overrides';

  eachAttempt(async () => {
    await world.helm(
      'install',
      'hub',
      join(CHARTS, 'hub'),
      '-n',
      NAMESPACE,
      ...sets([...REQUIRED.hub, 'agents.clusters={spoke-1}', 'workers.enabled=true', 'redis.url=redis://queue:6379']),
    );
    hub = await world.server.client(HUB);
    // RBAC and new CRDs take effect a moment after they were created.
    await vi.waitUntil(async () => (await attempt(hub, 'GET', upgrades)) === 'allowed', { timeout: 30_000 });
  });

  test.each([
    { name: 'watch every kind it reconciles', method: 'GET', path: '/apis/ran.openshift.io/v1alpha1/precachingconfigs' },
    { name: 'report status', method: 'PATCH', path: `${upgrades}/x/status`, body: { status: {} } },
    { name: 'put its finalizer', method: 'PATCH', path: `${upgrades}/x`, body: { metadata: { finalizers: [] } } },
    { name: 'list clusters', method: 'GET', path: '/apis/cluster.open-cluster-management.io/v1/managedclusters' },
    {
      name: 'label clusters',
      method: 'PATCH',
      path: '/apis/cluster.open-cluster-management.io/v1/managedclusters/x',
      body: { metadata: { labels: {} } },
    },
    {
      name: 'make a namespace for the upgrades of imported clusters',
      method: 'POST',
      path: '/api/v1/namespaces',
      body: { metadata: { name: 'ztp-install' } },
    },
    {
      name: 'sweep its placements',
      method: 'DELETE',
      path: '/apis/cluster.open-cluster-management.io/v1beta1/namespaces/default/placements/x',
    },
    { name: 'remove its works', method: 'DELETE', path: '/apis/work.open-cluster-management.io/v1/namespaces/spoke-1/manifestworks/x' },
    { name: 'list policies', method: 'GET', path: '/apis/policy.open-cluster-management.io/v1/policies' },
    { name: 'sweep its actions on a spoke', method: 'DELETE', path: `${actions}?labelSelector=flotilla.io/work` },
    { name: 'sweep its views of a spoke', method: 'DELETE', path: `${views}?labelSelector=flotilla.io/work` },
    { name: 'watch the overrides by name', method: 'GET', path: `/api/v1/configmaps?fieldSelector=metadata.name%3D${overrides}` },
    {
      name: 'record events',
      method: 'POST',
      path: '/apis/events.k8s.io/v1/namespaces/default/events',
      body: {
        metadata: { name: 'x' },
        eventTime: '2026-01-01T00:00:00.000000Z',
        reportingController: 'x',
        reportingInstance: 'x',
        reason: 'x',
        action: 'x',
        type: 'Normal',
        regarding: { namespace: 'default' },
      },
    },
    {
      name: 'lead',
      method: 'POST',
      path: `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`,
      body: { metadata: { name: 'x' } },
    },
  ])('may $name', async ({ method, path, body }) => {
    expect(await attempt(hub, method, path, body)).toBe('allowed');
  });

  test.each([
    { name: 'read Secrets', method: 'GET', path: `/api/v1/namespaces/${NAMESPACE}/secrets` },
    { name: 'read other ConfigMaps', method: 'GET', path: '/api/v1/configmaps' },
    { name: 'delete upgrades', method: 'DELETE', path: `${upgrades}/x` },
    {
      name: 'report on clusters, which is for RHACM',
      method: 'PATCH',
      path: '/apis/cluster.open-cluster-management.io/v1/managedclusters/x/status',
      body: {},
    },
    { name: 'delete clusters', method: 'DELETE', path: '/apis/cluster.open-cluster-management.io/v1/managedclusters/x' },
    {
      name: 'change policies',
      method: 'PATCH',
      path: '/apis/policy.open-cluster-management.io/v1/namespaces/default/policies/x',
      body: {},
    },
    {
      name: 'hand out rights',
      method: 'PATCH',
      path: '/apis/rbac.authorization.k8s.io/v1/clusterroles/x',
      body: {},
    },
    {
      name: 'lead elsewhere',
      method: 'POST',
      path: '/apis/coordination.k8s.io/v1/namespaces/default/leases',
      body: { metadata: { name: 'x' } },
    },
  ])('may not $name', async ({ method, path, body }) => {
    expect(await attempt(hub, method, path, body)).toBe('forbidden');
  });

  test.each([
    { what: 'create managedclusteractions.action.open-cluster-management.io', may: true },
    { what: 'create manifestworks.work.open-cluster-management.io', may: true },
    { what: 'patch placements.cluster.open-cluster-management.io', may: false },
    { what: 'patch managedclusters.cluster.open-cluster-management.io', may: true },
    { what: 'watch clustergroupupgrades.ran.openshift.io', may: true },
    { what: 'patch clustergroupupgrades.ran.openshift.io --subresource=status', may: false },
    { what: 'create clustergroupupgrades.ran.openshift.io', may: false },
    { what: 'create leases.coordination.k8s.io', may: false },
    { what: 'create namespaces', may: false },
    { what: 'get secrets', may: false },
  ])('a worker may $what: $may', async ({ what, may }) => {
    const args = ['--kubeconfig', world.server.kubeconfig, 'auth', 'can-i', ...what.split(' '), '-n', NAMESPACE];
    const as = ['--as', `system:serviceaccount:${NAMESPACE}:hub-flotilla-hub-worker`];
    const answer = await runCommand(world.tools.path('kubectl'), [...args, ...as]).catch((error: unknown) => String(error));
    expect(answer).toMatch(may ? /^yes/ : /ended with 1/);
  });

  test.each([
    { what: 'watch managedclusteractions.action.open-cluster-management.io', namespace: 'spoke-1', may: true },
    { what: 'update managedclusteractions.action.open-cluster-management.io --subresource=status', namespace: 'spoke-1', may: true },
    { what: 'update managedclusterviews.view.open-cluster-management.io --subresource=status', namespace: 'spoke-1', may: true },
    { what: 'patch leases.coordination.k8s.io/managed-cluster-lease', namespace: 'spoke-1', may: true },
    { what: 'get managedclusters.cluster.open-cluster-management.io/spoke-1', namespace: 'spoke-1', may: true },
    { what: 'patch managedclusters.cluster.open-cluster-management.io/spoke-1 --subresource=status', namespace: 'spoke-1', may: true },
    { what: 'create managedclusteractions.action.open-cluster-management.io', namespace: 'spoke-1', may: false },
    { what: 'watch managedclusteractions.action.open-cluster-management.io', namespace: 'spoke-2', may: false },
    { what: 'patch managedclusters.cluster.open-cluster-management.io/spoke-2 --subresource=status', namespace: 'spoke-2', may: false },
  ])('an agent of spoke-1 may $what in $namespace: $may', async ({ what, namespace, may }) => {
    const args = [
      '--kubeconfig',
      world.server.kubeconfig,
      'auth',
      'can-i',
      ...what.split(' '),
      '--as',
      'system:serviceaccount:spoke-1:spoke-agent',
    ];
    // kubectl says no by its exit code.
    const answer = await runCommand(world.tools.path('kubectl'), [...args, '-n', namespace]).catch((error: unknown) => String(error));
    expect(answer).toMatch(may ? /^yes/ : /ended with 1/);
  });

  test('is uninstalled without taking the upgrades with it', async () => {
    await world.admin.request('POST', upgrades, {
      body: {
        apiVersion: 'ran.openshift.io/v1alpha1',
        kind: 'ClusterGroupUpgrade',
        metadata: { name: 'kept' },
        spec: { remediationStrategy: { maxConcurrency: 1 } },
      },
    });
    await world.helm('uninstall', 'hub', '-n', NAMESPACE, '--wait=hookOnly');
    expect(await world.admin.request('GET', `${upgrades}/kept`)).toMatchObject({ metadata: { name: 'kept' } });
  });
});
