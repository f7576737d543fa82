import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterVersion, configCrds } from '@flotilla/api/config';
import { ConfigMap, Namespace, Node } from '@flotilla/api/core';
import {
  CACHED_RELEASES,
  managedCrds,
  OPERATOR_CONFIG_MAP,
  OPERATOR_NAMESPACE,
  UPGRADE_CONFIG_NAME,
  UpgradeConfig,
} from '@flotilla/api/managed';
import { PullerExit } from '@flotilla/api/ran';
import { machineCrds } from '@flotilla/api/testing';
import { startAlertmanager, startApiServer } from '@flotilla/control-plane/servers';
import { createSmallCluster } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { applyCrds } from '../../fixtures/crds.ts';
import { startUpgradeOperator } from '../../support/programs.ts';
import { hostOf, REGISTRY_NAME, startPuller, startPullerWorld, temporaryFolder } from '../image-puller-fixture.ts';

/** A service that answers every request with the same JSON. */
async function startAnswering(answer: unknown): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The operator holds an upgrade until the puller, a real one too, has noted that every node has the release; a node that was replaced has nothing. */

const namespace = OPERATOR_NAMESPACE;
const NOTES = { namespace, name: CACHED_RELEASES };

test('an upgrade waits for each node until a puller has proven it', async () => {
  await using stack = new AsyncDisposableStack();
  const world = stack.use(await startPullerWorld('cache-gate', [100_000]));
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-gate-'));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const users = [{ name: 'operator', groups: ['system:masters'] }, { name: 'puller' }];
  const server = stack.use(await startApiServer({ users }));
  const client = await server.client();
  await applyCrds(client, [...managedCrds(), ...configCrds(), ...machineCrds()]);
  await client.create(Namespace, { metadata: { name: namespace } });
  await createSmallCluster(client);
  const config = { nodeDrain: { timeOut: 45 }, upgradeWindow: { timeOut: 0 }, cacheProof: { required: true, maxAge: 60 } };
  const { name, key } = OPERATOR_CONFIG_MAP;
  await client.create(ConfigMap, { metadata: { namespace, name }, data: { [key]: JSON.stringify(config) } });
  // As the chart's value upgradeOperator.cacheProof has it.
  await client.create(ConfigMap, { metadata: NOTES });
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const grant = async (where: string, kind: string, rules: readonly object[]) => {
    await client.request('POST', `${rbac}${where}/${kind.toLowerCase()}s`, { body: { metadata: { name: 'puller' }, rules } });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind, name: 'puller' };
    const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'puller' }];
    await client.request('POST', `${rbac}${where}/${kind.toLowerCase()}bindings`, {
      body: { metadata: { name: 'puller' }, roleRef, subjects },
    });
  };
  await grant('', 'ClusterRole', [{ apiGroups: [''], resources: ['nodes'], verbs: ['list'] }]);
  const notes = { apiGroups: [''], resources: ['configmaps'], resourceNames: [CACHED_RELEASES], verbs: ['get', 'patch'] };
  await grant(`/namespaces/${namespace}`, 'Role', [notes]);

  const prometheus = stack.use(await startAnswering({ status: 'success', data: { resultType: 'vector', result: [] } }));
  const alertmanager = stack.use(await startAlertmanager());
  const urls = ['--prometheus-url', prometheus.url, '--alertmanager-url', alertmanager.url, '--retry-seconds', '1'];
  const operator = await startUpgradeOperator(await server.kubeconfigFor('operator'), dir, urls);
  stack.defer(() => operator.stop());
  const { release } = world.release;
  const offer = { status: { availableUpdates: [{ version: '4.20.1', image: release }] } };
  await client.patch(ClusterVersion, { name: 'version' }, offer, { type: 'merge', subresource: 'status' });
  await client.create(UpgradeConfig, {
    metadata: { namespace, name: UPGRADE_CONFIG_NAME },
    spec: {
      type: 'ARO',
      upgradeAt: new Date(Date.now() - 1_000).toISOString(),
      PDBForceDrainTimeout: 0,
      capacityReservation: false,
      desired: { version: '4.20.1', channel: 'stable-4.14' },
    },
  });

  const pull = async (node: string) => {
    await using layout = await temporaryFolder('gate-node');
    const mirror = JSON.stringify([{ source: REGISTRY_NAME, mirrors: [hostOf(world.registry.url)], insecure: true }]);
    const own = { NODE_NAME: node, KUBECONFIG: await server.kubeconfigFor('puller'), PROGRESS_ON_JOB: 'on' };
    const env = { STORE: 'layout', LAYOUT_DIR: layout.path, REGISTRY_CONFIG: mirror, ...own };
    const ended = await (await startPuller(world.folder.path, { 'platform.image': release }, env)).finished;
    expect(ended.exitCode, ended.log).toBe(PullerExit.done);
  };
  const held = async () => {
    const { status } = (await client.get(UpgradeConfig, { namespace, name: UPGRADE_CONFIG_NAME })) ?? {};
    const condition = status?.history?.[0]?.conditions?.find(({ type }) => type === 'CacheProven');
    return `${condition?.status} ${condition?.waitingFor ?? condition?.message}`;
  };
  const untilHeld = async (what: string) => {
    let last = '';
    const isHeld = async () => {
      last = await held();
      return last === `False ${what}`;
    };
    await eventually(isHeld, () => `to be held by ${what}, not ${last}`, 60_000);
  };
  const commenced = async () => (await client.get(ClusterVersion, { name: 'version' }))?.spec.desiredUpdate?.version === '4.20.1';
  const cordon = (each: string) => client.patch(Node, { name: each }, { spec: { unschedulable: true } }, { type: 'merge' });

  await untilHeld(`a proof that the nodes have the images of release 4.20.1 (${release}): there is none`);
  await pull('worker-0');
  await untilHeld('a proof that 3 of 4 nodes have the images of release 4.20.1: infra-0, master-0, worker-1');
  for (const each of ['infra-0', 'master-0']) await cordon(each);
  await untilHeld('a proof that 1 of 2 nodes have the images of release 4.20.1: worker-1');
  // A node of the same name that comes in the place of another has nothing.
  const before = await client.get(Node, { name: 'worker-0' });
  await client.delete(Node, { name: 'worker-0' });
  await client.create(Node, { metadata: { name: 'worker-0', labels: before?.metadata.labels ?? {} } });
  await untilHeld('a proof that 2 of 2 nodes have the images of release 4.20.1: worker-0, worker-1');
  await cordon('worker-1');
  await untilHeld('a proof that 1 of 1 nodes have the images of release 4.20.1: worker-0');
  expect(await commenced()).toBe(false);
  // Somebody's note of another release is none of this one, and what is no note is passed over.
  const map = await client.get(ConfigMap, NOTES);
  const others = {
    'sha256-0': JSON.stringify({ ...JSON.parse(Object.values(map?.data ?? {})[0] ?? ''), digest: 'sha256:0', image: 'other' }),
  };
  await client.patch(ConfigMap, NOTES, { data: { ...others, odd: '{', [randomUUID()]: '7' } }, { type: 'merge' });
  await pull('worker-0');
  await eventually(commenced, 'the upgrade to begin', 60_000);
  expect(await held()).toMatch(/^True /);
  // The next note took away an entry that is none.
  const kept = (await client.get(ConfigMap, NOTES))?.data ?? {};
  expect(Object.keys(kept).toSorted()).toEqual(['sha256-0', release.slice(release.indexOf('@') + 1).replace(':', '-')].toSorted());
});
