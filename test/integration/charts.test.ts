import { join } from 'node:path';
import { transportCrds } from '@flotilla/api/ocm';
import { runCommand } from '@flotilla/control-plane/processes';
import { applyCrds } from '@flotilla/control-plane/servers';
import { eventually } from '@flotilla/pace/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { CHARTS, NAMESPACE } from './chart-hub.ts';
import { type Chart, type ChartServer, REQUIRED, Rendered, sets, startChartServer } from './chart-server.ts';
import { machineConfigCrds } from './pinned-image-sets.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const RELEASE = `registry.example.com/releases/release@${DIGEST}`;

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

/** The console with TLS of its own. */
const CONSOLE = [
  'console.enabled=true',
  'console.image.repository=registry.example.com/flotilla/console',
  'console.address=https://console.example.com',
  'console.tls.secretName=console-tls',
];
/** A proxy in the same pod. */
const PROXY = [
  'console.login=x-forwarded-access-token',
  'console.proxy.containers[0].name=proxy',
  'console.proxy.containers[0].image=registry.example.com/oauth-proxy:1',
  'console.proxy.volumes[0].name=proxy-tls',
  'console.proxy.volumes[0].secret.secretName=proxy-tls',
  'console.proxy.port=8888',
  'console.proxy.egressPorts={443}',
];

async function render(chart: Chart, ...values: string[]) {
  const text = await world.helm(
    'template',
    chart === 'hub' ? 'hub' : 'agent',
    join(CHARTS, chart),
    '-n',
    NAMESPACE,
    ...sets([...REQUIRED[chart], ...values]),
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
        'updateGraphAllow={graph.example.com,mirror.example.com:8443}',
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
        'dashboards.enabled=true',
        'networkPolicy.enabled=true',
        'networkPolicy.from[0].podSelector.matchLabels.purpose=metrics',
      ].map((value) => value.replace('scrape=true', 'scrape=yes')),
    },
    {
      name: 'hub by a registry alone',
      chart: 'hub',
      values: ['image.repository=', 'precacheImage.repository=', 'imageRegistry=registry.example.com/f'],
    },
    { name: 'hub without RHACM', chart: 'hub', values: ['standalone=true', 'autoUpgrades=false'] },
    { name: 'hub of tenants without RHACM', chart: 'hub', values: ['standalone=true', 'tenancy=true'] },
    { name: 'hub with the console', chart: 'hub', values: [...CONSOLE, 'networkPolicy.enabled=true', 'console.namespace=ran'] },
    { name: 'hub with the console behind a proxy', chart: 'hub', values: [...CONSOLE, ...PROXY, 'networkPolicy.enabled=true'] },
    { name: 'spoke with defaults', chart: 'spoke', values: [] },
    {
      name: 'spoke with everything set',
      chart: 'spoke',
      values: [
        `image.digest=${DIGEST}`,
        'imagePullSecrets={pull}',
        'rbac.talmProfile=true',
        'rbac.pinnedImageSets=true',
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
    { name: 'spoke with the upgrade operator', chart: 'spoke', values: ['upgradeOperator.enabled=true'] },
    {
      name: 'spoke with everything of the upgrade operator',
      chart: 'spoke',
      values: [
        'upgradeOperator.enabled=true',
        `upgradeOperator.image.digest=${DIGEST}`,
        'upgradeOperator.config.nodeDrain.timeOut=45',
        'upgradeOperator.config.configManager.source=OCM',
        'upgradeOperator.ocm=true',
        'upgradeOperator.cacheProof=true',
        'upgradeOperator.config.cacheProof.required=true',
        'upgradeOperator.proxy.http=http://proxy.example.com:3128',
        'upgradeOperator.proxy.https=http://proxy.example.com:3128',
        'upgradeOperator.extraEnv[0].name=EXTRA',
        'upgradeOperator.extraEnv[0].value=yes',
        'upgradeOperator.trustedCa.inject=true',
        'imagePullSecrets={pull}',
        'priorityClassName=system-cluster-critical',
        'nodeSelector.purpose=test',
      ],
    },
    {
      name: 'spoke with the version operator',
      chart: 'spoke',
      values: ['versionOperator.enabled=true', `versionOperator.release=${RELEASE}`],
    },
    {
      name: 'spoke with everything of the version operator',
      chart: 'spoke',
      values: [
        'versionOperator.enabled=true',
        `versionOperator.release=${RELEASE}`,
        `versionOperator.image.digest=${DIGEST}`,
        'versionOperator.profile=edge',
        'versionOperator.registry.pullSecret=pull',
        'versionOperator.registry.caConfigMap=authorities',
        'versionOperator.registry.mirrorsConfigMap=mirrors',
        'versionOperator.registry.insecure={registry.example.com:5000}',
        'versionOperator.cache.claim=releases',
        'versionOperator.metrics.servingSecret=serving',
        'versionOperator.proxy.https=http://proxy.example.com:3128',
        'versionOperator.extraEnv[0].name=EXTRA',
        'versionOperator.extraEnv[0].value=yes',
        'versionOperator.rules[0].apiGroups={apps}',
        'versionOperator.rules[0].resources={deployments}',
        'versionOperator.rules[0].verbs={get,list,watch,create,update,patch,delete}',
      ],
    },
    {
      name: 'spoke with a version operator that observes',
      chart: 'spoke',
      values: ['versionOperator.enabled=true', `versionOperator.release=${RELEASE}`, 'versionOperator.observe=true'],
    },
  ];

  test.each(['hub', 'spoke'] as const)(
    '%s passes lint as it is: what only an installation knows is said when it is rendered',
    async (chart) => {
      expect(await world.helm('lint', join(CHARTS, chart))).toContain('1 chart(s) linted, 0 chart(s) failed');
    },
  );

  test.each(variants)('$name passes lint and a strict dry run on the API server', async ({ chart, values }) => {
    await world.helm('lint', '--strict', join(CHARTS, chart), ...sets([...REQUIRED[chart], ...values]));
    const { text, objects } = await render(chart, ...values);
    const printed = await runCommand(
      world.tools.path('kubectl'),
      ['--kubeconfig', world.server.kubeconfig, 'apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'],
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

  test('the puller changes PinnedImageSets of upgrades where it is asked for, and no others', async () => {
    await applyCrds(world.admin, machineConfigCrds);
    const kubectl = (args: readonly string[], input = '') =>
      runCommand(world.tools.path('kubectl'), ['--kubeconfig', world.server.kubeconfig, ...args], { input, timeoutMs: 30_000 });
    const { text } = await render('spoke', 'rbac.pinnedImageSets=true');
    expect((await render('spoke')).text).not.toContain('pinnedimagesets');
    const own = text.split(/^---$/m).filter((each) => /^ {2}name: \S+-pins$/m.test(each));
    expect(own).toHaveLength(4);
    await kubectl(['apply', '-f', '-'], own.join('\n---\n'));
    const asPuller = ['--as', 'system:serviceaccount:openshift-talo-pre-cache:pre-cache-agent'];
    const set = (name: string, labels: object) =>
      JSON.stringify({
        ...{ apiVersion: 'machineconfiguration.openshift.io/v1', kind: 'PinnedImageSet', metadata: { name, labels } },
        spec: { pinnedImages: [{ name: `registry.test/a@${DIGEST}` }] },
      });
    const upgrade = { 'flotilla.io/upgrade-uid': 'a' };
    const create = (name: string, labels: object) => kubectl([...asPuller, 'create', '-f', '-'], set(name, labels));
    // A policy takes a moment to be in force.
    const isRefused = (name: string, labels: object) =>
      create(name, labels).then(
        () => false,
        (error: unknown) => String(error).includes(`may not change PinnedImageSet ${name}`),
      );
    let tries = 0;
    await eventually(() => isRefused(`theirs-${tries++}`, upgrade), 'a refusal', 60_000);
    expect(await isRefused('flotilla-theirs', {})).toBe(true);
    await create('flotilla-a-master', upgrade);
    await kubectl(['create', '-f', '-'], set('admins', {}));
    await expect(kubectl([...asPuller, 'delete', 'pinnedimagesets', 'admins'])).rejects.toThrow('may not change PinnedImageSet admins');
    await kubectl([...asPuller, 'delete', 'pinnedimagesets', 'flotilla-a-master']);
  });

  const agentWith = async (args: readonly string[]) => {
    const text = await world.helm('template', 'agent', join(CHARTS, 'spoke'), '-n', NAMESPACE, ...sets(REQUIRED.spoke), ...args);
    return { text, kinds: parseAllDocuments(text).flatMap((each) => (each.contents === null ? [] : [Rendered.parse(each.toJS()).kind])) };
  };

  test('the agent lets the cluster give it a group, and may hand out the privileged constraints, where there are any', async () => {
    const plain = await agentWith([]);
    expect(plain.text).toContain('fsGroup: 65532');
    expect(plain.text).not.toContain('openshift:scc');
    const openshift = await agentWith(['--api-versions', 'security.openshift.io/v1']);
    // The agent's own pod: the admission policy names the user of the puller's.
    const pod = openshift.text.split('---').find((each) => each.includes('kind: Deployment'));
    expect(pod).not.toMatch(/fsGroup|runAsUser|runAsGroup/);
    expect(pod).toContain('runAsNonRoot');
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

  test('the upgrade operator comes when it is asked for, with its CRD and the two Services of its metrics', async () => {
    const names = async (...values: string[]) =>
      (await render('spoke', ...values)).objects
        .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
        .filter((name) => /upgrade/.test(name));
    expect(await names()).toEqual([]);
    const installed = await names('upgradeOperator.enabled=true', 'upgradeOperator.serviceMonitor.enabled=true');
    expect(installed).toEqual(
      expect.arrayContaining([
        'Namespace openshift-managed-upgrade-operator',
        'CustomResourceDefinition upgradeconfigs.upgrade.managed.openshift.io',
        'Deployment agent-flotilla-spoke-upgrade-operator',
        'Service managed-upgrade-operator-metrics',
        'Service managed-upgrade-operator-custom-metrics',
        'ServiceMonitor managed-upgrade-operator-metrics',
        'ServiceMonitor managed-upgrade-operator-custom-metrics',
      ]),
    );
    expect(installed).not.toContain('ConfigMap managed-upgrade-operator-config');
    expect(await names('upgradeOperator.enabled=true', 'crds.enabled=false')).not.toContain(
      'CustomResourceDefinition upgradeconfigs.upgrade.managed.openshift.io',
    );
  });

  test('Prometheus may find the Services of the upgrade operator where it is to scrape them, and nothing more', async () => {
    const rendered = async (...values: string[]) =>
      (await render('spoke', 'upgradeOperator.enabled=true', ...values)).objects.filter(({ metadata }) =>
        metadata.name.endsWith('-metrics'),
      );
    const roles = (objects: Awaited<ReturnType<typeof rendered>>) => objects.filter(({ kind }) => kind.startsWith('Role'));
    expect(roles(await rendered())).toEqual([]);
    expect(roles(await rendered('upgradeOperator.serviceMonitor.enabled=true'))).toMatchObject([
      {
        kind: 'Role',
        rules: [
          { apiGroups: [''], resources: ['services', 'endpoints', 'pods'], verbs: ['get', 'list', 'watch'] },
          { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['get', 'list', 'watch'] },
        ],
      },
      { kind: 'RoleBinding', subjects: [{ kind: 'ServiceAccount', name: 'prometheus-k8s', namespace: 'openshift-monitoring' }] },
    ]);
    const without = ['upgradeOperator.serviceMonitor.enabled=true', 'upgradeOperator.serviceMonitor.serviceAccount.name='];
    expect(roles(await rendered(...without))).toEqual([]);
  });

  test.each([
    { name: 'filled by the cluster', value: 'inject=true', configMap: 'agent-flotilla-spoke-upgrade-operator-trusted-ca', made: 1 },
    { name: 'of somebody else', value: 'configMap=corporate', configMap: 'corporate', made: 0 },
  ])('the upgrade operator trusts the authorities of a ConfigMap, $name', async ({ value, configMap, made }) => {
    const { objects } = await render('spoke', 'upgradeOperator.enabled=true', `upgradeOperator.trustedCa.${value}`);
    const injected = objects.filter(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMap);
    expect(injected).toHaveLength(made);
    if (made > 0) expect(injected[0]).toMatchObject({ metadata: { labels: { 'config.openshift.io/inject-trusted-cabundle': 'true' } } });
    const text = JSON.stringify(objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('-upgrade-operator')));
    expect(text).toContain('{"name":"NODE_EXTRA_CA_CERTS","value":"/etc/flotilla/trusted-ca/ca-bundle.crt"}');
    expect(text).toContain(`"configMap":{"name":"${configMap}","optional":true`);
  });

  test('the version operator comes when it is asked for, and is cluster-admin only where nothing less is named', async () => {
    const objects = async (...values: string[]) =>
      (await render('spoke', ...values)).objects.filter(({ metadata }) =>
        /version-operator|clusterversions|clusteroperators/.test(metadata.name),
      );
    expect(await objects()).toEqual([]);
    const enabled = ['versionOperator.enabled=true', `versionOperator.release=${RELEASE}`];
    const roleOf = async (...values: string[]) => {
      const found = await objects(...enabled, ...values);
      return [
        JSON.stringify(found.find(({ kind }) => kind === 'ClusterRoleBinding')).match(/"roleRef":{[^}]*"name":"([^"]*)"/)?.[1],
        found.map(({ kind }) => kind).includes('ClusterRole'),
      ];
    };
    expect((await objects(...enabled)).map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual(
      expect.arrayContaining([
        'CustomResourceDefinition clusterversions.config.openshift.io',
        'CustomResourceDefinition clusteroperators.config.openshift.io',
        'Deployment agent-flotilla-spoke-version-operator',
      ]),
    );
    expect(await roleOf()).toEqual(['cluster-admin', false]);
    expect(await roleOf('versionOperator.observe=true')).toEqual(['agent-flotilla-spoke-version-operator', true]);
    const rule = ['apiGroups={apps}', 'resources={deployments}', 'verbs={get}'].map((part) => `versionOperator.rules[0].${part}`);
    expect(await roleOf(...rule)).toEqual(['agent-flotilla-spoke-version-operator', true]);
    const observed = (await objects(...enabled, 'versionOperator.observe=true')).find(({ kind }) => kind === 'ClusterRole');
    expect(JSON.stringify(observed)).toContain('"verbs":["get","list","watch"]');
    expect(JSON.stringify(observed)).not.toMatch(/create|update|patch|delete/);
    // Nor Secrets, by name or as part of everything.
    expect(JSON.stringify(observed)).not.toMatch(/secrets|"apiGroups":\["\*"\]/);
    const operatorPod = (await objects(...enabled, 'versionOperator.monitoringAudience=monitoring')).find(
      ({ kind }) => kind === 'Deployment',
    );
    expect(JSON.stringify(operatorPod)).toMatch(/"METRICS_TOKEN_FILE","value":"\/var\/run\/secrets\/flotilla\/monitoring\/token"/);
    expect(JSON.stringify(operatorPod)).toMatch(/"serviceAccountToken":\{[^}]*"audience":"monitoring"/);
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
    expect(behind.spec.containers[0]?.args).toEqual(
      expect.arrayContaining(['--login=x-forwarded-access-token', '--listen=127.0.0.1:8080']),
    );
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
    { name: 'two hubs on the in-process store', chart: 'hub', values: ['replicas=2'], why: 'redis.url' },
    { name: 'a console nobody knows the address of', chart: 'hub', values: [...CONSOLE, 'console.address='], why: 'console.address' },
    { name: 'a console in the clear', chart: 'hub', values: [...CONSOLE, 'console.tls.secretName='], why: 'console.tls.secretName' },
    { name: 'a console that is opened in the clear', chart: 'hub', values: ['console.address=http://a.example'], why: '/console/address' },
    { name: 'workers on the in-process store', chart: 'hub', values: ['workers.enabled=true'], why: 'redis.url' },
    {
      name: 'agents of clusters that a standalone hub lets in itself',
      chart: 'hub',
      values: ['standalone=true', 'agents.clusters={spoke-1}'],
      why: 'agents.clusters',
    },
    {
      name: 'an upgrade operator in no namespace',
      chart: 'spoke',
      values: ['upgradeOperator.namespace=A B'],
      why: '/upgradeOperator/namespace',
    },
    {
      name: 'a version operator without a release',
      chart: 'spoke',
      values: ['versionOperator.enabled=true'],
      why: 'versionOperator.release is needed',
    },
    { name: 'a rule for works without verbs', chart: 'spoke', values: ['works.rules[0].apiGroups={apps}'], why: '/works/rules/0' },
    { name: 'a queue store that is no Redis URL', chart: 'hub', values: ['redis.url=queue:6379'], why: '/redis/url' },
    { name: 'a digest that is none', chart: 'spoke', values: ['image.digest=sha256:abc'], why: '/image/digest' },
    { name: 'no cluster name', chart: 'spoke', values: ['clusterName='], why: 'clusterName is required' },
    {
      name: 'no kubeconfig for the hub',
      chart: 'spoke',
      values: ['hub.kubeconfigSecret='],
      why: 'hub.kubeconfigSecret is required',
    },
    {
      name: 'a hub without an image',
      chart: 'hub',
      values: ['image.repository='],
      why: 'imageRegistry is not set and has no default: put',
    },
    {
      name: 'an agent without an image',
      chart: 'spoke',
      values: ['image.repository='],
      why: 'pass --set imageRegistry=registry.example.com/flotilla, or image.repository for',
    },
  ] as const)('refuses $name and says so', async ({ chart, values, why }) => {
    await expect(render(chart, ...values)).rejects.toThrow(why);
  });
});
