/** Upgrades with the real operator, Prometheus and Alertmanager, and with OCM played by a server. */
import { readFile } from 'node:fs/promises';
import { ConfigMap, Namespace, Secret } from '@flotilla/api/core';
import { OPERATOR_CONFIG_MAP, OPERATOR_NAMESPACE, UpgradeConfig } from '@flotilla/api/managed';
import {
  type AlertmanagerServer,
  type ApiServer,
  type ClusterManager,
  type PrometheusServer,
  startAlertmanager,
  startApiServer,
  startClusterManager,
  startPrometheus,
} from '@flotilla/control-plane/servers';
import { type ClusterActors, clearCluster, createSmallCluster, startClusterActors } from '@flotilla/control-plane/simulators';
import { type Client, createLogger, createMetrics, isNotFound, systemClock } from '@flotilla/runtime';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { createAlertmanager } from './clients/alertmanager.ts';
import { createHttp } from './clients/http.ts';
import { createPrometheus } from './clients/prometheus.ts';
import { readConfig } from './config.ts';
import { runOperator } from './operator.ts';
import { CASE_REF, createUpgrade, installKinds, readEntry, until } from './operator-case.ts';
import { createPortsWith } from './wiring.ts';

const TARGET = '4.14.12';
const TOKEN = 'c2VjcmV0LW9mLXRlc3Q=';
/** As the simulated cluster says it. */
const CLUSTER_ID = '00000000-0000-4000-8000-000000000001';
const HOUR = 3_600_000;

let server: ApiServer;
let client: Client;
let alertmanager: AlertmanagerServer;
let prometheus: PrometheusServer;
let manager: ClusterManager;
let actors: ClusterActors;
let stopOperator: (() => Promise<string>) | undefined;

beforeAll(async () => {
  [server, alertmanager, prometheus] = await Promise.all([startApiServer(), startAlertmanager(), startPrometheus()]);
  client = await server.client();
  await installKinds(client);
  await client.create(Namespace, { metadata: { name: 'openshift-config' } });
  const config = JSON.stringify({ auths: { 'cloud.openshift.com': { auth: TOKEN } } });
  await client.create(Secret, {
    metadata: { namespace: 'openshift-config', name: 'pull-secret' },
    data: { '.dockerconfigjson': Buffer.from(config).toString('base64') },
  });
});
afterAll(async () => {
  await prometheus?.stop();
  await alertmanager?.stop();
  await server?.stop();
});
beforeEach(async () => {
  manager = await startClusterManager({ externalId: CLUSTER_ID, token: TOKEN });
  await createSmallCluster(client);
  actors = await startClusterActors({ client, offers: { 'stable-4.14': [TARGET] } });
  await configure();
});
afterEach(async () => {
  await stopOperator?.();
  stopOperator = undefined;
  await actors.stop();
  await manager.stop();
  await client.delete(UpgradeConfig, CASE_REF);
  await client.delete(ConfigMap, CONFIG_MAP);
  await clearCluster(client);
  await prometheus.setAlerts([]);
  const standing = createAlertmanager({ clock: systemClock, url: async () => new URL(alertmanager.url) });
  for (const { id, status } of await standing.silences()) if (status.state !== 'expired') await standing.expire(id);
});

const CONFIG_MAP = { namespace: OPERATOR_NAMESPACE, name: OPERATOR_CONFIG_MAP.name };

/** Writes the operator's configuration: OCM's policies, but for what is given. */
async function configure(change: Record<string, unknown> = {}): Promise<void> {
  const config = {
    upgradeType: 'OSD',
    configManager: { source: 'OCM', ocmBaseUrl: manager.url, watchInterval: 60 },
    nodeDrain: { timeOut: 45 },
    ...change,
  };
  await write(JSON.stringify(config));
}

async function write(text: string): Promise<void> {
  const data = { [OPERATOR_CONFIG_MAP.key]: text };
  await client.patch(ConfigMap, CONFIG_MAP, { data }, { type: 'merge' }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return client.create(ConfigMap, { metadata: CONFIG_MAP, data });
  });
}

/** Starts the operator; stopping it gives what it counted. */
function start(): void {
  const stopping = new AbortController();
  const metrics = createMetrics({ process: false });
  const urls = ['--prometheus-url', prometheus.url, '--alertmanager-url', alertmanager.url];
  const deps = {
    client,
    settings: readConfig([...urls, '--retry-seconds', '1'], {}),
    logger: createLogger({ name: 'operator', level: 'silent' }),
    metrics,
    clock: systemClock,
  };
  const createPorts = createPortsWith({ retry: { retries: 1, baseMs: 50, jitter: 0, maxMs: 100 }, timeoutMs: 2_000 });
  const ended = runOperator(deps, { createPorts }, stopping.signal);
  stopOperator = async () => {
    stopping.abort();
    await ended;
    return metrics.registry.metrics();
  };
}

const policy = (nextRun = Date.now() - 1_000, more: object = {}) => ({
  id: 'p',
  version: TARGET,
  next_run: `${new Date(nextRun).toISOString().slice(0, 19)}Z`,
  capacity_reservation: false,
  ...more,
});
const untilPhase = (phase: string) => until(async () => (await readEntry(client))?.phase === phase, `phase ${phase}`, 60_000);
const condition = async (type: string) => (await readEntry(client))?.conditions?.find((each) => each.type === type);
const untilSaid = (type: string, words: string) =>
  until(async () => ((await condition(type))?.message ?? '').includes(words), `${type} to say ${words}`, 60_000);

describe('from a policy of OCM', () => {
  test('to its end: told, logged, silenced, counted, and then taken away', async () => {
    const due = policy();
    manager.setPolicies([due]);
    await configure({
      maintenance: { ignoredAlerts: { controlPlaneCriticals: ['ClusterOperatorDown'] } },
      featureGate: { enabled: ['ServiceLogNotification'] },
    });
    start();
    await untilPhase('Upgraded');
    expect((await client.get(UpgradeConfig, CASE_REF))?.spec).toEqual({
      type: 'OSD',
      upgradeAt: due.next_run,
      PDBForceDrainTimeout: 60,
      desired: { version: TARGET, channel: 'stable-4.14' },
      capacityReservation: false,
    });
    await until(() => manager.written.length === 2, 'the states of the policy');
    expect(manager.written).toEqual(['p: started', 'p: completed']);
    await until(() => manager.serviceLogs.length === 3, 'the service logs');
    expect(manager.serviceLogs.map(({ summary }) => summary)).toEqual([
      'Cluster upgrade: control plane started',
      'Cluster upgrade: control plane finished',
      'Cluster upgrade: workers finished',
    ]);
    const silences = await createAlertmanager({ clock: systemClock, url: async () => new URL(alertmanager.url) }).silences();
    const ofTarget = silences.filter(({ comment }) => comment.includes(TARGET));
    expect(ofTarget.length).toBeGreaterThanOrEqual(2);
    expect(ofTarget.filter(({ status }) => status.state !== 'expired')).toEqual([]);

    // OCM says that it is done; the interval begins anew with a change of the configuration.
    await configure({ configManager: { source: 'OCM', ocmBaseUrl: `${manager.url}/`, watchInterval: 60 } });
    await until(async () => (await client.get(UpgradeConfig, CASE_REF)) === undefined, 'the UpgradeConfig to go');
    const counted = await stopOperator?.();
    stopOperator = undefined;
    expect(counted).toMatch(/^upgradeoperator_upgrade_result\{.*stream="z".*alerts=""\} 1$/m);
    expect(counted).toMatch(/^upgradeoperator_upgradeconfig_sync_timestamp\{upgradeconfig_name="managed-upgrade-config"\} \d{10}$/m);
  });

  test('that changes before it is due, the UpgradeConfig changes in its place', async () => {
    const at = Date.now() + HOUR;
    manager.setPolicies([policy(at)]);
    start();
    await untilPhase('Pending');
    const before = await client.get(UpgradeConfig, CASE_REF);
    manager.setPolicies([policy(at + HOUR)]);
    await configure({ configManager: { source: 'OCM', ocmBaseUrl: manager.url, watchInterval: 59 } });
    await until(async () => (await client.get(UpgradeConfig, CASE_REF))?.spec.upgradeAt === policy(at + HOUR).next_run, 'the later moment');
    const after = await client.get(UpgradeConfig, CASE_REF);
    expect(after?.metadata.uid).toBe(before?.metadata.uid);
    expect(after?.status?.history).toHaveLength(1);
  });

  test('that changes while its upgrade is under way, nothing changes before the end', async () => {
    actors.setFaults({ controlPlaneHeld: true });
    manager.setPolicies([policy()]);
    start();
    await until(async () => (await condition('UpgradeCommenced'))?.status === 'True', 'the cluster to be sent');
    const { upgradeAt } = (await client.get(UpgradeConfig, CASE_REF))?.spec ?? {};
    manager.setPolicies([policy(Date.now() + HOUR)]);
    const asked = manager.requests.length;
    await configure({ configManager: { source: 'OCM', ocmBaseUrl: manager.url, watchInterval: 59 } });
    await until(() => manager.requests.slice(asked).some(({ path }) => path.endsWith('/state')), 'OCM to be asked again');
    actors.setFaults({});
    await untilPhase('Upgraded');
    expect((await client.get(UpgradeConfig, CASE_REF))?.spec.upgradeAt).toBe(upgradeAt);
  });

  test('is not begun while OCM does not answer, and begins when it does', async () => {
    manager.setPolicies([policy()]);
    manager.setFaults({ path: /./, status: 500 });
    await createUpgrade(client, { upgradeAt: policy().next_run, PDBForceDrainTimeout: 60 });
    start();
    await untilSaid('Validated', 'OCM Provider unavailable');
    expect(await readEntry(client)).toMatchObject({ phase: 'Pending' });
    manager.setFaults();
    await untilPhase('Upgraded');
  });

  test('goes on when OCM is away, and is told when it is back, in order', async () => {
    actors.setFaults({ controlPlaneHeld: true });
    manager.setPolicies([policy()]);
    manager.setFaults({ path: /^PATCH/, status: 503 });
    start();
    await until(async () => (await condition('UpgradeCommenced'))?.status === 'True', 'the cluster to be sent');
    await untilSaid('StartedNotificationSent', "can't set upgrade policy state");
    actors.setFaults({});
    await until(async () => (await condition('ClusterHealthyAfterUpgrade'))?.status === 'True', 'everything but the telling');
    expect(manager.written).toEqual([]);
    manager.setFaults();
    await until(() => manager.written.length === 2, 'the states of the policy', 90_000);
    expect(manager.written).toEqual(['p: started', 'p: completed']);
    await untilPhase('Upgraded');
  });
});

describe('monitoring that goes', () => {
  test('holds an upgrade that has not begun, and its return lets it begin', async () => {
    const { port } = prometheus;
    const asked = createPrometheus({ clock: systemClock, url: async () => new URL(prometheus.url) });
    await prometheus.setAlerts([{ alertname: 'EtcdDown', labels: { severity: 'critical', namespace: 'openshift-etcd' } }]);
    await until(async () => (await asked.query('ALERTS')).length === 1, 'the alert to fire');
    await configure({ configManager: { source: 'LOCAL', localConfigName: CASE_REF.name } });
    await createUpgrade(client);
    start();
    await untilSaid('ClusterHealthyBeforeUpgrade', 'critical alert(s) firing: EtcdDown');
    await prometheus.stop();
    await untilSaid('ClusterHealthyBeforeUpgrade', 'unable to query critical alerts: Prometheus: GET /api/v1/query: connect ECONNREFUSED');
    prometheus = await startPrometheus({ port });
    await untilPhase('Upgraded');
  });

  test('with its silences holds an upgrade where it is, and its return lets it go on', async () => {
    const { port } = alertmanager;
    actors.setFaults({ controlPlaneHeld: true });
    await configure({ configManager: { source: 'LOCAL', localConfigName: CASE_REF.name } });
    await createUpgrade(client);
    start();
    await until(async () => (await condition('UpgradeCommenced'))?.status === 'True', 'the cluster to be sent');
    await alertmanager.stop();
    actors.setFaults({});
    await untilSaid('ControlPlaneMaintenanceWindowRemoved', 'Alertmanager: GET /api/v2/silences: connect ECONNREFUSED');
    alertmanager = await startAlertmanager({ port });
    await untilPhase('Upgraded');
  });
});

test('services are trusted by the authority of the cluster, and by no other', async () => {
  const Kubeconfig = z.object({
    clusters: z.array(z.object({ cluster: z.object({ server: z.string(), 'certificate-authority-data': z.string().optional() }) })).min(1),
  });
  const text = await readFile(server.kubeconfig, 'utf8');
  const cluster = Kubeconfig.parse(parse(text)).clusters[0]?.cluster;
  const url = new URL('/readyz', cluster?.server);
  const pem = Buffer.from(cluster?.['certificate-authority-data'] ?? '', 'base64').toString('utf8');
  expect(pem).toContain('BEGIN CERTIFICATE');
  const call = { clock: systemClock, name: 'Service', retry: { retries: 0, baseMs: 1, jitter: 0, maxMs: 1 } };
  await using trusting = createHttp({ ...call, ca: async () => pem });
  await using wary = createHttp(call);
  await expect(trusting.send({ method: 'GET', url })).resolves.toMatchObject({ status: 200 });
  await expect(wary.send({ method: 'GET', url })).rejects.toMatchObject({
    code: 'FLOTILLA_SERVICE_UNREACHABLE',
    message: expect.stringMatching(/certificate|issuer/i),
  });
});

test('a configuration that cannot be used is a condition, and the last good one stays', async () => {
  await configure({ configManager: { source: 'LOCAL', localConfigName: CASE_REF.name } });
  await createUpgrade(client, { upgradeAt: new Date(Date.now() + HOUR).toISOString() });
  start();
  await untilPhase('Pending');
  await write('scale: {timeOut: 0}');
  await untilSaid(
    'OperatorConfigured',
    'config scale timeOut is invalid: scale.timeOut is 0: must be a whole number from 1 to 525600; config nodeDrain timeOut is invalid',
  );
  // What is due is carried out as before.
  await client.patch(UpgradeConfig, CASE_REF, { spec: { upgradeAt: new Date(Date.now() - 1_000).toISOString() } }, { type: 'merge' });
  await untilPhase('Upgraded');
  expect(await condition('OperatorConfigured')).toMatchObject({ status: 'False' });
  await configure({ configManager: { source: 'LOCAL', localConfigName: CASE_REF.name } });
  await until(async () => (await condition('OperatorConfigured'))?.status === 'True', 'the configuration to be valid again');
});
