/** The upgrade operator as its chart installs it: with the identity and the rights it has there, and with its settings. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterOperator, configCrds } from '@flotilla/api/config';
import { Node, Pod, PodDisruptionBudget, Secret } from '@flotilla/api/core';
import { machineCrds } from '@flotilla/api/machine';
import { OPERATOR_CONFIG_MAP, OPERATOR_NAME, OPERATOR_NAMESPACE, UPGRADE_CONFIG_NAME, UpgradeConfig } from '@flotilla/api/managed';
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
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningProgram, startProgram } from '../../tools/src/fleets/programs.ts';
import { eventually } from '../fixtures/eventually.ts';
import { CHARTS, NAMESPACE, SERVICE_ACCOUNT } from './chart-hub.ts';
import { type ChartServer, REQUIRED, sets, startChartServer } from './chart-server.ts';

const TARGET = '4.14.12';
const TOKEN = 'c2VjcmV0LW9mLXRlc3Q=';
const USER = `system:serviceaccount:${NAMESPACE}:agent-flotilla-spoke-upgrade-operator`;
const SELF = { CLUSTER_OPERATOR: OPERATOR_NAME, RELEASE_VERSION: '1.2.3' };
const REF = { namespace: OPERATOR_NAMESPACE, name: UPGRADE_CONFIG_NAME };

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
  world = await startChartServer({ users: [{ name: USER, groups: SERVICE_ACCOUNT }] });
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
  const config = {
    upgradeType: 'OSD',
    configManager: { source: 'OCM', ocmBaseUrl: manager.url, watchInterval: 60 },
    nodeDrain: { timeOut: 1, expectedNodeDrainTime: 1 },
    featureGate: { enabled: ['PreHealthCheck'] },
  };
  const values = [
    'upgradeOperator.enabled=true',
    'upgradeOperator.createNamespace=false',
    'upgradeOperator.ocm=true',
    `upgradeOperator.clusterOperator=${OPERATOR_NAME}`,
  ];
  const json = ['--set-json', `upgradeOperator.config=${JSON.stringify(config)}`];
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
  // Due at once, one worker more, and no patience with budgets.
  manager.setPolicies([{ id: 'p', version: TARGET, next_run: `${new Date().toISOString().slice(0, 19)}Z`, capacity_reservation: true }]);
  await askAgain(59);
  await eventually(async () => (await entry())?.phase === 'Upgrading', 60_000, 'the upgrade to begin');
  await eventually(
    async () => /^managed_upgrade_upgrade_start_timestamp\{.*phase="Upgrading"\} \d{10}$/m.test(await scrape(ports.custom)),
    30_000,
  );
  await eventually(async () => (await entry())?.phase === 'Upgraded', 240_000, 'the upgrade to end');
  await eventually(() => manager.written.includes('p: completed'), 30_000, 'OCM to be told');
  await eventually(async () => (await scrape(ports.metrics)).includes('upgradeoperator_upgrade_result{'), 30_000);
  await askAgain(58);
  await eventually(async () => (await admin.get(UpgradeConfig, REF)) === undefined, 30_000, 'the UpgradeConfig to go');

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
  const config = {
    upgradeType: 'OSD',
    configManager: { source: 'OCM', ocmBaseUrl: manager.url, watchInterval },
    nodeDrain: { timeOut: 1, expectedNodeDrainTime: 1 },
    featureGate: { enabled: ['PreHealthCheck'] },
  };
  await admin.request('PATCH', map, {
    body: { data: { [OPERATOR_CONFIG_MAP.key]: JSON.stringify(config) } },
    contentType: 'application/merge-patch+json',
  });
}

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
