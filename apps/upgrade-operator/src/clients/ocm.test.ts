import { type ClusterManager, startClusterManager } from '@flotilla/control-plane/servers';
import { ServiceErrorCode } from '@flotilla/http';
import { systemClock } from '@flotilla/runtime';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createOcm, isOcmAgent, type OcmClient } from './ocm.ts';

const QUICK = { attempts: 3, baseMs: 1, maxMs: 5 };
const TOKEN = 'c2VjcmV0LW9mLXRlc3Q=';
const policy = (id: string) => ({ id, version: '4.14.12', next_run: '2026-01-01T00:00:00Z' });

let manager: ClusterManager;
let ocm: OcmClient;
let token = TOKEN;
beforeEach(async () => {
  token = TOKEN;
  manager = await startClusterManager({ externalId: 'external-1', token: TOKEN });
  const identity = async () => ({ clusterId: 'external-1', token });
  ocm = createOcm({ baseUrl: `${manager.url}/`, identity, clock: systemClock, retry: QUICK, timeoutMs: 2_000 });
});
afterEach(async () => {
  await ocm[Symbol.asyncDispose]();
  await manager.stop();
});

test('finds the cluster by its external id, as the operator', async () => {
  expect(await ocm.cluster()).toMatchObject({ id: manager.clusterId, version: { channel_group: 'stable' } });
  expect(manager.requests[0]).toMatchObject({
    path: '/api/clusters_mgmt/v1/clusters?search=external_id+%3D+%27external-1%27&size=1',
    userAgent: expect.stringMatching(/^managed-upgrade-operator\/v1\.0\.0 \(linux\//),
  });
});

test('says that the cluster is unknown', async () => {
  manager.setKnown(false);
  await expect(ocm.cluster()).rejects.toMatchObject({
    code: 'FLOTILLA_OCM_CLUSTER_UNKNOWN',
    message: "OCM did not return a valid cluster ID: pull-secret may be invalid OR cluster's owner is disabled/banned in OCM",
  });
});

test('reads every page of policies', async () => {
  manager.setPolicies(Array.from({ length: 250 }, (_, i) => policy(`p${i}`)));
  expect((await ocm.policies(manager.clusterId)).map(({ id }) => id)).toEqual(Array.from({ length: 250 }, (_, i) => `p${i}`));
  expect(manager.requests).toHaveLength(3);
});

test('writes and reads the state of a policy', async () => {
  manager.setPolicies([policy('p')]);
  await ocm.setPolicyState(manager.clusterId, 'p', { value: 'started', description: 'it goes' });
  expect(manager.requests[0]).toMatchObject({
    method: 'PATCH',
    body: { kind: 'UpgradePolicyState', value: 'started', description: 'it goes' },
  });
  expect(await ocm.policyState(manager.clusterId, 'p')).toMatchObject({ value: 'started', description: 'it goes' });
});

test('posts a service log once, also for a process that does not know that it did', async () => {
  const log = { summary: 'started', description: 'version 1', docReferences: ['https://docs.example'] };
  await ocm.ensureServiceLog(manager.clusterId, log);
  await ocm.ensureServiceLog(manager.clusterId, log);
  await ocm.ensureServiceLog(manager.clusterId, { ...log, description: 'version 2' });
  expect(manager.serviceLogs).toEqual([
    {
      kind: 'LogEntry',
      severity: 'Info',
      internal_only: false,
      service_name: 'RedHat Managed Upgrade Notifications',
      log_type: 'Cluster Updates',
      summary: 'started',
      description: 'version 1',
      cluster_id: manager.clusterId,
      doc_references: ['https://docs.example'],
    },
    expect.objectContaining({ description: 'version 2' }),
  ]);
});

test('posts the same service log again for an upgrade that began after it', async () => {
  const log = { summary: 'started', description: 'version 1' };
  const later = new Date(Date.now() + 3_600_000).toISOString();
  await ocm.ensureServiceLog(manager.clusterId, log, { since: '2026-01-01T00:00:00Z' });
  await ocm.ensureServiceLog(manager.clusterId, log, { since: '2026-01-01T00:00:00Z' });
  expect(manager.serviceLogs).toHaveLength(1);
  await ocm.ensureServiceLog(manager.clusterId, log, { since: later });
  expect(manager.serviceLogs).toHaveLength(2);
});

test('reads the policies that can be read, and says of the others what is wrong', async () => {
  const items = [
    policy('p'),
    { ...policy('q'), version: 4.15 },
    { ...policy('r'), next_run: 7 },
    { ...policy('s'), next_run: null },
    'x',
    { version: '4.15.1' },
  ];
  manager.setFaults({ path: /upgrade_policies/, body: JSON.stringify({ total: items.length, items }) });
  expect(await ocm.policies(manager.clusterId)).toMatchObject([
    { id: 'p', version: '4.14.12' },
    { id: 'q', problem: expect.stringMatching(/^version: /) },
    { id: 'r', problem: expect.stringMatching(/^next_run: /) },
    { id: 's', next_run: '' },
    { id: '', problem: expect.stringContaining('expected object') },
    { id: '', problem: expect.stringMatching(/^id: /) },
  ]);
});

test('posts a service log where logs cannot be looked up', async () => {
  manager.setFaults({ path: /^GET .*cluster_logs/, status: 403 });
  await ocm.ensureServiceLog(manager.clusterId, { summary: 's', description: 'd' });
  expect(manager.serviceLogs).toHaveLength(1);
});

test('words a refusal as OCM clients do, without the credential', async () => {
  manager.setPolicies([policy('p')]);
  manager.setFaults({ path: /^PATCH/, status: 500 });
  await expect(ocm.setPolicyState(manager.clusterId, 'p', { value: 'started', description: '' })).rejects.toThrow(
    `request to '${manager.url}/api/clusters_mgmt/v1/clusters/internal-1/upgrade_policies/p/state' returned error 'status is 500, identifier is '500' and code is 'CLUSTERS-MGMT-500': played by a test'`,
  );
  expect(manager.requests).toHaveLength(1);
});

test('a token that is refused is read anew, once', async () => {
  manager.setToken('bmV3');
  await expect(ocm.cluster()).rejects.toMatchObject({ code: ServiceErrorCode.unauthorized, message: expect.not.stringContaining(TOKEN) });
  expect(manager.requests).toHaveLength(2);
  token = 'bmV3';
  await expect(ocm.cluster()).resolves.toMatchObject({ id: manager.clusterId });
});

test.each([
  { name: 'is down for a moment', faults: [{ cut: true, times: 1 }], want: undefined },
  { name: 'limits the rate', faults: [{ status: 429, times: 2 }], want: undefined },
  { name: 'limits the rate for long', faults: [{ status: 429 }], want: ServiceErrorCode.throttled },
  { name: 'has a problem', faults: [{ status: 500 }], want: ServiceErrorCode.unavailable },
  { name: 'is slow', faults: [{ delayMs: 20_000 }], want: ServiceErrorCode.timeout },
  { name: 'sends halves', faults: [{ half: true }], want: ServiceErrorCode.unreachable },
  { name: 'sends a page', faults: [{ body: '<html>' }], want: ServiceErrorCode.badAnswer },
  { name: 'sends something else', faults: [{ body: '{"total":"many"}' }], want: ServiceErrorCode.badAnswer },
])('$name', async ({ faults, want }) => {
  manager.setFaults(...faults);
  if (want === undefined) await expect(ocm.cluster()).resolves.toMatchObject({ id: manager.clusterId });
  else await expect(ocm.cluster()).rejects.toMatchObject({ code: want });
});

test('asks the agent of the cluster for what it knows, and posts without links', async () => {
  // The agent's name leads nowhere here: the proxy is the manager.
  const agent = createOcm({
    baseUrl: 'http://ocm-agent.openshift-ocm-agent-operator.svc.cluster.local:8081',
    identity: async () => ({ clusterId: 'external-1', token: TOKEN }),
    clock: systemClock,
    retry: QUICK,
    proxy: { http: manager.url },
  });
  manager.setPolicies([policy('p')]);
  const { id } = await agent.cluster();
  expect(id).toBe(manager.clusterId);
  expect(await agent.policies(id)).toHaveLength(1);
  await agent.setPolicyState(id, 'p', { value: 'started', description: '' });
  await agent.ensureServiceLog(id, { summary: 's', description: 'd', docReferences: ['https://docs.example'] });
  expect(manager.serviceLogs[0]).not.toHaveProperty('doc_references');
  const at = 'http://ocm-agent.openshift-ocm-agent-operator.svc.cluster.local:8081';
  expect(manager.requests.map(({ method, path }) => `${method} ${path.replace(at, '')}`)).toEqual([
    'GET /',
    'GET /api/clusters_mgmt/v1/clusters/internal-1/upgrade_policies?page=1&size=100',
    'PATCH /api/clusters_mgmt/v1/clusters/internal-1/upgrade_policies/p/state',
    'POST /api/service_logs/v1/cluster_logs',
  ]);
  await agent[Symbol.asyncDispose]();
});

test('knows the address of the agent', () => {
  expect(isOcmAgent('http://ocm-agent.openshift-ocm-agent-operator.svc.cluster.local:8081')).toBe(true);
  expect(isOcmAgent('https://api.openshift.com')).toBe(false);
});
