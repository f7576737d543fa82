import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { policyCrds, transportCrds } from '@flotilla/api/ocm';
import { SpokeName } from '@flotilla/api/ran';
import { runCommand } from '@flotilla/control-plane/processes';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { ensureTools, type Tools } from '@flotilla/control-plane/toolchain';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { applyCrds } from '../fixtures/crds.ts';

const charts = fileURLToPath(new URL('../../charts', import.meta.url));
const NAMESPACE = 'flotilla';
const AGENT = `system:serviceaccount:${NAMESPACE}:agent-flotilla-spoke`;
const HUB = `system:serviceaccount:${NAMESPACE}:hub-flotilla-hub`;
const DIGEST = `sha256:${'a'.repeat(64)}`;

/** Values that a chart cannot do without. */
const required = { hub: [], spoke: ['clusterName=spoke-1', 'hub.kubeconfigSecret=hub-kubeconfig'] } as const;
type Chart = keyof typeof required;

const Rendered = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional(), annotations: z.record(z.string(), z.string()).optional() }),
});
const DeploymentObject = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({
        containers: z.tuple([
          z.looseObject({ image: z.string(), env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })) }),
        ]),
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

/** As much of OpenShift as helm sees of it. */
const securityContextConstraints = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'securitycontextconstraints.security.openshift.io' },
  spec: {
    group: 'security.openshift.io',
    scope: 'Cluster',
    names: { plural: 'securitycontextconstraints', singular: 'securitycontextconstraints', kind: 'SecurityContextConstraints' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};

let tools: Tools;
let server: ApiServer;
let admin: Client;
let home: string;

beforeAll(async () => {
  tools = await ensureTools(['helm', 'kubectl']);
  home = await mkdtemp(join(tmpdir(), 'flotilla-helm-'));
  server = await startApiServer({
    users: [AGENT, HUB].map((name) => ({ name, groups: ['system:serviceaccounts', 'system:authenticated'] })),
  });
  admin = await server.client();
  await admin.request('POST', '/api/v1/namespaces', { body: { metadata: { name: NAMESPACE } } });
  for (const name of ['spoke-1', 'spoke-2']) await admin.request('POST', '/api/v1/namespaces', { body: { metadata: { name } } });
  await applyCrds(admin, [...transportCrds(), ...policyCrds(), securityContextConstraints]);
});

afterAll(async () => {
  await server?.stop();
  if (home) await rm(home, { recursive: true, force: true });
});

const helm = (...args: string[]) =>
  runCommand(tools.path('helm'), args, {
    // Helm keeps its cache and settings here; a release's record is on the server.
    env: { HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home, KUBECONFIG: server.kubeconfig },
    timeoutMs: 60_000,
  });
const sets = (values: readonly string[]) => values.flatMap((value) => ['--set', value]);

async function render(chart: Chart, ...values: string[]) {
  const text = await helm(
    'template',
    chart === 'hub' ? 'hub' : 'agent',
    join(charts, chart),
    '-n',
    NAMESPACE,
    ...sets([...required[chart], ...values]),
  );
  const objects = parseAllDocuments(text).flatMap((document) => (document.contents === null ? [] : [Rendered.parse(document.toJS())]));
  return { text, objects, deployment: () => DeploymentObject.parse(objects.find((object) => object.kind === 'Deployment')) };
}

describe('rendering', () => {
  const variants: { name: string; chart: Chart; values: string[] }[] = [
    { name: 'hub with defaults', chart: 'hub', values: [] },
    {
      name: 'hub with everything set',
      chart: 'hub',
      values: [
        `image.digest=${DIGEST}`,
        `precacheImage.digest=${DIGEST}`,
        'imagePullSecrets={pull}',
        'replicas=2',
        'redis.existingSecret=queue',
        'talmStrict=true',
        'precacheJobProfile=talm',
        'precacheImageAllow={registry.example.com/team,registry.example.com/other}',
        'precacheProxy.http=http://proxy.example.com:3128',
        'precacheProxy.except=.example.com',
        'precacheCaBundle.configMap=authorities',
        'precacheRetrySeconds=1200',
        'updateGraphUrl=https://graph.example.com/v1/graph',
        'extraEnv[0].name=EXTRA',
        'extraEnv[0].value=yes',
        'agents.clusters={spoke-1,spoke-2}',
        'service.annotations.prometheus\\.io/scrape=true',
        'serviceAccount.annotations.purpose=test',
        'podLabels.purpose=test',
        'podAnnotations.purpose=test',
        'nodeSelector.purpose=test',
        'tolerations[0].operator=Exists',
        'priorityClassName=system-cluster-critical',
        'backupImage=registry.example.com/backup:1',
        'workers.enabled=true',
        'workers.autoscaling.enabled=true',
        'networkPolicy.enabled=true',
        'networkPolicy.from[0].podSelector.matchLabels.purpose=metrics',
      ].map((value) => value.replace('scrape=true', 'scrape=yes')),
    },
    { name: 'hub without RHACM', chart: 'hub', values: ['standalone=true', 'autoUpgrades=false'] },
    { name: 'hub of tenants without RHACM', chart: 'hub', values: ['standalone=true', 'tenancy=true'] },
    { name: 'spoke with defaults', chart: 'spoke', values: [] },
    {
      name: 'spoke with everything set',
      chart: 'spoke',
      values: [
        `image.digest=${DIGEST}`,
        'imagePullSecrets={pull}',
        'rbac.talmProfile=true',
        'hub.renewToken=true',
        'works.rules[0].apiGroups={apps}',
        'works.rules[0].resources={deployments}',
        'works.rules[0].verbs={get,create,patch,delete}',
        'rbac.extraRules[0].apiGroups={operators.coreos.com}',
        'rbac.extraRules[0].resources={installplans}',
        'rbac.extraRules[0].verbs={get,patch}',
        'confinement.namespaces={openshift-talo-pre-cache,openshift-talo-backup}',
        'podLabels.purpose=test',
        'priorityClassName=system-cluster-critical',
      ],
    },
  ];

  test.each(variants)('$name passes lint and a strict dry run on the API server', async ({ chart, values }) => {
    await helm('lint', '--strict', join(charts, chart), ...sets([...required[chart], ...values]));
    const { text, objects } = await render(chart, ...values);
    const printed = await runCommand(
      tools.path('kubectl'),
      ['--kubeconfig', server.kubeconfig, 'apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'],
      { input: text, timeoutMs: 60_000 },
    );
    expect(printed.trim().split('\n')).toHaveLength(objects.length);
  });

  test('an image is named by digest when there is one, else by tag, else by the chart version', async () => {
    const image = async (...values: string[]) => (await render('spoke', ...values)).deployment().spec.template.spec.containers[0].image;
    expect(await image()).toBe('registry.example.com/flotilla/spoke-agent:0.1.0');
    expect(await image('image.tag=v2')).toBe('registry.example.com/flotilla/spoke-agent:v2');
    expect(await image('image.tag=v2', `image.digest=${DIGEST}`)).toBe(`registry.example.com/flotilla/spoke-agent@${DIGEST}`);
  });

  const agentWith = async (args: readonly string[]) => {
    const text = await helm('template', 'agent', join(charts, 'spoke'), '-n', NAMESPACE, ...sets(required.spoke), ...args);
    return { text, kinds: parseAllDocuments(text).flatMap((each) => (each.contents === null ? [] : [Rendered.parse(each.toJS()).kind])) };
  };

  test('the agent lets the cluster give it a group, and may hand out the privileged constraints, where there are any', async () => {
    const plain = await agentWith([]);
    expect(plain.text).toContain('fsGroup: 65532');
    expect(plain.text).not.toContain('openshift:scc');
    const openshift = await agentWith(['--api-versions', 'security.openshift.io/v1']);
    expect(openshift.text).not.toMatch(/fsGroup|runAsUser|runAsGroup/);
    expect(openshift.text).toMatch(/resourceNames: \["system:openshift:scc:privileged"\]\s+verbs: \[bind\]/);
  });

  test('nothing is rendered that nobody confines, unless told so', async () => {
    const policy = 'ValidatingAdmissionPolicy';
    expect((await agentWith([])).kinds).toContain(policy);
    const old = ['--kube-version', '1.29.9'];
    await expect(agentWith(old)).rejects.toThrow(/v1\.29\.9.*confinement\.allowUnconfined/);
    // A server of that version that does not serve it, as the discovery of an installation shows.
    const missing = ['--kube-version', '1.31.0', '--api-versions', 'apps/v1/Deployment'];
    await expect(agentWith(missing)).rejects.toThrow('confinement.allowUnconfined');
    const served = [...missing, '--api-versions', 'admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy'];
    expect((await agentWith(served)).kinds).toContain(policy);
    for (const args of [old, missing]) {
      const { kinds } = await agentWith([...args, ...sets(['confinement.allowUnconfined=true'])]);
      expect(kinds).toContain('Deployment');
      expect(kinds).not.toContain(policy);
    }
  });

  test('the CRDs can be left out, and are kept on uninstall unless told otherwise', async () => {
    const crds = async (...values: string[]) =>
      (await render('hub', ...values)).objects.filter((object) => object.kind === 'CustomResourceDefinition');
    const kept = await crds();
    expect(kept.map((crd) => crd.metadata.name).toSorted()).toEqual([
      'clustergroupupgrades.ran.openshift.io',
      'precachingconfigs.ran.openshift.io',
    ]);
    expect(kept.map((crd) => crd.metadata.annotations?.['helm.sh/resource-policy'])).toEqual(['keep', 'keep']);
    expect((await crds('crds.keep=false')).map((crd) => crd.metadata.annotations)).toEqual([undefined, undefined]);
    expect(await crds('crds.enabled=false')).toEqual([]);
  });

  test('the CRDs of the transport come with standalone alone', async () => {
    const crds = async (...values: string[]) =>
      (await render('hub', ...values)).objects
        .filter(({ kind }) => kind === 'CustomResourceDefinition')
        .map(({ metadata }) => metadata.name);
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
  });

  test('the queue store comes by value, from a Secret, or not at all', async () => {
    const redis = async (...values: string[]) =>
      (await render('hub', ...values)).deployment().spec.template.spec.containers[0].env.find((one) => one.name === 'REDIS_URL');
    expect(await redis()).toBeUndefined();
    expect(await redis('redis.url=redis://queue:6379')).toEqual({ name: 'REDIS_URL', value: 'redis://queue:6379' });
    expect(await redis('redis.url=redis://queue:6379', 'redis.existingSecret=queue')).toEqual({
      name: 'REDIS_URL',
      valueFrom: { secretKeyRef: { name: 'queue', key: 'url' } },
    });
  });

  test.each([
    { name: 'a misspelt value', chart: 'hub', values: ['replica=2'], why: 'replica' },
    { name: 'two hubs on the embedded store', chart: 'hub', values: ['replicas=2'], why: 'redis.url' },
    { name: 'workers on the embedded store', chart: 'hub', values: ['workers.enabled=true'], why: 'redis.url' },
    {
      name: 'agents of clusters that a standalone hub lets in itself',
      chart: 'hub',
      values: ['standalone=true', 'agents.clusters={spoke-1}'],
      why: 'agents.clusters',
    },
    { name: 'a rule for works without verbs', chart: 'spoke', values: ['works.rules[0].apiGroups={apps}'], why: '/works/rules/0' },
    { name: 'a queue store that is no Redis URL', chart: 'hub', values: ['redis.url=queue:6379'], why: '/redis/url' },
    { name: 'a digest that is none', chart: 'spoke', values: ['image.digest=sha256:abc'], why: '/image/digest' },
    { name: 'no cluster name', chart: 'spoke', values: ['clusterName='], why: '/clusterName' },
    { name: 'no kubeconfig for the hub', chart: 'spoke', values: ['hub.kubeconfigSecret='], why: '/hub/kubeconfigSecret' },
  ] as const)('refuses $name and says so', async ({ chart, values, why }) => {
    await expect(render(chart, ...values)).rejects.toThrow(why);
  });
});

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
  const rules = [
    { apiGroups: [''], resources: ['configmaps'], verbs: ['create'] },
    { apiGroups: [''], resources: ['configmaps'], resourceNames: [SpokeName.progressConfigMap], verbs: ['get', 'update', 'patch'] },
  ];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: SpokeName.role };
  const subjects = [{ kind: 'ServiceAccount', name: SpokeName.serviceAccount, namespace }];
  const pod = {
    restartPolicy: 'Never',
    containers: [{ name: SpokeName.container, image: 'registry.example.com/flotilla/image-puller@sha256:0' }],
  };

  beforeAll(async () => {
    await helm('install', 'agent', join(charts, 'spoke'), '-n', NAMESPACE, ...sets(required.spoke));
    agent = await server.client(AGENT);
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
    await agent.request('POST', jobs, { body: { ...inNamespace(SpokeName.job), spec: { template: { spec: pod } } } });
    for (const path of [`/api/v1/namespaces/${namespace}`, `${jobs}/${SpokeName.job}`]) {
      expect(await agent.request('GET', path)).toMatchObject({ metadata: { uid: expect.any(String) } });
    }
    expect(await attempt(agent, 'GET', `${configMaps}/${SpokeName.progressConfigMap}`)).toBe('allowed');
  });

  const podWith = (change: object) => ({ ...inNamespace(SpokeName.job), spec: { template: { spec: { ...pod, ...change } } } });
  const mounting = (path: string) => podWith({ volumes: [{ name: 'v', hostPath: { path } }] });
  const running = (image: string, more: object = {}) => podWith({ containers: [{ name: SpokeName.container, image, ...more }] });

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
      job: running('registry.example.com/flotilla/p:1', { securityContext: { privileged: true } }),
      why: 'may not run a Job with privileges',
    },
    {
      name: 'with a capability',
      job: running('registry.example.com/flotilla/p:1', { securityContext: { capabilities: { add: ['SYS_ADMIN'] } } }),
      why: 'may not run a Job with privileges',
    },
    { name: 'in the network of the host', job: podWith({ hostNetwork: true }), why: 'may not run a Job with privileges' },
  ])('is refused a Job $name', async ({ job, why }) => {
    const path = `/apis/batch/v1/namespaces/${namespace}/jobs?dryRun=All`;
    await expect(agent.request('POST', path, { body: job })).rejects.toThrow(why);
  });

  test.each([
    { name: 'a plain cluster', file: 'plain-kubernetes' },
    { name: 'a cluster with SecurityContextConstraints', file: 'openshift' },
  ])('creates what the hub puts on $name', async ({ file }) => {
    const text = await readFile(new URL(`../../apps/hub/src/precache/recorded/${file}.yaml`, import.meta.url), 'utf8');
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
    await admin.request('DELETE', `${plurals.Job}/${SpokeName.job}`, { body: { propagationPolicy: 'Background' } }).catch(() => undefined);
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

  beforeAll(async () => {
    await helm(
      'install',
      'hub',
      join(charts, 'hub'),
      '-n',
      NAMESPACE,
      ...sets(['agents.clusters={spoke-1}', 'workers.enabled=true', 'redis.url=redis://queue:6379']),
    );
    hub = await server.client(HUB);
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
    { what: 'patch placements.cluster.open-cluster-management.io', may: true },
    { what: 'patch managedclusters.cluster.open-cluster-management.io', may: true },
    { what: 'watch clustergroupupgrades.ran.openshift.io', may: true },
    { what: 'patch clustergroupupgrades.ran.openshift.io --subresource=status', may: false },
    { what: 'create clustergroupupgrades.ran.openshift.io', may: false },
    { what: 'create leases.coordination.k8s.io', may: false },
    { what: 'create namespaces', may: false },
    { what: 'get secrets', may: false },
  ])('a worker may $what: $may', async ({ what, may }) => {
    const args = ['--kubeconfig', server.kubeconfig, 'auth', 'can-i', ...what.split(' '), '-n', NAMESPACE];
    const as = ['--as', `system:serviceaccount:${NAMESPACE}:hub-flotilla-hub-worker`];
    const answer = await runCommand(tools.path('kubectl'), [...args, ...as]).catch((error: unknown) => String(error));
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
      server.kubeconfig,
      'auth',
      'can-i',
      ...what.split(' '),
      '--as',
      'system:serviceaccount:spoke-1:spoke-agent',
    ];
    // kubectl says no by its exit code.
    const answer = await runCommand(tools.path('kubectl'), [...args, '-n', namespace]).catch((error: unknown) => String(error));
    expect(answer).toMatch(may ? /^yes/ : /ended with 1/);
  });

  test('is uninstalled without taking the upgrades with it', async () => {
    await admin.request('POST', upgrades, {
      body: {
        apiVersion: 'ran.openshift.io/v1alpha1',
        kind: 'ClusterGroupUpgrade',
        metadata: { name: 'kept' },
        spec: { remediationStrategy: { maxConcurrency: 1 } },
      },
    });
    await helm('uninstall', 'hub', '-n', NAMESPACE, '--wait=hookOnly');
    expect(await admin.request('GET', `${upgrades}/kept`)).toMatchObject({ metadata: { name: 'kept' } });
  });
});
