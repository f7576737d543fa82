import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Job, Namespace, Node, Pod } from '@flotilla/api/core';
import { ManagedCluster, NODE_PULLERS } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, DEFAULT_NODE_RULES, PreCachingConfig, PullerExit, SpokeName } from '@flotilla/api/ran';
import { type ApiServer, startApiServer, startControllerManager } from '@flotilla/control-plane/servers';
import { registerSpokes } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { expect } from 'vitest';
import { startHub, startProgram } from '../../../tools/src/fleets/programs.ts';
import { hostOf, type PullerWorld, REGISTRY_NAME, startPuller, startPullerWorld, temporaryFolder } from '../image-puller-fixture.ts';
import { PULLER, testIn } from '../world.ts';

/** A cluster that does not admit the pullers of the other nodes: real admission refuses the DaemonSet, or its pods. Hub and agent are the programs. */

const CLUSTER = 'spoke-1';
const NODES = ['node-1', 'node-2', 'node-3'];
const { namespace } = SpokeName;
const CONTROLLERS = ['namespace-controller', 'garbage-collector-controller', 'job-controller', 'daemonset-controller'];

interface Refusing extends AsyncDisposable {
  readonly hub: Client;
  readonly spokeServer: ApiServer;
  readonly spoke: Client;
  readonly images: PullerWorld;
}

async function start(): Promise<Refusing> {
  const stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-refused-'));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const images = stack.use(await startPullerWorld('refused', [100_000]));
  const [hubServer, spokeServer] = await Promise.all([startApiServer(), startApiServer()]);
  stack.defer(() => hubServer.stop());
  stack.defer(() => spokeServer.stop());
  const [hub, spoke] = [await hubServer.client(), await spokeServer.client()];
  const status = { nodeInfo: { architecture: 'amd64', containerRuntimeVersion: 'containerd://2.1.4' } };
  for (const name of NODES) {
    await spoke.create(Node, { metadata: { name } });
    await spoke.patch(Node, { name }, { status }, { type: 'merge', subresource: 'status' });
  }
  stack.use(await startControllerManager(spokeServer, { controllers: CONTROLLERS }));
  stack.use(await startHub(hubServer.kubeconfig, dir, ['--install-crds', '--standalone', '--precache-image', PULLER]));
  await registerSpokes(hub, [CLUSTER], { available: false });
  stack.use(
    await startProgram({
      name: 'spoke-agent',
      entry: 'apps/spoke-agent/src/main.ts',
      args: [
        '--cluster-name',
        CLUSTER,
        '--hub-kubeconfig',
        hubServer.kubeconfig,
        '--spoke-kubeconfig',
        spokeServer.kubeconfig,
        '--health-port',
        '0',
      ],
      dir,
      env: { WORK_STATUS_SYNC_SECONDS: '1', PULLER_ROLE: 'puller' },
      isReady: (output) => output.includes('Watching the hub'),
    }),
  );
  // A job that begins before the agent has counted its nodes fills one.
  const claims = async () => JSON.stringify((await hub.get(ManagedCluster, { name: CLUSTER }))?.status?.clusterClaims ?? []);
  await eventually(async () => (await claims()).includes(NODE_PULLERS), 'the claims of the agent', 60_000);
  const spec = { overrides: { platformImage: images.release.release } };
  await hub.create(PreCachingConfig, { metadata: { name: 'config', namespace: 'default' }, spec });
  return { hub, spokeServer, spoke, images, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const test = testIn(start);

async function begin(hub: Client, name: string) {
  const metadata = { name, namespace: 'default' };
  const remediationStrategy = { maxConcurrency: 1, timeout: 240 };
  const spec = { preCaching: true, enable: false, preCachingConfigRef: { name: 'config' }, clusters: [CLUSTER], remediationStrategy };
  await hub.create(ClusterGroupUpgrade, { metadata, spec });
  return async (state: string): Promise<string> => {
    let last: ClusterGroupUpgrade | undefined;
    const isSo = async () => {
      last = await hub.get(ClusterGroupUpgrade, metadata);
      return last?.status?.precaching?.status?.[CLUSTER] === state;
    };
    await eventually(isSo, () => `${name} to be ${state}: ${JSON.stringify(last?.status?.precaching)}`, 120_000);
    return last?.status?.precaching?.messages?.[CLUSTER] ?? '';
  };
}

test('a policy that refuses the DaemonSet fails the job in the words of that policy', { timeout: 240_000 }, async ({ world }) => {
  const { hub, spoke } = world;
  const admission = '/apis/admissionregistration.k8s.io/v1';
  const matchConstraints = {
    resourceRules: [{ apiGroups: ['apps'], apiVersions: ['*'], operations: ['CREATE'], resources: ['daemonsets'] }],
  };
  const validations = [{ expression: 'false', message: 'no DaemonSets but those of the platform' }];
  const metadata = { name: 'no-daemonsets' };
  await spoke.request('POST', `${admission}/validatingadmissionpolicies`, { body: { metadata, spec: { matchConstraints, validations } } });
  const binding = { metadata, spec: { policyName: metadata.name, validationActions: ['Deny'] } };
  await spoke.request('POST', `${admission}/validatingadmissionpolicybindings`, { body: binding });

  const until = await begin(hub, 'policy');
  const message = await until('UnrecoverableError');
  expect(message).toMatch(
    /^the agent cannot create the pullers of the other nodes: DaemonSet pre-cache-nodes: .*no DaemonSets but those of the platform/,
  );
  expect(message).toContain(`let the agent on ${CLUSTER} create DaemonSets`);
  await spoke.request('DELETE', `${admission}/validatingadmissionpolicybindings/${metadata.name}`);
  await hub.delete(ClusterGroupUpgrade, { name: 'policy', namespace: 'default' });
  await eventually(async () => (await spoke.get(Namespace, { name: namespace })) === undefined, 'the namespace to go', 60_000);
});

test('pod security that refuses their pods is named by what is missing, and where to look', { timeout: 240_000 }, async ({ world }) => {
  const { hub, spoke, spokeServer, images } = world;
  const until = await begin(hub, 'pods');
  const pods = async () => (await spoke.list(Pod, { namespace })).items;
  await eventually(async () => (await pods()).length === 1 + NODES.length, 'all pods', 60_000);
  // Whoever keeps labels of namespaces takes the one away that the hub has put there.
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  await spoke.patch(Namespace, { name: namespace }, { metadata: { labels } }, { type: 'merge' });
  const others = (await pods()).filter(({ metadata }) => metadata.labels?.app === SpokeName.nodes);
  for (const { metadata } of others) await spoke.delete(Pod, metadata, { gracePeriodSeconds: 0 });
  await eventually(async () => (await pods()).length === 1, 'their pods to go', 60_000);

  await using layout = await temporaryFolder('refused-node');
  const ended = await (
    await startPuller(
      images.folder.path,
      { 'platform.image': images.release.release },
      {
        ...{ STORE: 'layout', LAYOUT_DIR: layout.path, NODE_NAME: 'node-1', KUBECONFIG: spokeServer.kubeconfig, PROGRESS_ON_JOB: 'on' },
        REGISTRY_CONFIG: JSON.stringify([{ source: REGISTRY_NAME, mirrors: [hostOf(images.registry.url)], insecure: true }]),
        ...{ NODES: JSON.stringify({ ...DEFAULT_NODE_RULES, patienceSeconds: 20 }), PEER_PORT: '0' },
      },
    )
  ).finished;
  expect(ended.exitCode, ended.log).toBe(PullerExit.absent);
  const why = 'the cluster made 0 of 3 pods of DaemonSet pre-cache-nodes, its events say why';
  expect(ended.last.message).toMatch(/^2 of 3 nodes are not filled: node-2: no puller has come from it for \d+ s: /);
  expect(ended.last.message).toContain(why);
  // The node would tell the end of the pod.
  const [own] = await pods();
  await spoke.patch(Pod, own?.metadata ?? expect.fail('no pod'), { status: { phase: 'Failed' } }, { type: 'merge', subresource: 'status' });
  const message = await until('PrecacheTimeout');
  expect(message).toMatch(/^timed out: 2 of 3 nodes are not filled: node-2: /);
  expect(message).toContain('the cluster made 0 of 3 pods of DaemonSet pre-cache-nodes');
  expect((await spoke.list(Job, { namespace })).items).toHaveLength(1);
});
