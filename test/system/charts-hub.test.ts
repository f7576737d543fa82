/** What the hub's chart makes of its values; all charts in all variants are in charts.test.ts. */
import { join } from 'node:path';
import { transportCrds } from '@flotilla/api/ocm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { CHARTS, NAMESPACE } from './chart-hub.ts';
import { type ChartServer, CONSOLE, PROXY, REQUIRED, renderChart, sets, startChartServer } from './chart-server.ts';

const ConsolePod = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({
        serviceAccountName: z.string(),
        automountServiceAccountToken: z.boolean(),
        containers: z.array(z.object({ name: z.string(), args: z.array(z.string()).default([]) })),
        volumes: z.array(z.unknown()),
      }),
    }),
  }),
});

const WorkerObject = z.object({
  spec: z.object({
    replicas: z.number().optional(),
    template: z.object({ metadata: z.object({ labels: z.record(z.string(), z.string()) }), spec: z.looseObject({}) }),
  }),
});
const SelectingObject = z.object({ spec: z.looseObject({ selector: z.record(z.string(), z.string()) }) });
const NetworkPolicyObject = z.object({
  spec: z.looseObject({ egress: z.array(z.looseObject({ ports: z.array(z.looseObject({ port: z.number() })) })) }),
});

let world: ChartServer;

beforeAll(async () => {
  world = await startChartServer();
});
afterAll(() => world?.[Symbol.asyncDispose]());

const render = (chart: 'hub', ...values: string[]) => renderChart(world, chart, values);

test('no hub with agents of ours is rendered where nothing limits what they write, unless told so', async () => {
  const hubWith = async (args: readonly string[], ...values: string[]) =>
    world.helm('template', 'hub', join(CHARTS, 'hub'), '-n', NAMESPACE, ...args, ...sets([...REQUIRED.hub, ...values]));
  const old = ['--kube-version', '1.29.9'];
  for (const agents of ['standalone=true', 'agents.clusters={spoke-1}']) {
    await expect(hubWith(old, agents)).rejects.toThrow(/v1\.29\.9.*agents\.writes\.allowUnlimited/);
    expect(await hubWith(old, agents, 'agents.writes.allowUnlimited=true')).not.toContain('kind: ValidatingAdmissionPolicy');
  }
  // The server of 1.28 does not serve what shares it among agents.
  const flowOf = (version: string) =>
    hubWith(['--kube-version', version], 'standalone=true', 'agents.writes.allowUnlimited=true').then((text) =>
      text.includes('FlowSchema'),
    );
  expect([await flowOf('1.28.9'), await flowOf('1.29.9')]).toEqual([false, true]);
  // Stock agents are limited where that can be, and served where it cannot.
  expect(await hubWith(old)).not.toContain('kind: ValidatingAdmissionPolicy');
  expect(await hubWith([])).toContain('name: hub-flotilla-hub-agent-writes');
  expect(await hubWith([], 'agents.writes.limit=false')).not.toContain('-agent-writes');
  expect(await hubWith([], 'agents.writes.stock=false')).not.toContain("'system:open-cluster-management:'");
});

test('the CRDs of the transport come with standalone alone', async () => {
  const crds = async (...values: string[]) =>
    (await render('hub', ...values)).objects.filter(({ kind }) => kind === 'CustomResourceDefinition').map(({ metadata }) => metadata.name);
  expect(await crds('standalone=true')).toEqual(expect.arrayContaining(transportCrds().map(({ metadata }) => metadata.name)));
  expect(await crds('standalone=true', 'crds.enabled=false')).toEqual([]);
});

test('workers are pods of their own, which the Service of the hub does not select', async () => {
  const { objects } = await render('hub', 'workers.enabled=true', 'workers.replicas=3', 'redis.url=redis://queue:6379');
  const worker = WorkerObject.parse(objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('-worker')));
  expect(worker.spec.replicas).toBe(3);
  expect(worker.spec.template.spec).toMatchObject({
    serviceAccountName: 'hub-flotilla-hub-worker',
    containers: [{ args: ['--role', 'worker'], image: 'registry.example.com/flotilla/hub:0.1.0' }],
  });
  const accountsOf = async (...values: string[]) => {
    const own = ['workers.enabled=true', 'redis.url=redis://queue:6379', 'serviceAccount.create=false', 'serviceAccount.name=mine'];
    const accounts = (await render('hub', ...own, ...values)).objects.filter(({ kind }) => kind === 'ServiceAccount');
    return accounts.map(({ metadata }) => metadata.name);
  };
  expect(await accountsOf()).toContain('hub-flotilla-hub-worker');
  expect(await accountsOf('workers.serviceAccountName=theirs')).not.toContain('hub-flotilla-hub-worker');
  const { selector } = SelectingObject.parse(objects.find(({ kind }) => kind === 'Service')).spec;
  expect(worker.spec.template.metadata.labels).not.toMatchObject(selector);
  expect((await render('hub')).objects.filter(({ kind }) => kind === 'Deployment')).toHaveLength(1);
});

test('what the puller is told on every spoke comes from values', async () => {
  const values = [
    'precacheImageAllow={a.example/team,b.example}',
    'precacheProxy.http=http://proxy:3128',
    'precacheCaBundle.configMap=own',
  ];
  const { text, deployment } = await render('hub', ...values, 'precacheRetrySeconds=60');
  const [{ env }] = deployment().spec.template.spec.containers;
  const given = Object.fromEntries(env.filter(({ name }) => name.startsWith('PRECACHE_')).map(({ name, value }) => [name, value]));
  expect(given).toEqual({
    PRECACHE_IMAGE: 'registry.example.com/flotilla/image-puller:0.1.0',
    PRECACHE_JOB_PROFILE: 'least-privilege',
    PRECACHE_IMAGE_ALLOW: 'a.example/team,b.example',
    PRECACHE_HTTP_PROXY: 'http://proxy:3128',
    PRECACHE_CA_BUNDLE: '/etc/flotilla/ca/ca-bundle.pem',
    PRECACHE_RETRY_SECONDS: '60',
  });
  expect(text).toMatch(/name: own\s+items:\s+- key: ca-bundle.crt\s+path: ca-bundle.pem/);
});

test('the console has no rights, no token, and TLS of its own or a proxy before it', async () => {
  const ofConsole = async (...values: string[]) => {
    const { objects, text } = await render('hub', ...values);
    const pod = objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'hub-flotilla-hub-console');
    return { objects, text, spec: ConsolePod.parse(pod).spec.template.spec };
  };
  expect((await render('hub')).text).not.toContain('-console');
  const own = await ofConsole(...CONSOLE);
  expect(own.spec.automountServiceAccountToken).toBe(false);
  expect(own.spec.serviceAccountName).toBe('hub-flotilla-hub-console');
  // No binding of whatever kind names its account.
  const bindings = own.objects.filter(({ kind }) => kind.endsWith('Binding'));
  expect(bindings.length).toBeGreaterThan(0);
  expect(JSON.stringify(bindings)).not.toContain('console');
  expect(JSON.stringify(own.spec.volumes)).not.toMatch(/serviceAccountToken/);
  expect(own.spec.containers[0]?.args).toEqual(expect.arrayContaining(['--listen=0.0.0.0:8443', '--tls-cert=/etc/flotilla/tls/tls.crt']));

  const behind = await ofConsole(...CONSOLE, ...PROXY);
  expect(behind.spec.containers.map(({ name }) => name)).toEqual(['console', 'proxy']);
  expect(behind.spec.containers[0]?.args).toEqual(expect.arrayContaining(['--login=x-forwarded-access-token', '--listen=127.0.0.1:8080']));
  expect(behind.text).toContain('targetPort: 8888');
});

test("the number of workers is the autoscaler's when there is one", async () => {
  const values = ['workers.enabled=true', 'workers.autoscaling.enabled=true', 'redis.url=redis://queue:6379'];
  const { objects } = await render('hub', ...values);
  const worker = WorkerObject.parse(objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('-worker')));
  expect(worker.spec.replicas).toBeUndefined();
  expect(objects.find(({ kind }) => kind === 'HorizontalPodAutoscaler')).toMatchObject({
    spec: { minReplicas: 1, maxReplicas: 8, scaleTargetRef: { name: 'hub-flotilla-hub-worker' } },
  });
});

test('a ServiceMonitor finds the Services of hub and workers', async () => {
  const values = [
    'serviceMonitor.enabled=true',
    'serviceMonitor.labels.team=fleet',
    'workers.enabled=true',
    'redis.url=redis://queue:6379',
  ];
  const { objects } = await render('hub', ...values);
  expect(objects.filter(({ kind }) => kind === 'Service')).toHaveLength(2);
  expect(objects.find(({ kind }) => kind === 'ServiceMonitor')).toMatchObject({
    metadata: { labels: { team: 'fleet' } },
    spec: { endpoints: [{ port: 'http', path: '/metrics', interval: '30s' }] },
  });
});

test('the network is closed when told so, but for what the hub needs', async () => {
  expect((await render('hub')).objects.some(({ kind }) => kind === 'NetworkPolicy')).toBe(false);
  const ports = async (...values: string[]) => {
    const policy = (await render('hub', 'networkPolicy.enabled=true', ...values)).objects.find(({ kind }) => kind === 'NetworkPolicy');
    return NetworkPolicyObject.parse(policy).spec.egress.map((rule) => rule.ports.map(({ port }) => port));
  };
  expect(await ports()).toEqual([[53, 53, 5353, 5353], [443, 6443], [443]]);
  expect(await ports('redis.url=redis://queue:6379')).toEqual([[53, 53, 5353, 5353], [443, 6443], [6379], [443]]);
  // A rule without ports would let everything out.
  await expect(ports('networkPolicy.apiServerPorts=null')).rejects.toThrow(/networkPolicy.*apiServerPorts/s);
});

test('the queue store comes by value, from a Secret, or is a container of the hub alone', async () => {
  const redis = async (...values: string[]) => {
    const [hub, ...others] = (await render('hub', ...values)).deployment().spec.template.spec.containers;
    return [hub.env.find((one) => one.name === 'REDIS_URL'), ...others.map(({ name }) => name)];
  };
  const own = { name: 'REDIS_URL', value: 'unix:///run/flotilla/redis.sock' };
  expect(await redis()).toEqual([own, 'redis']);
  expect(await redis('redis.url=redis://queue:6379')).toEqual([{ name: 'REDIS_URL', value: 'redis://queue:6379' }]);
  const secret = { name: 'REDIS_URL', valueFrom: { secretKeyRef: { name: 'queue', key: 'url' } } };
  expect(await redis('redis.url=redis://queue:6379', 'redis.existingSecret=queue')).toEqual([secret]);
  // Each hub has its own memory: the leader alone uses it.
  expect(await redis('replicas=2')).toEqual([undefined]);
  expect(await redis('redis.container.enabled=false')).toEqual([undefined]);
  const named = ['extraEnv[0].name=REDIS_URL', 'extraEnv[0].value=redis://theirs:6379'];
  expect(await redis(...named)).toEqual([{ name: 'REDIS_URL', value: 'redis://theirs:6379' }]);
});
