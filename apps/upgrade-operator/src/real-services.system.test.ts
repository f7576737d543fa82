/** Upgrades with the real operator, Prometheus and Alertmanager, and with OCM played by a server. */

import { readFile } from 'node:fs/promises';
import { UpgradeConfig } from '@flotilla/api/managed';
import * as servers from '@flotilla/control-plane/servers';
import * as simulators from '@flotilla/control-plane/simulators';
import { createHttp, createPrometheus } from '@flotilla/http';
import { eventually } from '@flotilla/pace/testing';
import { systemClock } from '@flotilla/runtime';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { CASE_REF, createUpgrade, readEntry } from '../testing/operator-case.ts';
import { casesIn, policy, TARGET } from '../testing/real-world-case.ts';

const HOUR = 3_600_000;

const world = casesIn({ ...servers, ...simulators }, { beforeAll, afterAll, beforeEach, afterEach });

describe('from a policy of OCM', () => {
  test('to its end: told, logged, silenced, counted, and then taken away', async () => {
    const due = policy();
    world().manager.setPolicies([due]);
    await world().configure({
      maintenance: { ignoredAlerts: { controlPlaneCriticals: ['ClusterOperatorDown'] } },
      featureGate: { enabled: ['ServiceLogNotification'] },
    });
    world().startOperator();
    await world().untilPhase('Upgraded');
    expect((await world().client.get(UpgradeConfig, CASE_REF))?.spec).toEqual({
      type: 'OSD',
      upgradeAt: due.next_run,
      PDBForceDrainTimeout: 60,
      desired: { version: TARGET, channel: 'stable-4.14' },
      capacityReservation: false,
    });
    await eventually(() => world().manager.written.length === 2, 'the states of the policy');
    expect(world().manager.written).toEqual(['p: started', 'p: completed']);
    await eventually(() => world().manager.serviceLogs.length === 3, 'the service logs');
    expect(world().manager.serviceLogs.map(({ summary }) => summary)).toEqual([
      'Cluster upgrade: control plane started',
      'Cluster upgrade: control plane finished',
      'Cluster upgrade: workers finished',
    ]);
    const silences = await world().silences.silences();
    const ofTarget = silences.filter(({ comment }) => comment.includes(TARGET));
    expect(ofTarget.length).toBeGreaterThanOrEqual(2);
    expect(ofTarget.filter(({ status }) => status.state !== 'expired')).toEqual([]);

    // Metrics of an UpgradeConfig go with it, except for the result (spec/muo 10.3).
    expect(await world().counted()).toMatch(
      /^upgradeoperator_upgradeconfig_sync_timestamp\{upgradeconfig_name="managed-upgrade-config"\} \d{10}$/m,
    );
    // OCM says that it is done; the interval begins anew with a change of the configuration.
    await world().configure({ configManager: { source: 'OCM', ocmBaseUrl: `${world().manager.url}/`, watchInterval: 60 } });
    await eventually(async () => (await world().client.get(UpgradeConfig, CASE_REF)) === undefined, 'the UpgradeConfig to go');
    const counted = await world().counted();
    expect(counted).toMatch(/^upgradeoperator_upgrade_result\{.*stream="z".*alerts=""\} 1$/m);
  });

  test('is not begun while OCM does not answer, and begins when it does', async () => {
    const due = policy();
    world().manager.setPolicies([due]);
    world().manager.setFaults({ path: /./, status: 500 });
    await createUpgrade(world().client, { upgradeAt: due.next_run, PDBForceDrainTimeout: 60 });
    world().startOperator();
    await world().untilSaid('SpecSynced', 'OCM Provider unavailable');
    expect(await readEntry(world().client)).toMatchObject({ phase: 'Pending' });
    world().manager.setFaults();
    await world().untilPhase('Upgraded');
  });

  test('goes on when OCM is away, and is told when it is back, in order', async () => {
    world().actors.setFaults({ controlPlaneHeld: true });
    world().manager.setPolicies([policy()]);
    world().manager.setFaults({ path: /^PATCH/, status: 503 });
    world().startOperator();
    await world().untilTrue('UpgradeCommenced');
    await world().untilSaid('StartedNotificationSent', "can't set upgrade policy state");
    world().actors.setFaults({});
    await eventually(async () => (await world().condition('ClusterHealthyAfterUpgrade'))?.status === 'True', 'everything but the telling');
    expect(world().manager.written).toEqual([]);
    world().manager.setFaults();
    await eventually(() => world().manager.written.length === 2, 'the states of the policy', 90_000);
    expect(world().manager.written).toEqual(['p: started', 'p: completed']);
    await world().untilPhase('Upgraded');
  });
});

describe('monitoring that goes', () => {
  test('holds an upgrade that has not begun, and its return lets it begin', async () => {
    const { port } = world().prometheus;
    const asked = createPrometheus({ clock: systemClock, url: async () => new URL(world().prometheus.url) });
    await world().prometheus.setAlerts([{ alertname: 'EtcdDown', labels: { severity: 'critical', namespace: 'openshift-etcd' } }]);
    await eventually(async () => (await asked.query('ALERTS')).length === 1, 'the alert to fire');
    await world().configureLocal();
    await createUpgrade(world().client);
    world().startOperator();
    await world().untilSaid('ClusterHealthyBeforeUpgrade', 'critical alert(s) firing: EtcdDown');
    await world().prometheus.stop();
    await world().untilSaid(
      'ClusterHealthyBeforeUpgrade',
      'unable to query critical alerts: Prometheus: GET /api/v1/query: connect ECONNREFUSED',
    );
    world().prometheus = await servers.startPrometheus({ port });
    await world().untilPhase('Upgraded');
  });

  test('with its silences holds an upgrade where it is, and its return lets it go on', async () => {
    const { port } = world().alertmanager;
    world().actors.setFaults({ controlPlaneHeld: true });
    await world().configureLocal();
    await createUpgrade(world().client);
    world().startOperator();
    await world().untilTrue('UpgradeCommenced');
    await world().alertmanager.stop();
    world().actors.setFaults({});
    await world().untilSaid('ControlPlaneMaintenanceWindowRemoved', 'Alertmanager: GET /api/v2/silences: connect ECONNREFUSED');
    world().alertmanager = await servers.startAlertmanager({ port });
    await world().untilPhase('Upgraded');
  });
});

test('services are trusted by the authority of the cluster, and by no other', async () => {
  const Kubeconfig = z.object({
    clusters: z.array(z.object({ cluster: z.object({ server: z.string(), 'certificate-authority-data': z.string().optional() }) })).min(1),
  });
  const text = await readFile(world().server.kubeconfig, 'utf8');
  const cluster = Kubeconfig.parse(parse(text)).clusters[0]?.cluster;
  const url = new URL('/readyz', cluster?.server);
  const pem = Buffer.from(cluster?.['certificate-authority-data'] ?? '', 'base64').toString('utf8');
  expect(pem).toContain('BEGIN CERTIFICATE');
  const call = { clock: systemClock, name: 'Service', retry: { attempts: 1, baseMs: 1, maxMs: 1 } };
  await using trusting = createHttp({ ...call, ca: async () => pem });
  await using wary = createHttp(call);
  await expect(trusting.send({ method: 'GET', url })).resolves.toMatchObject({ status: 200 });
  await expect(wary.send({ method: 'GET', url })).rejects.toMatchObject({
    code: 'FLOTILLA_SERVICE_UNREACHABLE',
    message: expect.stringMatching(/certificate|issuer/i),
  });
});

test('a configuration that cannot be used is a condition, and the last good one stays', async () => {
  await world().configureLocal();
  await createUpgrade(world().client, { upgradeAt: new Date(Date.now() + HOUR).toISOString() });
  world().startOperator();
  await world().untilPhase('Pending');
  await world().write('scale: {timeOut: 0}');
  await world().untilSaid(
    'OperatorConfigured',
    'config scale timeOut is invalid: scale.timeOut is 0: must be a whole number from 1 to 525600; config nodeDrain timeOut is invalid',
  );
  // An upgrade that is due is carried out as before.
  await world().client.patch(
    UpgradeConfig,
    CASE_REF,
    { spec: { upgradeAt: new Date(Date.now() - 1_000).toISOString() } },
    { type: 'merge' },
  );
  await world().untilPhase('Upgraded');
  expect(await world().condition('OperatorConfigured')).toMatchObject({ status: 'False' });
  await world().configureLocal();
  await eventually(async () => (await world().condition('OperatorConfigured'))?.status === 'True', 'the configuration to be valid again');
});
