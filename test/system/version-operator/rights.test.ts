/** The version operator with the rights that its chart gives where the kinds of the releases are named (`versionOperator.rules`). */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { untyped } from '@flotilla/api';
import { ClusterVersion } from '@flotilla/api/config';
import { ConfigMap, Deployment } from '@flotilla/api/core';
import { type FakeOperators, releaseImage, startFakeOperators } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { AUDIT_IN_ONE_FILE, readAuditLog } from '../../fixtures/audit-log.ts';
import { scriptOf, writeSmallRelease } from '../../fixtures/small-release.ts';
import { type RunningProgram, startProgram } from '../../support/programs.ts';
import { CHARTS, NAMESPACE, SERVICE_ACCOUNT } from '../chart-hub.ts';
import { type ChartServer, REQUIRED, sets, startChartServer } from '../chart-server.ts';

const USER = `system:serviceaccount:${NAMESPACE}:agent-flotilla-spoke-version-operator`;
const OLD = '4.1.0';
const NEW = '4.1.1';
const annotations = { 'include.release.openshift.io/self-managed-high-availability': 'true' };
const ClusterRole = untyped('rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles', false);

/** Rules of each kind that the releases hold, as the chart's values ask for them. */
const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];
const RULES = [
  { apiGroups: ['apps'], resources: ['deployments'], verbs },
  { apiGroups: [''], resources: ['serviceaccounts', 'configmaps'], verbs },
  { apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles', 'clusterrolebindings'], verbs: [...verbs, 'escalate', 'bind'] },
];

const OPERATORS = [{ level: '20', name: 'alpha' }];
const OWN = 'openshift-alpha';

/** A release with a bit of everything: what its operator may do is more than the version operator may. */
async function writeRelease(version: string): Promise<string> {
  const folder = await writeSmallRelease(dir, version, OPERATORS);
  const metadata = { name: 'alpha', annotations };
  const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1' };
  const subjects = [{ kind: 'ServiceAccount', name: 'alpha', namespace: OWN }];
  const objects = {
    '00_namespace': { apiVersion: 'v1', kind: 'Namespace', metadata: { name: OWN, annotations } },
    '01_serviceaccount': { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { ...metadata, namespace: OWN } },
    '02_clusterrole': {
      ...rbac,
      kind: 'ClusterRole',
      metadata,
      rules: [{ apiGroups: [''], resources: ['secrets'], verbs: version === OLD ? ['get'] : ['get', 'list'] }],
    },
    '03_clusterrolebinding': {
      ...rbac,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'alpha' },
      subjects,
    },
    '04_config': { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...metadata, namespace: OWN }, data: { version } },
  };
  for (const [name, object] of Object.entries(objects))
    await writeFile(join(folder, 'release-manifests', `0000_10_alpha_${name}.json`), JSON.stringify(object));
  return folder;
}

let dir: string;
const folders = new Map<string, string>();
let world: ChartServer;
let admin: Client;
let operators: FakeOperators;
let operator: RunningProgram | undefined;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'flotilla-rights-'));
  for (const each of [OLD, NEW]) folders.set(each, await writeRelease(each));
  world = await startChartServer({
    users: [{ name: USER, groups: SERVICE_ACCOUNT }],
    auditLogPath: join(dir, 'audit.log'),
    flags: [AUDIT_IN_ONE_FILE],
  });
  admin = world.admin;
  await install(RULES);
  // The chart brings the kind; it is served a moment later.
  await eventually(() =>
    admin
      .create(ClusterVersion, { metadata: { name: 'version' }, spec: { clusterID: '5a8a1b6c-0d5e-4c5e-8f5a-4d2f0d1c9b3e' } })
      .catch(() => undefined),
  );
  operators = await startFakeOperators({
    client: admin,
    releases: [scriptOf(OLD, OPERATORS), scriptOf(NEW, OPERATORS)],
    updateDelayMs: 100,
  });
});
afterAll(async () => {
  await operator?.stop();
  await operators?.stop();
  await world?.[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

/** Installs the chart with these rules, or changes it to them. */
const install = (rules: readonly object[], ...more: string[]) => {
  const values = sets([...REQUIRED.spoke, 'versionOperator.enabled=true', `versionOperator.release=${releaseImage(OLD)}`, ...more]);
  const json = ['--set-json', `versionOperator.rules=${JSON.stringify(rules)}`];
  return world.helm('upgrade', '--install', 'agent', join(CHARTS, 'spoke'), '-n', NAMESPACE, ...values, ...json);
};
async function start(version: string): Promise<void> {
  operator = await startProgram({
    name: `version-operator-${version}`,
    entry: 'apps/version-operator/src/main.ts',
    args: [
      ...['--kubeconfig', await world.server.kubeconfigFor(USER), '--pass-minutes', '0.05'],
      ...['--payload', folders.get(version) ?? '', '--image', releaseImage(version)],
    ],
    dir,
    isReady: () => true,
  });
}
const version = async () => admin.get(ClusterVersion, { name: 'version' });
const untilApplied = (wanted: string) =>
  eventually(
    async () => {
      const [newest] = (await version())?.status?.history ?? [];
      return newest?.version === wanted && newest.state === 'Completed';
    },
    `${wanted} to be applied`,
    90_000,
  );
/** What the operator was refused, by verb and resource. */
async function refusals(): Promise<string[]> {
  const refused = new Set<string>();
  for await (const { user, verb, objectRef, responseStatus } of readAuditLog(join(dir, 'audit.log')))
    if (user.username === USER && responseStatus.code === 403) refused.add(`${verb} ${objectRef?.resource ?? ''}`);
  return [...refused];
}

test('applies a release and its update with the rights of the rules, and is refused nothing', async () => {
  await start(OLD);
  await untilApplied(OLD);
  const role = { name: 'alpha' };
  expect(JSON.stringify(await admin.get(ClusterRole, role))).toContain('"verbs":["get"]');
  await operator?.stop();
  await admin.patch(
    ClusterVersion,
    { name: 'version' },
    { spec: { desiredUpdate: { version: NEW, image: releaseImage(NEW) } } },
    { type: 'merge' },
  );
  await start(NEW);
  await untilApplied(NEW);
  expect(JSON.stringify(await admin.get(ClusterRole, role))).toContain('"verbs":["get","list"]');
  expect(JSON.stringify((await admin.get(Deployment, { namespace: 'default', name: 'alpha' }))?.spec)).toContain(`alpha:${NEW}`);
  // What drifts is mended with the same rights.
  const config = { namespace: OWN, name: 'alpha' };
  await admin.patch(ConfigMap, config, { data: { version: 'drifted' } }, { type: 'merge' });
  await eventually(async () => (await admin.get(ConfigMap, config))?.data?.version === NEW, 'the drift to be mended', 60_000);
  expect(await refusals()).toEqual([]);
});

test.each([
  { name: 'Secrets', method: 'GET', path: '/api/v1/namespaces/openshift-alpha/secrets' },
  { name: 'pods', method: 'POST', path: '/api/v1/namespaces/default/pods', body: { metadata: { name: 'x' } } },
  { name: 'a pod by its name', method: 'GET', path: '/api/v1/namespaces/default/pods/x' },
  { name: 'roles of a namespace', method: 'GET', path: '/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles' },
  { name: 'what a cluster is sent to', method: 'PATCH', path: '/apis/config.openshift.io/v1/clusterversions/version', body: { spec: {} } },
  { name: 'definitions of kinds', method: 'DELETE', path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/x.y' },
])('has no right to $name', async ({ method, path, body }) => {
  const client = await world.server.client(USER);
  const contentType = method === 'PATCH' ? { contentType: 'application/merge-patch+json' } : {};
  await expect(client.request(method, path, { body, ...contentType })).rejects.toMatchObject({ status: 403 });
});

test('changes no ConfigMap but its own and those of named namespaces', async () => {
  const allowed = async (namespace: string, name: string, verb = 'update') => {
    const spec = { user: USER, groups: SERVICE_ACCOUNT, resourceAttributes: { namespace, name, verb, resource: 'configmaps' } };
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', metadata: { name: '' }, spec };
    const answer = await admin.request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', { body: review });
    return z.object({ status: z.object({ allowed: z.boolean() }) }).parse(answer).status.allowed;
  };
  await install(
    RULES.map((rule) => ({ ...rule, resources: rule.resources.filter((name) => name !== 'configmaps') })),
    'versionOperator.configMapNamespaces={default}',
  );
  try {
    await eventually(async () => !(await allowed('kube-system', 'any')), 'the rule to be gone');
    expect(await allowed('kube-system', 'any', 'delete')).toBe(false);
    expect(await allowed('openshift-config-managed', 'signatures-managed')).toBe(true);
    expect(await allowed('default', 'any')).toBe(true);
    expect(await allowed('kube-system', 'any', 'list')).toBe(true);
  } finally {
    await install(RULES);
  }
});

test('may list the pods of a workload that does not roll out', async () => {
  const client = await world.server.client(USER);
  await expect(client.request('GET', '/api/v1/namespaces/default/pods?labelSelector=app%3Dalpha&limit=20')).resolves.toMatchObject({
    items: [],
  });
});

test('a right that the rules lack is named in the ClusterVersion, and is used once it is given', async () => {
  const mayOnlyRead = { verbs: ['get', 'list', 'watch'] };
  await install(RULES.map((rule) => (rule.resources.includes('serviceaccounts') ? { ...rule, ...mayOnlyRead } : rule)));
  await admin.request('DELETE', `/api/v1/namespaces/${OWN}/serviceaccounts/alpha`);
  const failing = async () => (await version())?.status?.conditions?.find(({ type }) => type === 'Failing');
  await operator?.stop();
  await start(NEW);
  await eventually(
    async () =>
      (await failing())?.status === 'True' && /serviceaccount.*forbidden|forbidden.*serviceaccount/i.test((await failing())?.message ?? ''),
    'the missing right to be named',
    90_000,
  );
  await install(RULES);
  await eventually(async () => (await failing())?.status === 'False', 'the right to be used', 90_000);
  await expect(admin.request('GET', `/api/v1/namespaces/${OWN}/serviceaccounts/alpha`)).resolves.toMatchObject({
    kind: 'ServiceAccount',
  });
});
