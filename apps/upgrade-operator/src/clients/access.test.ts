import { ManualClock } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { createMonitoringAccess, SERVICES } from './monitoring-access.ts';
import { createClusterIdentity } from './ocm.ts';

/** A client of an API server that has these objects, by path of kind and name. */
function clientWith(objects: Record<string, unknown>) {
  const reads: string[] = [];
  const client: Pick<Client, 'get' | 'request'> = {
    async get(kind, { namespace, name }) {
      const key = `${kind.plural}/${namespace}/${name}`;
      reads.push(key);
      if (objects[key] instanceof Error) throw objects[key];
      return objects[key] === undefined ? undefined : kind.schema.parse({ metadata: { namespace, name }, ...Object(objects[key]) });
    },
    async request(method, path) {
      reads.push(`${method} ${path}`);
      return { status: { token: `token-${reads.length}` } };
    },
  };
  return { client, reads, objects };
}

const dockerConfig = (value: unknown) => ({
  data: { '.dockerconfigjson': Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64') },
});
const PULL_SECRET = 'secrets/openshift-config/pull-secret';
const good = dockerConfig({ auths: { 'cloud.openshift.com': { auth: 'c2VjcmV0' }, other: {} } });

test('the identity is read once, and anew when it is refused or old', async () => {
  const clock = new ManualClock();
  const { client, reads, objects } = clientWith({ [PULL_SECRET]: good });
  const identity = createClusterIdentity({ client, clusterId: () => 'id', clock });
  expect(await identity(false)).toEqual({ clusterId: 'id', token: 'c2VjcmV0' });
  await identity(false);
  expect(reads).toHaveLength(1);
  objects[PULL_SECRET] = dockerConfig({ auths: { 'cloud.openshift.com': { auth: 'bmV3' } } });
  expect(await identity(true)).toEqual({ clusterId: 'id', token: 'bmV3' });
  await clock.advance(600_000);
  await identity(false);
  expect(reads).toHaveLength(3);
});

test.each([
  { name: 'no pull secret', given: undefined, want: 'Secret openshift-config/pull-secret is missing' },
  { name: 'an unreadable one', given: new Error('forbidden'), want: 'Secret openshift-config/pull-secret cannot be read: forbidden' },
  { name: 'no entry', given: dockerConfig({ auths: {} }), want: 'has no auths["cloud.openshift.com"].auth in .dockerconfigjson' },
  { name: 'no JSON', given: dockerConfig('secret {'), want: 'has no auths["cloud.openshift.com"].auth in .dockerconfigjson' },
])('says what is missing with $name, and nothing of what is there', async ({ given, want }) => {
  const { client } = clientWith({ [PULL_SECRET]: given });
  const identity = createClusterIdentity({ client, clusterId: () => 'id', clock: new ManualClock() });
  const error = await identity(false).catch((reason: unknown) => reason);
  expect(error).toMatchObject({
    code: 'FLOTILLA_SERVICE_NOT_CONFIGURED',
    message: expect.stringMatching(/^failed to retrieve cluster access token: /),
  });
  expect(String(error)).toContain(want);
  expect(String(error)).not.toContain('secret {');
});

test('a cluster without an id has no identity', async () => {
  const { client } = clientWith({ [PULL_SECRET]: good });
  const identity = createClusterIdentity({ client, clusterId: () => undefined, clock: new ManualClock() });
  await expect(identity(false)).rejects.toThrow('the ClusterVersion named version has no spec.clusterID');
});

const PROMETHEUS = 'services/openshift-monitoring/prometheus-k8s';

test('addresses, authority and token of monitoring are kept per process', async () => {
  const clock = new ManualClock();
  const { client, reads } = clientWith({
    [PROMETHEUS]: {
      spec: {
        ports: [
          { name: 'other', port: 1 },
          { name: 'web', port: 9091 },
        ],
      },
    },
    'configmaps/openshift-monitoring/serving-certs-ca-bundle': { data: { 'service-ca.crt': 'PEM' } },
  });
  const access = createMonitoringAccess({ client, clock });
  const look = async () => [String(await access.url(SERVICES.prometheus)), await access.ca(), await access.authorize(false)];
  const [first, second] = await Promise.all([look(), look()]);
  expect(first).toEqual([
    'https://prometheus-k8s.openshift-monitoring.svc.cluster.local:9091/',
    'PEM',
    expect.stringMatching(/^Bearer token-\d$/),
  ]);
  expect(second).toEqual(first);
  expect(reads).toHaveLength(3);
  expect(reads).toContain('POST /api/v1/namespaces/openshift-monitoring/serviceaccounts/prometheus-k8s/token');
  expect(await access.authorize(true)).not.toBe(first[2]);
  await clock.advance(20 * 3_600_000);
  await look();
  expect(reads).toHaveLength(7);
});

test.each([
  { name: 'no Service', given: undefined, want: 'Service openshift-monitoring/prometheus-k8s is missing' },
  {
    name: 'no such port',
    given: { spec: { ports: [{ name: 'x', port: 1 }] } },
    want: 'Service openshift-monitoring/prometheus-k8s has no port named web',
  },
  {
    name: 'no right to read it',
    given: new Error('forbidden'),
    want: 'Service openshift-monitoring/prometheus-k8s cannot be read: forbidden',
  },
])('says what is missing with $name, and looks again', async ({ given, want }) => {
  const { client, objects } = clientWith({ [PROMETHEUS]: given });
  const access = createMonitoringAccess({ client, clock: new ManualClock(), keepMs: 0 });
  await expect(access.url(SERVICES.prometheus)).rejects.toMatchObject({ code: 'FLOTILLA_SERVICE_NOT_CONFIGURED', message: want });
  objects[PROMETHEUS] = { spec: { ports: [{ name: 'web', port: 9091 }] } };
  await expect(access.url(SERVICES.prometheus)).resolves.toMatchObject({ port: '9091' });
});

test('a Service that may be missing is none', async () => {
  const access = createMonitoringAccess({ client: clientWith({}).client, clock: new ManualClock() });
  expect(await access.find(SERVICES.deploymentValidation)).toBeUndefined();
});
