import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Annotation, conditionTime, findCondition, type KubeObject, Label, type Resource } from '@flotilla/api';
import { ClusterRoleBinding, Job, Namespace, Role, Secret, ServiceAccount } from '@flotilla/api/core';
import {
  AGENT_ACCOUNT,
  ManagedCluster,
  ManagedClusterAction,
  ManagedClusterView,
  ManifestWork,
  ManifestWorkReplicaSet,
  Placement,
  PlacementBinding,
  Policy,
} from '@flotilla/api/ocm';
import { BackupName, ClusterGroupUpgrade, PreCachingConfig, SpokeName } from '@flotilla/api/ran';
import { policyCrds } from '@flotilla/api/testing';
import { type ControllerManager, startControllerManager } from '@flotilla/control-plane/servers';
import {
  type PolicyPropagator,
  registerSpokes,
  type SimulatedSpokes,
  startPolicyPropagator,
  startSimulatedSpokes,
} from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import { type Client, requestToken } from '@flotilla/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AUDIT_IN_ONE_FILE, BEFORE_THE_ANSWER } from '../../fixtures/audit-log.ts';
import { placePolicy } from '../../fixtures/placed-policies.ts';
import { installOperator, playUpgrade, subscription } from '../../integration/rollout/operators.ts';
import { PLATFORM, PULLER } from '../../integration/world.ts';
import { type RunningProgram, startProgram, startWorker } from '../../support/programs.ts';
import {
  CHARTS,
  type ChartHub,
  HUB,
  NAMESPACE,
  OWNER_REFERENCES_ENFORCED,
  SERVICE_ACCOUNT,
  SPOKE_IMAGES,
  startChartHub,
} from '../chart-hub.ts';
import { requireRedis, type TestRedis } from '../precache/redis.ts';
import { type Asked, describeRight, isUsedBy, type Right, readAsked, readRoles, rightsOf } from './rights.ts';

const WORKER = `${HUB}-worker`;
/** The agent of spoke-1, on the hub and on its cluster; both are the same API server here. */
const AGENT = 'system:serviceaccount:spoke-1:spoke-agent';
const AGENT_ON_SPOKE = `system:serviceaccount:${NAMESPACE}:agent-flotilla-spoke`;
/** Whom it acts as when it applies works. */
const WORKS_ON_SPOKE = `${AGENT_ON_SPOKE}-works`;
const SIMULATED = ['sim-1', 'sim-2', 'sim-3'];
const HUB_VALUES = ['standalone=true', 'workers.enabled=true', 'redis.url=redis://unused'];
const SPOKE_VALUES = [
  ...SPOKE_IMAGES,
  'clusterName=spoke-1',
  'hub.kubeconfigSecret=flotilla-hub',
  'hub.renewToken=true',
  'confinement.images={registry.test/image-puller}',
  // Pre-caching by actions, whose rights are the agent's own.
  'works.precache=false',
  'works.rules[0].apiGroups={apps}',
  'works.rules[0].resources={deployments}',
  // None of these works is edited, so none is patched.
  'works.rules[0].verbs={get,create,delete}',
];

let dir: string;
let redis: TestRedis | undefined;
let world: ChartHub;
let admin: Client;
let spokes: SimulatedSpokes;
let propagator: PolicyPropagator;
let controllers: ControllerManager;
let hub: RunningProgram;
const programs: RunningProgram[] = [];

const sets = (values: readonly string[]) => values.flatMap((value) => ['--set', value]);

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'flotilla-privileges-'));
  redis = await requireRedis(dir);
  const users = [HUB, WORKER, AGENT, AGENT_ON_SPOKE];
  world = await startChartHub({
    values: HUB_VALUES,
    apiServer: {
      crds: policyCrds(),
      flags: [OWNER_REFERENCES_ENFORCED, AUDIT_IN_ONE_FILE],
      users: [WORKER, AGENT_ON_SPOKE].map((name) => ({ name, groups: SERVICE_ACCOUNT })),
      auditLogPath: join(dir, 'audit.log'),
      auditPolicy: { rules: [{ level: 'Metadata', users }, { level: 'None' }], omitStages: BEFORE_THE_ANSWER },
    },
  });
  admin = await world.server.client();
  await world.runHelm(['install', 'agent', join(CHARTS, 'spoke'), '-n', NAMESPACE, ...sets(SPOKE_VALUES)]);
  controllers = await startControllerManager(world.server);
  await registerSpokes(admin, SIMULATED);
  const job = { seconds: 0.5, jitter: 0, startupMs: 200 };
  const shape = { seed: 1, job, work: { seconds: 0.3, jitter: 0 }, namespaceDeletionMs: 300 };
  spokes = await startSimulatedSpokes({ client: admin, names: SIMULATED, ...shape });
  propagator = await startPolicyPropagator({ client: admin, seed: 1, compliance: { seconds: 0.3, jitter: 0 } });

  await begin('begun', 'sim-1');
  const steps = ['--step-concurrency', '2', '--job-view-seconds', '1', '--log-level', 'debug'];
  const images = ['--precache-image', PULLER, '--backup-image', 'registry.test/recovery:1'];
  hub = await world.startHub(['--standalone', '--redis-url', redis.url, ...steps, ...images], { AUTO_UPGRADES: 'true' });
  const kubeconfig = await world.server.kubeconfigFor(WORKER);
  programs.push(await startWorker(kubeconfig, dir, redis.url, { args: ['--namespace', NAMESPACE, ...steps, ...images] }));
  await startAgent();
});
afterAll(async () => {
  await Promise.all(programs.map((program) => program.stop()));
  await propagator?.stop();
  await spokes?.stop();
  await controllers?.stop();
  await world?.[Symbol.asyncDispose]();
  await redis?.[Symbol.asyncDispose]();
  if (dir) await rm(dir, { recursive: true, force: true });
});

/** Has the hub let spoke-1 in, and starts its agent with what it got. */
async function startAgent(): Promise<void> {
  await admin.create(ManagedCluster, { metadata: { name: 'spoke-1' }, spec: { hubAcceptsClient: true } });
  await eventually(() => admin.get(ServiceAccount, { namespace: 'spoke-1', name: AGENT_ACCOUNT }));
  const token = await requestToken(admin, { namespace: 'spoke-1', name: AGENT_ACCOUNT }, 600);
  const kubeconfig = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'hub', cluster: { server: world.server.url, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'spoke-1', user: { token } }],
    contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'spoke-1', namespace: 'spoke-1' } }],
    'current-context': 'hub',
  });
  const file = join(dir, 'hub.kubeconfig');
  await writeFile(file, kubeconfig);
  await admin.create(Secret, { metadata: { name: 'flotilla-hub', namespace: NAMESPACE }, stringData: { kubeconfig } });
  const env = {
    CLUSTER_NAME: 'spoke-1',
    HUB_KUBECONFIG: file,
    SPOKE_KUBECONFIG: await world.server.kubeconfigFor(AGENT_ON_SPOKE),
    HEALTH_PORT: '0',
    WORK_STATUS_SYNC_SECONDS: '1',
    WORKS_AS: `${NAMESPACE}/agent-flotilla-spoke-works`,
  };
  const agent = { entry: 'apps/spoke-agent/src/main.ts', args: [], dir };
  programs.push(
    await startProgram({ ...agent, name: 'agent', env, isReady: (log) => log.includes('Watching the hub') }),
    // Renews its token past half of the token's life: for this one seven minutes have gone by.
    await startProgram({
      ...agent,
      name: 'renewing-agent',
      env: { ...env, REGISTRATION: 'false', WORKS: 'false', HUB_KUBECONFIG_SECRET: `${NAMESPACE}/flotilla-hub/kubeconfig` },
      nodeFlags: ['--import=data:text/javascript,const now = Date.now; Date.now = () => now() + 430_000;'],
      isReady: (log) => log.includes('Renewed the token'),
    }),
  );
  await programs.at(-1)?.stop();
}

const deployment = (image: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'gateway', namespace: 'default' },
  spec: {
    selector: { matchLabels: { app: 'gateway' } },
    template: { metadata: { labels: { app: 'gateway' } }, spec: { containers: [{ name: 'app', image }] } },
  },
});

/** A policy that informs about these clusters, once they are all known not to comply. */
async function place(name: string, clusters: readonly string[], objects?: readonly Readonly<Record<string, unknown>>[]): Promise<void> {
  await placePolicy(admin, name, { clusters, ...(objects && { objects }) });
  const entries = async () => (await admin.get(Policy, { namespace: 'policies', name }))?.status?.status ?? [];
  const known = async () => (await entries()).filter(({ compliant }) => compliant === 'NonCompliant');
  await eventually(async () => (await known()).length === clusters.length, `policy ${name} to be rolled up`);
}

/** A template whose work the agent may apply. */
const template = (name: string) =>
  admin.create(ManifestWorkReplicaSet, {
    metadata: { name, namespace: 'default' },
    spec: { placementRefs: [{ name: 'none' }], manifestWorkTemplate: { workload: { manifests: [deployment(`gateway:${name}`)] } } },
  });

/** A work that names its upgrade, as the reference labels it or with more labels. */
const work = (namespace: string, name: string, labels: Record<string, string>) =>
  admin.create(ManifestWork, {
    metadata: { namespace, name, labels: { [Label.upgradeNamespace]: 'default', ...labels } },
    spec: { workload: { manifests: [deployment('gateway:gateway-1')] } },
  });

/** A rollout that the reference has begun, with a work of its own. */
async function begin(name: string, cluster: string): Promise<void> {
  await template('begun');
  await upgrade(name, [cluster], { manifestWorkTemplates: ['begun'] });
  const now = conditionTime(Date.now());
  const progressing = { type: 'Progressing', status: 'True', reason: 'InProgress', message: '', lastTransitionTime: now };
  const progress = { [cluster]: { state: 'InProgress', manifestWorkIndex: 0 } };
  const status = {
    conditions: [progressing],
    remediationPlan: [[cluster]],
    safeResourceNames: { '/default.begun': 'default.begun-q7v2m' },
    status: { startedAt: now, currentBatch: 1, currentBatchStartedAt: now, currentBatchRemediationProgress: progress },
  };
  await admin.patch(ClusterGroupUpgrade, { namespace: 'default', name }, { status }, { type: 'merge', subresource: 'status' });
  await work(cluster, 'default.begun-q7v2m', { [Label.upgradeName]: name });
}

const upgrade = (name: string, clusters: readonly string[], spec: Record<string, unknown>, annotations: Record<string, string> = {}) =>
  admin.create(ClusterGroupUpgrade, {
    metadata: { name, namespace: 'default', annotations },
    spec: { clusters, remediationStrategy: { maxConcurrency: 2, timeout: 60 }, ...spec },
  });

async function untilSucceeded(name: string): Promise<void> {
  let status: ClusterGroupUpgrade['status'];
  await eventually(
    async () => {
      status = (await admin.get(ClusterGroupUpgrade, { namespace: 'default', name }))?.status;
      return findCondition(status?.conditions, 'Succeeded')?.status === 'True' && status?.status.completedAt !== undefined;
    },
    () => `${name} did not succeed: ${JSON.stringify(status)}`,
    90_000,
  );
}

/** Something of the same name, of nobody, where the hub will want to create its own. */
const inTheWay = (kind: Resource, namespace: string, name: string, fields: Partial<KubeObject> = { spec: {} }) =>
  admin.create(kind, { metadata: { namespace, name }, ...fields });

// One story: what was asked in all of it is judged at its end, so no part of it can be tried again.
describe('with the rights that the charts give', { retry: 0 }, () => {
  test.concurrent('policies are rolled out, canary first, and an InstallPlan is approved', async () => {
    const clusters = ['sim-1', 'sim-2'];
    await place('operators', clusters, [subscription('ptp')]);
    const played = clusters.map((cluster) => {
      installOperator({ spokes, propagator }, cluster, 'ptp');
      return playUpgrade({ spokes, propagator }, { cluster, policy: 'policies/operators', plan: 'install-ptp', operators: ['ptp'] });
    });
    // Its names are taken for a while.
    const name = 'policy-operators-placement-fixed';
    const placementRef = { apiGroup: 'cluster.open-cluster-management.io', kind: 'Placement', name };
    const subjects = [{ apiGroup: 'policy.open-cluster-management.io', kind: 'Policy', name: 'nobodys' }];
    await inTheWay(Placement, 'policies', name);
    await inTheWay(PlacementBinding, 'policies', name, { placementRef, subjects });
    await upgrade(
      'policy',
      clusters,
      {
        managedPolicies: ['operators'],
        remediationStrategy: { canaries: ['sim-1'], maxConcurrency: 1, timeout: 60 },
        actions: { beforeEnable: { addClusterLabels: { upgrading: '' } }, afterCompletion: { removeClusterLabels: ['upgrading'] } },
      },
      { [Annotation.nameSuffix]: 'fixed' },
    );
    const isTold = async () => (await Promise.all([hub, ...programs].map((each) => each.output()))).join('').includes(`policies/${name}`);
    await eventually(isTold, 'the hub to say that the names are taken');
    for (const kind of [Placement, PlacementBinding]) await admin.delete(kind, { namespace: 'policies', name });
    await Promise.all(played);
    await untilSucceeded('policy');
  });

  test.concurrent('ManifestWorks are rolled out, by the agent too', async () => {
    for (const name of ['gateway-1', 'gateway-2']) await template(name);
    // Of an upgrade that is gone.
    await work('sim-2', 'default.gateway-1-fixed', {
      [Label.upgradeName]: 'former',
      [Label.upgradeUid]: 'former',
      [Label.work]: 'rollout',
    });
    const templates = { manifestWorkTemplates: ['gateway-1', 'gateway-2'] };
    await upgrade('works', ['sim-2', 'spoke-1'], templates, { [Annotation.nameSuffix]: 'fixed' });
    await Promise.all(['works', 'begun'].map(untilSucceeded));
  });

  test.concurrent('images are pulled, by the agent too, and what another attempt left goes first', async () => {
    const spec = { overrides: { platformImage: PLATFORM } };
    await admin.create(PreCachingConfig, { metadata: { name: 'config', namespace: 'default' }, spec });
    await admin.create(Namespace, { metadata: { name: SpokeName.namespace } });
    await admin.create(ClusterRoleBinding, {
      metadata: { name: SpokeName.clusterRoleBinding },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', name: 'pre-cache-agent', namespace: SpokeName.namespace }],
    });
    await inTheWay(ManagedClusterView, 'sim-3', 'view-precache-namespace');
    await inTheWay(ManagedClusterAction, 'sim-3', 'precache-ns-create');
    const done = { preCaching: true, preCachingConfigRef: { name: 'config' } };
    await upgrade('images', ['sim-3', 'spoke-1'], { ...done, manifestWorkTemplates: ['images'], enable: false });
    const manifest = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x', namespace: 'default' } };
    const workload = { manifests: [manifest] };
    await admin.create(ManifestWorkReplicaSet, {
      metadata: { name: 'images', namespace: 'default' },
      spec: { placementRefs: [{ name: 'none' }], manifestWorkTemplate: { workload } },
    });
    // Nobody runs Jobs here.
    const job = { namespace: SpokeName.namespace, name: SpokeName.job };
    await eventually(() => admin.get(Job, job), 'the Job to be created', 60_000);
    await admin.patch(Job, job, { status: { succeeded: 1 } }, { type: 'merge', subresource: 'status' });
    const states = async () => (await admin.get(ClusterGroupUpgrade, { namespace: 'default', name: 'images' }))?.status?.precaching?.status;
    await eventually(async () => Object.values((await states()) ?? {}).join() === 'Succeeded,Succeeded', 'both to be done', 60_000);
    await eventually(
      async () => (await admin.get(Namespace, { name: SpokeName.namespace })) === undefined,
      'the spoke to be clean',
      60_000,
    );
  });

  test.concurrent('clusters are backed up', async () => {
    await place('backed', ['sim-3']);
    await upgrade('backup', ['sim-3'], { backup: true, managedPolicies: ['backed'] });
    await untilSucceeded('backup');
    expect(spokes.jobsCreated('sim-3').map(({ name }) => name)).toContain(BackupName.job);
  });

  test.concurrent('an upgrade mends its objects, and is deleted in the middle', async () => {
    await place('stuck', ['sim-3']);
    propagator.script('policies/stuck', 'sim-3', { never: true });
    await upgrade('deleted', ['sim-3'], { managedPolicies: ['stuck'] }, { [Annotation.nameSuffix]: 'fixed' });
    const ref = { namespace: 'sim-3', name: 'policies.stuck' };
    await eventually(
      async () => (await admin.get(Policy, ref))?.spec?.remediationAction === 'enforce',
      'the policy to be enforced',
      60_000,
    );
    const name = 'deleted-stuck-placement-fixed';
    const binding = () => admin.get(PlacementBinding, { namespace: 'policies', name });
    await admin.patch(PlacementBinding, { namespace: 'policies', name }, { bindingOverrides: null }, { type: 'merge' });
    await eventually(async () => (await binding())?.bindingOverrides !== undefined, 'the binding to be mended');
    await admin.delete(ClusterGroupUpgrade, { namespace: 'default', name: 'deleted' });
    const isGone = async () => (await admin.get(ClusterGroupUpgrade, { namespace: 'default', name: 'deleted' })) === undefined;
    await eventually(isGone, 'the upgrade to be gone', 60_000);
  });

  test.concurrent('a new cluster gets its upgrade, and one that is denied loses its access', async () => {
    const auto = () => admin.get(ClusterGroupUpgrade, { namespace: 'ztp-install', name: 'spoke-1' });
    await eventually(async () => findCondition((await auto())?.status?.conditions, 'Succeeded')?.status === 'True', 'its end', 60_000);
    await admin.create(ManagedCluster, { metadata: { name: 'denied' }, spec: { hubAcceptsClient: true } });
    const account = () => admin.get(ServiceAccount, { namespace: 'denied', name: 'spoke-agent' });
    await eventually(account);
    await admin.patch(ManagedCluster, { name: 'denied' }, { spec: { hubAcceptsClient: false } }, { type: 'merge' });
    await eventually(async () => (await account()) === undefined);
  });
});

describe('what was asked', { retry: 0 }, () => {
  let asked: Asked[];
  let hubRoles: Map<string, Right[]>;
  let spokeRoles: Map<string, Right[]>;

  beforeAll(async () => {
    // Also those of an upgrade that did not succeed in its test's time: the agent is still at them.
    const names = async () => (await admin.list(ManifestWork, { namespace: 'spoke-1' })).items.map(({ metadata }) => metadata.name);
    await eventually(async () => (await names()).length === 0, 'the works of spoke-1 to be gone', 120_000);
    await hub.stop();
    await Promise.all(programs.map((program) => program.stop()));
    asked = await readAsked(join(dir, 'audit.log'));
    const manifests = (release: string) => world.runHelm(['get', 'manifest', release, '-n', NAMESPACE]);
    hubRoles = readRoles(await manifests('hub'));
    spokeRoles = readRoles(await manifests('agent'));
  });

  const by = (...users: string[]) => asked.filter(({ user }) => users.includes(user));
  /** Rights that nobody used and nobody is said to hold, and those that are said to be held and were used. */
  const wrong = (rights: readonly Right[], requests: readonly Asked[]): string[] => {
    const [local, wide] = [rights.filter(({ namespace }) => namespace), rights.filter(({ namespace }) => !namespace)];
    const others = requests.filter((request) => !local.some((right) => isUsedBy(right, request)));
    return [...local, ...wide].flatMap((right) => {
      const isUsed = (right.namespace ? requests : others).some((request) => isUsedBy(right, request));
      if (isUsed && right.isHeld) return [`used though said to be held: ${describeRight(right)}`];
      return isUsed || right.isHeld ? [] : [`never used: ${describeRight(right)}`];
    });
  };
  const rolesOf = (roles: ReadonlyMap<string, Right[]>, ...names: string[]) =>
    names.flatMap((name) => roles.get(name) ?? [{ verb: `no role ${name}`, group: '', resource: '', isHeld: false }]);

  test('nothing was refused', () => {
    expect([HUB, WORKER, AGENT, AGENT_ON_SPOKE, WORKS_ON_SPOKE].filter((user) => by(user).length === 0)).toEqual([]);
    const refused = asked.filter(({ refusal }) => refusal !== '');
    expect([...new Set(refused.map((request) => `${request.user}: ${describeRight(request)}: ${request.refusal}`))]).toEqual([]);
  });

  test('the hub and its workers have no right that they do not use', () => {
    // Which of them takes a step is chance.
    expect(wrong(rolesOf(hubRoles, 'hub-flotilla-hub'), by(HUB, WORKER))).toEqual([]);
    expect(wrong(rolesOf(hubRoles, 'hub-flotilla-hub-worker'), by(HUB, WORKER))).toEqual([]);
  });

  test('an agent has no right on the hub that it does not use', async () => {
    expect(wrong(rolesOf(hubRoles, 'hub-flotilla-hub-agent'), by(AGENT))).toEqual([]);
    const own = await admin.get(Role, { namespace: 'spoke-1', name: 'flotilla:spoke-agent' });
    expect(wrong(rightsOf(own?.rules), by(AGENT))).toEqual([]);
  });

  test('and none on its cluster', () => {
    expect(wrong(rolesOf(spokeRoles, 'agent-flotilla-spoke'), by(AGENT_ON_SPOKE))).toEqual([]);
    expect(wrong(rolesOf(spokeRoles, 'agent-flotilla-spoke-works'), by(WORKS_ON_SPOKE))).toEqual([]);
  });
});
