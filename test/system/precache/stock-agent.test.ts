import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigMap, Job, Namespace, Pod } from '@flotilla/api/core';
import { ManifestWork } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, FleetLimitsName, PreCachingConfig, type PrecacheState, SpokeName } from '@flotilla/api/ran';
import { startApiServer, startControllerManager, startOcmFleet } from '@flotilla/control-plane/servers';
import { eventually } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PLATFORM, PULLER } from '../../integration/world.ts';
import { startHub } from '../../support/programs.ts';

const CLUSTER = 'spoke-1';
/** The stock agent reads every 10 to 19 s. */
const READ_MS = 60_000;
const { namespace } = SpokeName;
const CONTROLLERS = ['namespace-controller', 'garbage-collector-controller', 'job-controller'];

let stack: AsyncDisposableStack;
let hub: Client;
let spoke: Client;

beforeAll(async () => {
  stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-stock-agent-'));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const [hubServer, spokeServer] = await Promise.all([startApiServer(), startApiServer()]);
  stack.defer(() => hubServer.stop());
  stack.defer(() => spokeServer.stop());
  [hub, spoke] = [await hubServer.client(), await spokeServer.client()];
  // Jobs get pods, and namespaces go: what the test plays is the node.
  const controllers = await startControllerManager(spokeServer, { controllers: CONTROLLERS });
  stack.defer(() => controllers.stop());
  const site = { name: CLUSTER, kubeconfig: spokeServer.kubeconfig, client: spoke };
  const labels = { 'feature.open-cluster-management.io/addon-work-manager': 'available' };
  stack.use(
    await startOcmFleet({
      hub: { name: 'hub', kubeconfig: hubServer.kubeconfig, client: hub },
      spokes: [site],
      namespaces: ['default'],
      labels,
      dir,
    }),
  );
  stack.use(await startHub(hubServer.kubeconfig, dir, ['--install-crds', '--precache-image', PULLER]));
  await eventually(
    () =>
      hub.list(ClusterGroupUpgrade).then(
        () => true,
        () => false,
      ),
    'the CRDs of upgrades',
    60_000,
  );
  await hub.create(PreCachingConfig, {
    metadata: { name: 'config', namespace: 'default' },
    spec: { overrides: { platformImage: PLATFORM } },
  });
});
afterAll(() => stack?.disposeAsync());

/** Creates an upgrade that pre-caches, and resolves to what waits for a state of it. */
async function begin(name: string): Promise<(want: PrecacheState) => Promise<void>> {
  const metadata = { name, namespace: 'default' };
  const remediationStrategy = { maxConcurrency: 1, timeout: 240 };
  const spec = { preCaching: true, enable: false, preCachingConfigRef: { name: 'config' }, clusters: [CLUSTER], remediationStrategy };
  await hub.create(ClusterGroupUpgrade, { metadata, spec });
  return async (want: PrecacheState) => {
    let last: unknown;
    const ask = async () => {
      last = (await hub.get(ClusterGroupUpgrade, metadata))?.status?.precaching;
      return (await hub.get(ClusterGroupUpgrade, metadata))?.status?.precaching?.status?.[CLUSTER] === want;
    };
    await eventually(ask, () => `${name} should be ${want}: ${JSON.stringify(last)}`, READ_MS);
  };
}
const worksLeft = async () => (await hub.list(ManifestWork, { namespace: CLUSTER })).items.length;
const isClean = async () => (await worksLeft()) === 0 && (await spoke.get(Namespace, { name: namespace })) === undefined;

/** The pod of the job comes to its end, as its node would tell. */
async function endPod(phase: 'Succeeded' | 'Failed'): Promise<void> {
  const pods = async () => (await spoke.list(Pod, { namespace })).items;
  await eventually(async () => (await pods()).length > 0, 'a pod of the job');
  for (const { metadata } of await pods())
    await spoke.patch(Pod, metadata, { status: { phase } }, { type: 'merge', subresource: 'status' });
}

test('the stock work agent carries a pre-cache and caps of the moment, and cleans up after it', async () => {
  const until = await begin('plain');
  await until('Active');
  expect(await worksLeft()).toBe(1);
  const job = async () => (await spoke.get(Job, { namespace, name: SpokeName.job }))?.metadata;
  const before = await job();
  const limits = { namespace: 'default', name: FleetLimitsName.configMap };
  await hub.create(ConfigMap, { metadata: limits, data: { [FleetLimitsName.key]: 'bytesPerSecond: 300000\n' } });
  const capped = async () => (await spoke.get(ConfigMap, { namespace, name: SpokeName.specConfigMap }))?.data?.bandwidth;
  await eventually(async () => (await capped()) === '300000', 'the cap to arrive', READ_MS);
  await hub.delete(ConfigMap, limits);
  await eventually(async () => (await capped()) === undefined, 'the cap to go', READ_MS);
  expect(before?.uid).toEqual(expect.any(String));
  expect([(await job())?.uid, (await job())?.generation]).toEqual([before?.uid, before?.generation]);
  await endPod('Succeeded');
  await until('Succeeded');
  await eventually(isClean, 'nothing to be left', READ_MS);
});

test('a job that failed there stays until the upgrade ends, and nothing of it is made again', async () => {
  const until = await begin('failing');
  await endPod('Failed');
  await until('UnrecoverableError');
  // With all clusters failed the upgrade ends, and then everything goes.
  await eventually(isClean, 'nothing to be left', READ_MS);
  expect(await spoke.get(Job, { namespace, name: SpokeName.job })).toBeUndefined();
});
