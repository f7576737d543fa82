import { Label } from '@flotilla/api';
import { ConfigMap, Namespace, Node } from '@flotilla/api/core';
import { MachineConfigNode, PINNED_SETS_DEGRADED, PinnedImageSet, POOL_ROLE } from '@flotilla/api/machine';
import { CACHED_RELEASES, OPERATOR_NAMESPACE, readCachedReleases } from '@flotilla/api/managed';
import { PullerExit } from '@flotilla/api/ran';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { eventually } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eachAttempt } from '../integration/world.ts';
import { canRunContainerd } from './containerd-node.ts';
import {
  fullSpec,
  hostOf,
  type PullerWorld,
  REGISTRY_NAME,
  startPuller,
  startPullerWorld,
  temporaryFolder,
} from './image-puller-fixture.ts';
import { startSpoke } from './image-puller-spoke.ts';
import { machineConfigCrds, setRights, startMachineConfigOperator } from './pinned-image-sets.ts';

/** Pins by PinnedImageSets: made when all nodes have everything, read back from the nodes, taken back where they degrade one, gone at the end. */

const UID = '11111111-aaaa-4bbb-8ccc-000000000001';
const OTHER = '22222222-aaaa-4bbb-8ccc-000000000002';
const by = (uid: string) => ({ PIN_FOR: uid, PIN_BY: 'pinned-image-set' });

let world: PullerWorld;
beforeAll(async () => {
  world = await startPullerWorld('puller-sets', [200_000, 300_000]);
});
afterAll(() => world?.[Symbol.asyncDispose]());

const sets = async (admin: Client) => (await admin.list(PinnedImageSet)).items;
const names = async (admin: Client) => (await sets(admin)).map(({ metadata }) => metadata.name).toSorted();
const pinsOf = ({ risks = [] }: { readonly risks?: readonly { readonly name: string; readonly value: string }[] | undefined }) =>
  risks.filter(({ name }) => name === 'pins').map(({ value }) => value);

async function grant(admin: Client, user: string): Promise<void> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const metadata = { name: `${user}-pins` };
  await admin.request('POST', `${rbac}/clusterroles`, { body: { metadata, rules: setRights } });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: metadata.name };
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }];
  await admin.request('POST', `${rbac}/clusterrolebindings`, { body: { metadata, roleRef, subjects } });
}

/** The ConfigMap of notes, and the puller's right to it, as the chart makes them. */
async function startNotes(admin: Client) {
  const namespace = OPERATOR_NAMESPACE;
  await admin.create(Namespace, { metadata: { name: namespace } });
  await admin.create(ConfigMap, { metadata: { namespace, name: CACHED_RELEASES } });
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  const metadata = { name: 'cached' };
  const rules = [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [CACHED_RELEASES], verbs: ['get', 'patch'] }];
  await admin.request('POST', `${rbac}/roles`, { body: { metadata, rules } });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name };
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'lead' }];
  await admin.request('POST', `${rbac}/rolebindings`, { body: { metadata, roleRef, subjects } });
  return async () => {
    const map = await admin.get(ConfigMap, { namespace, name: CACHED_RELEASES });
    return [...readCachedReleases(map?.data ?? {}).values()];
  };
}

describe.skipIf(!canRunContainerd)('on two nodes', () => {
  test('sets hold what was pulled, until each upgrade ends', async () => {
    const program = (await ensureTools(['containerd'])).path('containerd');
    await using spoke = await startSpoke({ world, nodes: 2, program, spec: fullSpec(world) });
    const { admin, nodes } = spoke;
    await using _operator = await startMachineConfigOperator(admin, { master: ['node-1'], worker: ['node-2'] });
    await grant(admin, 'lead');
    const notes = await startNotes(admin);
    const run = async (env: Readonly<Record<string, string>>) => {
      await spoke.renewJob();
      const follower = await nodes[1]?.follow(env);
      const ended = await (await nodes[0]?.lead(env))?.finished;
      follower?.child.kill('SIGTERM');
      await follower?.finished;
      return ended ?? expect.fail('no nodes');
    };

    const pulled = await run(by(UID));
    expect(pulled.exitCode, pulled.log).toBe(PullerExit.done);
    const own = ['master', 'worker'].map((role) => `flotilla-${UID}-${role}`);
    expect(await names(admin)).toEqual(own);
    const wanted = [world.release.release, world.release.operator, ...Object.values(world.release.components)].toSorted();
    for (const set of await sets(admin)) {
      expect(set.metadata.labels).toMatchObject({ [Label.upgradeUid]: UID, [POOL_ROLE]: set.metadata.name.split('-').at(-1) });
      expect(set.spec?.pinnedImages.map(({ name }) => name)).toEqual(wanted);
    }
    // The index has a tag, and no set takes one.
    expect(pinsOf(pulled.last)).toEqual([`${wanted.length} of ${wanted.length + 1}: no set takes ${world.release.index}`]);
    // The same run notes which nodes have the release, each by the uid that its token says.
    const listed = (await admin.list(Node)).items.map(({ metadata: { name, uid } }) => ({ name, uid }));
    expect(await notes()).toEqual([expect.objectContaining({ image: world.release.release, upgrade: UID, nodes: listed })]);
    const [before] = await sets(admin);

    const proven = await run({ ...by(UID), MODE: 'prove' });
    expect(proven.exitCode, proven.log).toBe(PullerExit.done);
    const [after] = await sets(admin);
    expect(after?.metadata).toMatchObject({ uid: before?.metadata.uid, generation: before?.metadata.generation });
    expect(after?.metadata.annotations).not.toEqual(before?.metadata.annotations);

    const other = await run(by(OTHER));
    expect(other.exitCode, other.log).toBe(PullerExit.done);
    expect(await names(admin)).toHaveLength(4);
    const unpinned = await run({ ...by(UID), MODE: 'unpin' });
    expect(unpinned.exitCode, unpinned.log).toBe(PullerExit.done);
    expect(await names(admin)).toEqual(own.map((name) => name.replace(UID, OTHER)));

    // A proof makes none anew: they may have been taken back.
    const again = await run({ ...by(UID), MODE: 'prove' });
    expect(pinsOf(again.last)).toEqual(['none: its PinnedImageSets are gone, and the next pull makes them']);

    await admin.request('DELETE', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/lead-pins');
    const refused = await eventually(
      async () => {
        const ended = await run({ ...by(OTHER), MODE: 'unpin' });
        return ended.exitCode === PullerExit.internal ? ended : undefined;
      },
      'a refusal',
      60_000,
    );
    expect(refused.last).toMatchObject({ phase: 'failed', message: expect.stringContaining('pinnedimagesets') });
  });
});

describe('on one node', () => {
  let server: ApiServer;
  let admin: Client;
  eachAttempt(
    async () => {
      server = await startApiServer({ users: ['lead', 'plain'].map((name) => ({ name, groups: ['system:serviceaccounts'] })) });
      admin = await server.client();
      await grant(admin, 'lead');
    },
    async () => await server[Symbol.asyncDispose](),
  );

  async function pull(env: Readonly<Record<string, string>> = {}, user = 'lead') {
    const layout = await temporaryFolder('sets');
    const where = { STORE: 'layout', LAYOUT_DIR: layout.path, NODE_NAME: 'node-1', KUBECONFIG: await server.kubeconfigFor(user) };
    const mirror = JSON.stringify([{ source: REGISTRY_NAME, mirrors: [hostOf(world.registry.url)], insecure: true }]);
    const spec = { 'platform.image': world.release.release };
    const all = { ...where, REGISTRY_CONFIG: mirror, PROGRESS_ON_JOB: 'on', ...by(UID), ...env };
    const running = await startPuller(world.folder.path, spec, all);
    const finish = async () => {
      try {
        return await running.finished;
      } finally {
        await layout[Symbol.asyncDispose]();
      }
    };
    return { ...running, finished: finish() };
  }
  const pulled = async (...how: Parameters<typeof pull>) => {
    const ended = await (await pull(...how)).finished;
    expect(ended.exitCode, ended.log).toBe(PullerExit.done);
    return ended.last;
  };

  test('one that degrades its node is taken back, and the node is well again', async () => {
    await using operator = await startMachineConfigOperator(admin, { master: ['node-1'], worker: [] });
    operator.fails.set('node-1', 'Error: no space');
    expect(pinsOf(await pulled())).toEqual(['none: taken back, node node-1: Error: no space']);
    expect(await names(admin)).toEqual([]);
    const isWell = async () => {
      const [{ status } = {}] = (await admin.list(MachineConfigNode)).items;
      return status?.conditions?.some(({ type, status: value }) => type === PINNED_SETS_DEGRADED && value === 'False');
    };
    await eventually(isWell, 'the node to be well', 20_000);
    // Whole, it pins all of them: a release without an index has digests alone.
    operator.fails.clear();
    expect(pinsOf(await pulled())).toEqual([]);
    expect(await names(admin)).toEqual([`flotilla-${UID}-master`]);
    // Degraded by somebody else's, its pool gets no more, and what was there goes.
    operator.fails.set('node-1', 'Error: another set');
    await eventually(async () => !(await isWell()), 'the node to be degraded', 20_000);
    expect(pinsOf(await pulled())).toEqual(['none: taken back, node node-1: Error: another set']);
  });

  test('a set of its name that is somebody else’s stays as it is', async () => {
    await using _operator = await startMachineConfigOperator(admin, { master: ['node-1'] });
    const { apiVersion, kind } = PinnedImageSet;
    const name = `flotilla-${UID}-master`;
    const pinnedImages = [{ name: `registry.test/theirs@sha256:${'0'.repeat(64)}` }];
    await admin.create(PinnedImageSet, { apiVersion, kind, metadata: { name }, spec: { pinnedImages } });
    expect(pinsOf(await pulled())).toEqual([`none: PinnedImageSet ${name} is somebody else's`]);
    expect((await admin.get(PinnedImageSet, { name }))?.spec?.pinnedImages).toEqual(pinnedImages);
  });

  test('nothing is asked of a node that was not filled', async () => {
    await using _operator = await startMachineConfigOperator(admin, { master: ['node-1'], worker: ['node-2'] });
    expect(pinsOf(await pulled())).toEqual(['none: node node-2 was not filled, and a set would have it pull']);
    expect(await names(admin)).toEqual([]);
  });

  test('nodes that say nothing are waited for until the Job has to end', async () => {
    await using operator = await startMachineConfigOperator(admin, { master: ['node-1'] });
    operator.isHeld = true;
    expect(pinsOf(await pulled({ JOB_SECONDS: '31' }))).toEqual([expect.stringMatching(/^0 of 1 nodes say so after [01] s$/)]);
    expect(await names(admin)).toHaveLength(1);
  });

  test('a cluster without the kind, without the right, and one that loses the kind midway are named', async () => {
    expect(pinsOf(await pulled())).toEqual([
      expect.stringMatching(/^none: (this cluster has no PinnedImageSet|no right to PinnedImageSets)/),
    ]);
    await using operator = await startMachineConfigOperator(admin, { master: ['node-1'] });
    expect(pinsOf(await pulled({}, 'plain'))).toEqual(['none: no right to PinnedImageSets (rbac.pinnedImageSets of chart spoke)']);
    operator.isHeld = true;
    const running = await pull();
    await eventually(async () => (await names(admin)).length > 0, 'the set', 30_000);
    await admin.request('DELETE', `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${machineConfigCrds[0]?.metadata.name}`);
    const ended = await running.finished;
    expect(ended.exitCode, ended.log).toBe(PullerExit.done);
    expect(pinsOf(ended.last)).toEqual(['none: this cluster has no PinnedImageSet']);
  });
});
