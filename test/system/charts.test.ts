import { join } from 'node:path';
import { runCommand } from '@flotilla/control-plane/processes';
import { applyCrds } from '@flotilla/control-plane/servers';
import { eventually } from '@flotilla/pace/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { CHARTS, NAMESPACE } from './chart-hub.ts';
import { type Chart, type ChartServer, CONSOLE, PROXY, REQUIRED, Rendered, renderChart, sets, startChartServer } from './chart-server.ts';
import { machineConfigCrds } from './pinned-image-sets.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const RELEASE = `registry.example.com/releases/release@${DIGEST}`;

let world: ChartServer;

beforeAll(async () => {
  world = await startChartServer();
});
afterAll(() => world?.[Symbol.asyncDispose]());

const render = (chart: Chart, ...values: string[]) => renderChart(world, chart, values);

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
    { name: 'hubs without Redis', chart: 'hub', values: ['replicas=2'] },
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

  test.each([
    { name: 'a misspelt value', chart: 'hub', values: ['replica=2'], why: 'replica' },
    { name: 'a console nobody knows the address of', chart: 'hub', values: [...CONSOLE, 'console.address='], why: 'console.address' },
    { name: 'a console in the clear', chart: 'hub', values: [...CONSOLE, 'console.tls.secretName='], why: 'console.tls.secretName' },
    { name: 'a console that is opened in the clear', chart: 'hub', values: ['console.address=http://a.example'], why: '/console/address' },
    { name: 'workers on a store of the hub alone', chart: 'hub', values: ['workers.enabled=true'], why: 'redis.url' },
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
    {
      name: 'authorities for a queue store without TLS',
      chart: 'hub',
      values: ['redis.url=redis://me:hunter2@queue:6379', 'redis.ca.configMap=queue-ca'],
      why: 'redis.url is "redis://***@queue:6379": has no TLS, for which redis.ca names authorities: write rediss://',
    },
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
