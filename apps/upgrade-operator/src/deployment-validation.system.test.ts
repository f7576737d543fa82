/** The deployment validation operator, found by its Service as in a cluster, and played by a server: what it reports is an advice. */

import { KubeObject, resource } from '@flotilla/api';
import { Namespace } from '@flotilla/api/core';
import * as servers from '@flotilla/control-plane/servers';
import * as simulators from '@flotilla/control-plane/simulators';
import { type HostileService, half, say, silence, startHostileService } from '@flotilla/http/testing';
import { eventually } from '@flotilla/pace/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createUpgrade } from '../testing/operator-case.ts';
import { casesIn, policy } from '../testing/real-world-case.ts';
import { SERVICES } from './clients/monitoring-access.ts';

const Service = resource('v1', 'Service', 'services', true, KubeObject);
const { ref } = SERVICES.deploymentValidation;
const sample = (value: number) =>
  `# TYPE deployment_validation_operator_pdb_min_available gauge\ndeployment_validation_operator_pdb_min_available{name="web",namespace="shop"} ${value}\n`;

const world = casesIn({ ...servers, ...simulators }, { beforeAll, afterAll, beforeEach, afterEach });
let service: HostileService | undefined;
beforeAll(async () => {
  await world().client.create(Namespace, { metadata: { name: ref.namespace } });
});
afterEach(async () => {
  await world().stopOperator();
  await world().client.delete(Service, ref);
  await service?.[Symbol.asyncDispose]();
  service = undefined;
});

const install = (port = 'http-metrics') =>
  world().client.create(Service, { metadata: ref, spec: { selector: { app: 'dvo' }, ports: [{ name: port, port: 8383 }] } });

/** Starts the operator; the Service's name leads nowhere here, so it asks by a proxy, which is the one that plays. */
async function startWith(...replies: Parameters<typeof startHostileService>): Promise<void> {
  service = await startHostileService(...replies);
  world().startOperator({ HTTP_PROXY: service.url.href, NO_PROXY: '127.0.0.1' });
}

/** Value of each reason of the health check that was counted. */
async function reasons(): Promise<Record<string, string>> {
  const lines = [
    ...(await world().counted()).matchAll(/^upgradeoperator_healthcheck_failed\{.*state="Upgrading".*reason="([a-z_]+)".*\} (\d)$/gm),
  ];
  return Object.fromEntries(lines.map(([, reason = '', value = '']) => [reason, value]));
}
const configureChecks = (upgradeType: string) =>
  world().configure({ upgradeType, featureGate: { enabled: ['PreHealthCheck', 'ServiceLogNotification'] } });

describe.each(['OSD', 'ARO'] as const)('%s', (type) => {
  beforeEach(async () => {
    await configureChecks(type);
    const due = policy();
    world().manager.setPolicies([due]);
    await createUpgrade(world().client, { type, upgradeAt: due.next_run, PDBForceDrainTimeout: 60 });
  });

  test('a budget that it reports is told to the owners, and holds nothing up', async () => {
    await install();
    await startWith(say(sample(1)));
    await world().untilPhase('Upgraded');
    expect(await reasons()).toMatchObject({ cluster_invalid_pdb: '1', dvo_metrics_query_failed: '0', critical_alerts_firing: '0' });
    await eventually(
      () => world().manager.serviceLogs.some(({ description }) => String(description).includes('PDBHealthcheckFailed')),
      'the log',
    );
    const told = world().manager.serviceLogs.find(({ description }) => String(description).includes('PDBHealthcheckFailed'));
    expect(told?.description).toContain('{"Name":"web","Namespace":"shop"}');
    expect(service?.requests[0]).toMatchObject({
      line: `GET http://${ref.name}.${ref.namespace}.svc.cluster.local:8383/metrics`,
      authorization: undefined,
    });
  });

  test('where it reports nothing, nothing is told', async () => {
    await install();
    await startWith(say(sample(0)));
    await world().untilPhase('Upgraded');
    expect(await reasons()).toMatchObject({ cluster_invalid_pdb: '0' });
    expect(service?.requests.length).toBeGreaterThan(0);
    expect(world().manager.serviceLogs.filter(({ description }) => String(description).includes('HealthcheckFailed'))).toEqual([]);
  });

  test('where it is not installed, nobody is asked', async () => {
    await startWith(say(sample(1)));
    await world().untilPhase('Upgraded');
    expect(service?.requests).toEqual([]);
    expect(await reasons()).toMatchObject({ cluster_invalid_pdb: '0', dvo_client_creation_failed: '0' });
  });
});

test.each([
  { name: 'refuses', replies: [401], reason: 'dvo_metrics_query_failed' },
  { name: 'is overloaded', replies: [429], reason: 'dvo_metrics_query_failed' },
  { name: 'is broken', replies: [500], reason: 'dvo_metrics_query_failed' },
  { name: 'sends half an answer', replies: [half(sample(1))], reason: 'dvo_metrics_query_failed' },
  { name: 'does not answer', replies: [silence], reason: 'dvo_metrics_query_failed' },
  { name: 'has a Service without its port', replies: [500], reason: 'dvo_client_creation_failed', port: 'other' },
])('one that $name is told of, and holds nothing up', async ({ replies, reason, port }) => {
  await configureChecks('OSD');
  world().manager.setPolicies([policy()]);
  await install(port);
  await startWith(...replies);
  await world().untilPhase('Upgraded');
  expect((await reasons())[reason]).toBe('1');
  await eventually(
    () => world().manager.serviceLogs.some(({ description }) => String(description).includes('PDBHealthcheckFailed: []')),
    'the owners to be told',
  );
});
