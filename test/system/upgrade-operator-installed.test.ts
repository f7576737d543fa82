/** The upgrade operator as its chart installs it: with the identity and the rights it has there, and with its settings. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterOperator, configCrds } from '@flotilla/api/config';
import { Event, Namespace, Node, Pod, PodDisruptionBudget, Secret } from '@flotilla/api/core';
import { FileIntegrity } from '@flotilla/api/machine';
import { OPERATOR_CONFIG_MAP, OPERATOR_NAME, OPERATOR_NAMESPACE, UPGRADE_CONFIG_NAME, UpgradeConfig } from '@flotilla/api/managed';
import { machineCrds } from '@flotilla/api/testing';
import { freePorts } from '@flotilla/control-plane/processes';
import {
  type AlertmanagerServer,
  applyCrds,
  type ClusterManager,
  type PrometheusServer,
  startAlertmanager,
  startClusterManager,
  startPrometheus,
} from '@flotilla/control-plane/servers';
import { type ClusterActors, createSmallCluster, startClusterActors } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { AUDIT_IN_ONE_FILE, type AuditEntry, BEFORE_THE_ANSWER, readAuditLog } from '../fixtures/audit-log.ts';
import { type RunningProgram, startProgram } from '../support/programs.ts';
import { CHARTS, NAMESPACE, SERVICE_ACCOUNT } from './chart-hub.ts';
import { type ChartServer, REQUIRED, sets, startChartServer } from './chart-server.ts';

const TARGET = '4.14.12';
const TOKEN = 'c2VjcmV0LW9mLXRlc3Q=';
const USER = `system:serviceaccount:${NAMESPACE}:agent-flotilla-spoke-upgrade-operator`;
const SELF = { CLUSTER_OPERATOR: OPERATOR_NAME, RELEASE_VERSION: '1.2.3' };
const REF = { namespace: OPERATOR_NAMESPACE, name: UPGRADE_CONFIG_NAME };
const INTEGRITY = { namespace: 'openshift-file-integrity', name: 'osd-fileintegrity' };

const configWith = (watchInterval: number) => ({
  upgradeType: 'OSD',
  configManager: { source: 'OCM', ocmBaseUrl: manager.url, watchInterval },
  environment: { fedramp: true },
  nodeDrain: { timeOut: 1, expectedNodeDrainTime: 1 },
  featureGate: { enabled: ['PreHealthCheck'] },
});

let world: ChartServer;
let admin: Client;
let manager: ClusterManager;
let prometheus: PrometheusServer;
let alertmanager: AlertmanagerServer;
let actors: ClusterActors;
let operator: RunningProgram;
let dir: string;
let ports: { probes: number; metrics: number; custom: number };

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'flotilla-operator-'));
  world = await startChartServer({
    users: [{ name: USER, groups: SERVICE_ACCOUNT }],
    auditLogPath: join(dir, 'audit.log'),
    auditPolicy: { rules: [{ level: 'Metadata', users: [USER] }, { level: 'None' }], omitStages: BEFORE_THE_ANSWER },
    flags: [AUDIT_IN_ONE_FILE],
  });
  admin = world.admin;
  [prometheus, alertmanager] = await Promise.all([startPrometheus(), startAlertmanager()]);
  manager = await startClusterManager({ externalId: '00000000-0000-4000-8000-000000000001', token: TOKEN, drainMinutes: 0 });
  await applyCrds(admin, [...configCrds(), ...machineCrds()]);
  await createSmallCluster(admin);
  actors = await startClusterActors({ client: admin, offers: { 'stable-4.14': [TARGET] } });
  await admin.create(Secret, {
    metadata: { namespace: 'openshift-config', name: 'pull-secret' },
    data: { '.dockerconfigjson': Buffer.from(JSON.stringify({ auths: { 'cloud.openshift.com': { auth: TOKEN } } })).toString('base64') },
  });
  await admin.create(Namespace, { metadata: { name: INTEGRITY.namespace } });
  await admin.create(FileIntegrity, { metadata: INTEGRITY });
  const values = [
    'upgradeOperator.enabled=true',
    'upgradeOperator.createNamespace=false',
    'upgradeOperator.ocm=true',
    `upgradeOperator.clusterOperator=${OPERATOR_NAME}`,
  ];
  const json = ['--set-json', `upgradeOperator.config=${JSON.stringify(configWith(60))}`];
  await world.helm('install', 'agent', join(CHARTS, 'spoke'), '-n', NAMESPACE, ...sets([...REQUIRED.spoke, ...values]), ...json);
  const [probes = 0, metrics = 0, custom = 0] = await freePorts(3);
  ports = { probes, metrics, custom };
});
afterAll(async () => {
  await operator?.stop();
  await actors?.stop();
  await manager?.stop();
  await prometheus?.stop();
  await alertmanager?.stop();
  await world?.[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

const startOperator = async (): Promise<RunningProgram> =>
  startProgram({
    name: 'upgrade-operator',
    entry: 'apps/upgrade-operator/src/main.ts',
    args: [
      ...['--kubeconfig', await world.server.kubeconfigFor(USER)],
      ...['--health-probe-bind-address', `127.0.0.1:${ports.probes}`],
      ...['--metrics-bind-address', `127.0.0.1:${ports.metrics}`],
      ...['--custom-metrics-bind-address', `127.0.0.1:${ports.custom}`],
    ],
    env: { OPERATOR_NAMESPACE, PROMETHEUS_URL: prometheus.url, ALERTMANAGER_URL: alertmanager.url, RETRY_SECONDS: '1', ...SELF },
    dir,
    isReady: (output) => output.includes('Upgrade operator is ready'),
  });

const scrape = async (port: number, path = '/metrics'): Promise<string> => {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  expect(answer.status).toBe(200);
  return answer.text();
};
const entry = async () => (await admin.get(UpgradeConfig, REF))?.status?.history?.[0];

test('carries out an upgrade that OCM asks for, from its UpgradeConfig to the end of it, and is refused nothing', {
  timeout: 300_000,
}, async () => {
  const metadata = { name: 'guarded', namespace: 'default', labels: { app: 'guarded' }, finalizers: ['example.com/keep'] };
  const spec = { maxUnavailable: 0, selector: { matchLabels: { app: 'guarded' } } };
  await admin.create(PodDisruptionBudget, { metadata: { name: 'guard', namespace: 'default' }, spec });
  const [node] = (await admin.list(Node, { labelSelector: 'node-role.kubernetes.io/worker' })).items;
  await admin.create(Pod, { metadata, spec: { nodeName: node?.metadata.name, containers: [{ name: 'c', image: 'registry.test/c:1' }] } });

  operator = await startOperator();
  expect(await scrape(ports.probes, '/readyz')).toBe('ok');
  expect((await scrape(ports.custom)).split('\n').filter((line) => line !== '' && !line.startsWith('#'))).toEqual([]);
  // One worker more, and no patience with budgets; in an hour, no: at once.
  const dueIn = (ms: number) => `${new Date(Date.now() + ms).toISOString().slice(0, 19)}Z`;
  manager.setPolicies([{ id: 'p', version: TARGET, next_run: dueIn(3_600_000), capacity_reservation: true }]);
  await askAgain(59);
  await eventually(async () => (await entry())?.phase === 'Pending', 'the upgrade to wait', 60_000);
  manager.setPolicies([{ id: 'p', version: TARGET, next_run: dueIn(0), capacity_reservation: true }]);
  await askAgain(57);
  await eventually(async () => (await entry())?.phase === 'Upgrading', 'the upgrade to begin', 60_000);
  await eventually(
    async () => /^managed_upgrade_upgrade_start_timestamp\{.*phase="Upgrading"\} \d{10}$/m.test(await scrape(ports.custom)),
    'the metric of the upgrade',
  );
  await eventually(async () => (await entry())?.phase === 'Upgraded', 'the upgrade to end', 240_000);
  await eventually(() => manager.written.includes('p: completed'), 'OCM to be told');
  await eventually(async () => (await scrape(ports.metrics)).includes('upgradeoperator_upgrade_result{'), 'the metric of the result');
  const reasons = (await admin.list(Event, { namespace: OPERATOR_NAMESPACE })).items.map(({ reason }) => reason);
  expect(reasons).toEqual(expect.arrayContaining(['UpgradeUnderWay', 'UpgradeStarted', 'UpgradeDelayed', 'UpgradeDone']));
  await askAgain(58);
  await eventually(async () => (await admin.get(UpgradeConfig, REF)) === undefined, 'the UpgradeConfig to go');

  const { status } = (await admin.get(ClusterOperator, { name: OPERATOR_NAME })) ?? {};
  expect(status?.conditions?.map(({ type, status: is, reason }) => `${type}=${is} ${reason}`)).toEqual([
    'Available=True AsExpected',
    'Progressing=False AsExpected',
    'Degraded=False AsExpected',
  ]);
  expect(status?.versions).toContainEqual({ name: 'operator', version: '1.2.3' });

  const metrics = await scrape(ports.metrics);
  expect(metrics.split('\n').filter((line) => /^flotilla_api_requests_total.*code="403"/.test(line))).toEqual([]);
  expect(await operator.output()).not.toMatch(/forbidden|"level":"error"/i);
  expect(await operator.output()).not.toContain(TOKEN);
});

/** A change of the configuration has OCM asked at once. */
async function askAgain(watchInterval: number): Promise<void> {
  const map = `/api/v1/namespaces/${OPERATOR_NAMESPACE}/configmaps/${OPERATOR_CONFIG_MAP.name}`;
  await admin.request('PATCH', map, {
    body: { data: { [OPERATOR_CONFIG_MAP.key]: JSON.stringify(configWith(watchInterval)) } },
    contentType: 'application/merge-patch+json',
  });
}

/** Rules of paths that are no resources have neither groups nor resources. */
const Rule = z.looseObject({
  apiGroups: z.array(z.string()).default([]),
  resources: z.array(z.string()).default([]),
  resourceNames: z.array(z.string()).optional(),
  verbs: z.array(z.string()),
});
const Roles = z.looseObject({
  items: z.array(
    z.looseObject({ metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }), rules: z.array(Rule).nullish() }),
  ),
});

/** One verb for one resource, as a role of the operator has it. */
interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly names: readonly string[] | undefined;
  readonly namespace: string | undefined;
}

async function rightsOfOperator(): Promise<Right[]> {
  const own = USER.slice(USER.lastIndexOf(':') + 1);
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const lists = await Promise.all([`${rbac}/clusterroles`, `${rbac}/roles`].map((path) => admin.request('GET', path)));
  const roles = lists.flatMap((list) => Roles.parse(list).items).filter(({ metadata }) => metadata.name === own);
  return roles.flatMap(({ metadata: { namespace }, rules }) =>
    (rules ?? []).flatMap(({ apiGroups, resources, resourceNames: names, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb): Right => ({ verb, group, resource, names, namespace }))),
      ),
    ),
  );
}

const usesRight = ({ verb, objectRef }: AuditEntry, right: Right): boolean =>
  objectRef !== undefined &&
  verb === right.verb &&
  objectRef.apiGroup === right.group &&
  (objectRef.subresource ? `${objectRef.resource}/${objectRef.subresource}` : objectRef.resource) === right.resource &&
  (right.names?.includes(objectRef.name) ?? true) &&
  (right.namespace === undefined || right.namespace === objectRef.namespace);

test('has no right that this upgrade did not take, but those to reach monitoring', async () => {
  // A watch is in the log once it has ended.
  await operator.stop();
  const unused = new Set(await rightsOfOperator());
  expect(unused.size).toBeGreaterThan(30);
  for await (const entry of readAuditLog(join(dir, 'audit.log')))
    if (entry.user.username === USER) for (const right of unused) if (usesRight(entry, right)) unused.delete(right);
  // Services of monitoring are given by address here, and a budget that is wrong is told without asking for more; the rows below try these.
  expect([...unused].map(({ verb, resource, namespace }) => `${verb} ${resource} ${namespace}`).toSorted()).toEqual([
    'create serviceaccounts/token openshift-monitoring',
    'get configmaps openshift-monitoring',
    'get services openshift-monitoring',
    'get services undefined',
  ]);
});

const CORE = '/api/v1';
const MONITORING = `${CORE}/namespaces/openshift-monitoring`;

test.each([
  { name: 'the address of Prometheus', method: 'GET', path: `${MONITORING}/services/prometheus-k8s`, want: 404 },
  { name: 'the address of Alertmanager', method: 'GET', path: `${MONITORING}/services/alertmanager-main`, want: 404 },
  { name: 'the authority of services', method: 'GET', path: `${MONITORING}/configmaps/serving-certs-ca-bundle`, want: 404 },
  {
    name: 'a token of Prometheus',
    method: 'POST',
    path: `${MONITORING}/serviceaccounts/prometheus-k8s/token`,
    body: { spec: {} },
    want: 404,
  },
  {
    name: 'the address of the deployment validation operator',
    method: 'GET',
    path: `${CORE}/namespaces/openshift-deployment-validation-operator/services/deployment-validation-operator-metrics`,
    want: 404,
  },
  { name: 'Secrets of monitoring', method: 'GET', path: `${MONITORING}/secrets`, want: 403 },
  {
    name: 'another token of monitoring',
    method: 'POST',
    path: `${MONITORING}/serviceaccounts/default/token`,
    body: { spec: {} },
    want: 403,
  },
  { name: 'Secrets beside the pull secret', method: 'GET', path: `${CORE}/namespaces/openshift-config/secrets`, want: 403 },
  { name: 'Secrets of its own namespace', method: 'GET', path: `${CORE}/namespaces/${OPERATOR_NAMESPACE}/secrets`, want: 403 },
  { name: 'other ConfigMaps', method: 'GET', path: `${CORE}/namespaces/${OPERATOR_NAMESPACE}/configmaps`, want: 403 },
  { name: 'creating pods', method: 'POST', path: `${CORE}/namespaces/default/pods`, body: { metadata: { name: 'x' } }, want: 403 },
  { name: 'changing nodes', method: 'PATCH', path: `${CORE}/nodes/worker-0`, body: { metadata: { labels: { a: 'b' } } }, want: 403 },
  {
    name: 'another ClusterVersion',
    method: 'PATCH',
    path: '/apis/config.openshift.io/v1/clusterversions/other',
    body: { spec: {} },
    want: 403,
  },
  {
    name: 'UpgradeConfigs elsewhere',
    method: 'GET',
    path: '/apis/upgrade.managed.openshift.io/v1alpha1/namespaces/default/upgradeconfigs',
    want: 403,
  },
  {
    name: 'MachineSets elsewhere',
    method: 'POST',
    path: '/apis/machine.openshift.io/v1beta1/namespaces/default/machinesets',
    body: { metadata: { name: 'x' } },
    want: 403,
  },
])('its account is answered $want for $name', async ({ method, path, body, want }) => {
  const client = await world.server.client(USER);
  const contentType = method === 'PATCH' ? { contentType: 'application/merge-patch+json' } : {};
  await expect(client.request(method, path, { body, ...contentType })).rejects.toMatchObject({ status: want });
});
