/** `flotilla plan` beside a real hub, on a real API server, with a real registry. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Annotation, findCondition } from '@flotilla/api';
import { PlanAnswer } from '@flotilla/api/answers';
import { ManagedCluster, ManagedClusterAction, ManifestWork, Policy } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, PreCachingConfig } from '@flotilla/api/ran';
import { expect } from 'vitest';
import { z } from 'zod';
import { flotilla } from '../../integration/cli/flotilla.ts';
import { RolloutWorld } from '../../integration/rollout/world.ts';
import { testIn } from '../../integration/world.ts';
import { hostOf, type PullerWorld, REGISTRY_NAME, startPullerWorld } from '../image-puller-fixture.ts';

const spokes = ['plan-1', 'plan-2', 'plan-3', 'plan-4', 'bound-1', 'bound-2', 'doubt-1', 'doubt-2'];
const test = testIn(() => RolloutWorld.start({ spokes }));

/** Everything on the server that a plan could have written. */
async function objects({ client }: RolloutWorld): Promise<string[]> {
  const lists = await Promise.all([
    client.list(ClusterGroupUpgrade),
    client.list(ManagedCluster),
    client.list(Policy),
    client.list(ManagedClusterAction),
    client.list(ManifestWork),
  ]);
  return lists.flatMap(({ items }) =>
    items.map(({ metadata }) => `${metadata.uid} ${metadata.generation} ${JSON.stringify(metadata.annotations)}`),
  );
}

const upgradeOf = (name: string, clusters: readonly string[], policies: readonly string[], spec: object = {}) => ({
  apiVersion: ClusterGroupUpgrade.apiVersion,
  kind: ClusterGroupUpgrade.kind,
  metadata: { name, namespace: 'default' },
  spec: { clusters, managedPolicies: policies, enable: false, remediationStrategy: { maxConcurrency: 2, timeout: 60 }, ...spec },
});

const mirrored = ({ registry }: PullerWorld): string =>
  `[[registry]]\nprefix = "${REGISTRY_NAME}"\nlocation = "${hostOf(registry.url)}"\ninsecure = true\n`;

test('a file that is not applied: batches as the hub makes them, bytes as the registry has them, and nothing written', async ({
  world,
}) => {
  await using images = await startPullerWorld('plan', [400_000, 300_000]);
  const conf = join(world.dir, 'registries.conf');
  await writeFile(conf, mirrored(images));
  await world.policies(spokes.slice(0, 4), { 'plan-p': {} });
  const config = {
    apiVersion: PreCachingConfig.apiVersion,
    kind: PreCachingConfig.kind,
    metadata: { name: 'planned', namespace: 'default' },
    spec: {
      overrides: {
        platformImage: images.release.release,
        operatorsIndexes: [images.release.index],
        operatorsPackagesAndChannels: ['ptp:stable'],
      },
    },
  };
  const upgrade = upgradeOf('planned', spokes.slice(0, 4), ['plan-p'], {
    preCaching: true,
    preCachingConfigRef: { name: 'planned' },
    remediationStrategy: { maxConcurrency: 2, timeout: 60, canaries: ['plan-3'] },
  });
  const file = join(world.dir, 'planned.json');
  await writeFile(file, `${JSON.stringify(config)}\n---\n${JSON.stringify(upgrade)}\n`);

  const before = await objects(world);
  const args = ['plan', '-f', file, '--registries-conf', conf, '--rate', '1MB', '--batch-minutes', '4'];
  const json = await flotilla(world.server.kubeconfig, ...args, '-o', 'json');
  expect(json).toMatchObject({ code: 0, err: '' });
  const answer = PlanAnswer.parse(JSON.parse(json.out));
  const bytes = [...images.release.layers.values()].reduce((sum, size) => sum + size, 0);
  expect(answer).toMatchObject({
    upgrade: 'default/planned',
    batches: [['plan-3'], ['plan-1', 'plan-2'], ['plan-4']],
    changes: ['policies/plan-p'],
    // Release, two components, index and operator.
    images: { count: 5, layers: images.release.layers.size, bytes, unresolved: [] },
    pulls: [
      {
        clusters: 4,
        images: { missing: { certainty: 'at-most', value: 5 }, of: 5 },
        bytes: { certainty: 'at-most', value: bytes },
        free: { certainty: 'unknown' },
        seconds: { certainty: 'at-most', value: Math.ceil(bytes / 1e6) },
      },
    ],
    bytes: { certainty: 'at-most', value: 4 * bytes },
    rollout: { seconds: { certainty: 'forecast', value: 720 } },
    window: { state: 'none' },
  });
  const page = await flotilla(world.server.kubeconfig, ...args);
  expect(page.out).toContain('default/planned: 4 clusters in 3 batches');
  expect(page.out).toMatch(/4 +plan-\d .*≤ 5 of 5 +≤ .*not looked at/);
  expect(await objects(world)).toEqual(before);

  await world.client.create(PreCachingConfig, config);
  await world.client.create(ClusterGroupUpgrade, upgrade);
  await world.untilCondition('planned', 'PrecachingSuceeded', /^True/);
  expect((await world.get('planned'))?.status?.remediationPlan).toEqual(answer.batches);
  const later = PlanAnswer.parse(JSON.parse((await flotilla(world.server.kubeconfig, 'plan', 'planned', '--no-images', '-o', 'json')).out));
  expect(later.digest).toBe(answer.digest);
  expect(later.pulls).toMatchObject([{ clusters: 4, says: 'pulled by this upgrade', bytes: { certainty: 'exact', value: 0 } }]);
});

test('images that nobody could read make the pull unknown, each with its cause, and the command could not find out', async ({ world }) => {
  await using images = await startPullerWorld('unread', [100_000]);
  await using closed = await startRefusingRegistry();
  const registry = hostOf(images.registry.url);
  const [readable = ''] = Object.values(images.release.components);
  const unread = [`${closed.host}/team/private:1`, `${registry}/team/none:1`];
  const config = {
    apiVersion: PreCachingConfig.apiVersion,
    kind: PreCachingConfig.kind,
    metadata: { name: 'unread', namespace: 'default' },
    spec: { additionalImages: [readable.replace(REGISTRY_NAME, registry), ...unread] },
  };
  const upgrade = upgradeOf('unread', ['plan-1'], [], { preCaching: true, preCachingConfigRef: { name: 'unread' } });
  const file = join(world.dir, 'unread.json');
  await writeFile(file, `${JSON.stringify(config)}\n---\n${JSON.stringify(upgrade)}\n`);
  const args = ['plan', '-f', file, '--insecure-registry', registry, '--insecure-registry', closed.host];

  const json = await flotilla(world.server.kubeconfig, ...args, '-o', 'json');
  expect(json).toMatchObject({ code: 1, err: '' });
  expect(PlanAnswer.parse(JSON.parse(json.out))).toMatchObject({
    images: { count: 1, unread: 2 },
    pulls: [{ images: { missing: { certainty: 'unknown' }, of: 3 }, bytes: { certainty: 'unknown' }, space: { certainty: 'unknown' } }],
    bytes: { certainty: 'unknown', why: expect.stringContaining('2 of 3 images could not be read') },
  });
  const page = await flotilla(world.server.kubeconfig, ...args, '-o', 'wide');
  expect(page.code).toBe(1);
  expect(page.out).toContain('1 of 3 images could be read');
  expect(page.out).toMatch(/! \S+private:1 could not be read: .*answered 401.*check the pull secret for this registry \(--pull-secret\)/);
  expect(page.out).toMatch(/! \S+none:1 could not be read: .*answered 404/);
  expect(page.out).toMatch(/1 +plan-1 .*\? of 3 +\? /);
});

/** A registry that lets nobody in. */
async function startRefusingRegistry(): Promise<AsyncDisposable & { readonly host: string }> {
  const server = createServer((_, response) => response.writeHead(401).end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    host: `127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

test('an upgrade that is bound to a plan starts by no other, says what differs, and goes on when it is so again', async ({ world }) => {
  const run = async () => await flotilla(world.server.kubeconfig, 'plan', 'bound', '--save', '-o', 'json');
  const clusters = ['bound-1', 'bound-2'];
  await world.policies(clusters, { 'bound-p': {} });
  await world.client.create(ClusterGroupUpgrade, upgradeOf('bound', clusters, ['bound-p']));
  await world.untilCondition('bound', 'Progressing', /NotEnabled/);
  const saved = await run();
  const { digest = '' } = PlanAnswer.parse(JSON.parse(saved.out));
  expect(saved.err).toContain(`kubectl -n default annotate cgu bound flotilla.io/plan=${digest}`);

  await world.annotate('bound', { [Annotation.plan]: digest });
  await world.edit('bound', { remediationStrategy: { maxConcurrency: 1, timeout: 60 }, enable: true });
  await world.untilCondition('bound', 'Validated', /PlanDiffers: The upgrade differs from the plan that was saved: the batches;/);
  expect(await world.recorded('bound')).toEqual([]);
  const other = PlanAnswer.parse(JSON.parse((await run()).out));
  expect(other.digest).not.toBe(digest);
  expect(await world.condition('bound', 'Validated')).toContain(other.digest ?? 'no digest');

  await world.annotate('bound', { [Annotation.plan]: other.digest ?? '' });
  await world.untilCompleted('bound');
});

test('a cluster of which nobody can say whether the policy is meant for it is planned as the hub plans it', async ({ world }) => {
  await world.setAvailable('doubt-2', false);
  await world.policies(['doubt-1'], { 'doubt-p': { decided: true } });
  await world.client.create(ClusterGroupUpgrade, upgradeOf('doubt', ['doubt-1', 'doubt-2'], ['doubt-p']));
  await world.untilCondition('doubt', 'Progressing', /NotEnabled/);
  const answer = PlanAnswer.parse(JSON.parse((await flotilla(world.server.kubeconfig, 'plan', 'doubt', '--no-images', '-o', 'json')).out));
  expect(answer.batches).toEqual([['doubt-1', 'doubt-2']]);
  expect(answer.batches).toEqual((await world.get('doubt'))?.status?.remediationPlan);
});

test.for([
  { name: 'neither a name nor a file', args: [], code: 2, err: /give the name of a ClusterGroupUpgrade, or a file with -f/ },
  { name: 'no such upgrade', args: ['nobody'], code: 1, err: /there is no ClusterGroupUpgrade nobody in namespace default/ },
  { name: 'a rate without sense', args: ['x', '--rate', 'fast'], code: 2, err: /--rate is "fast": must be bytes a second such as 6MB/ },
])('$name is refused with the next step', async ({ args, code, err }, { world }) => {
  expect(await flotilla(world.server.kubeconfig, 'plan', ...args)).toMatchObject({ code, out: '', err: expect.stringMatching(err) });
});

test('what would be refused is said in the words of the hub, and ends with 3', async ({ world }) => {
  const file = join(world.dir, 'refused.yaml');
  await writeFile(file, JSON.stringify(upgradeOf('refused', ['nobody-1'], ['plan-p'])));
  const said = await flotilla(world.server.kubeconfig, 'plan', '-f', file);
  expect(said).toMatchObject({ code: 3, out: expect.stringMatching(/REFUSED +Unable to select clusters: .*nobody-1/) });
  await writeFile(file, `${JSON.stringify(upgradeOf('a', [], []))}\n---\n${JSON.stringify(upgradeOf('b', [], []))}`);
  expect(await flotilla(world.server.kubeconfig, 'plan', '-f', file)).toMatchObject({
    code: 2,
    err: expect.stringContaining('it has 2 ClusterGroupUpgrade'),
  });
  await writeFile(file, 'kind: ClusterGroupUpgrade\n  spec: {');
  expect(await flotilla(world.server.kubeconfig, 'plan', '-f', file)).toMatchObject({
    code: 2,
    err: expect.stringContaining('document 1:'),
  });
});

test('the check before a move from TALM refuses what the hub then holds, in its words', async ({ world }) => {
  await world.policies(['plan-1'], { 'held-p': {} });
  const held = { 'held-by-policy': [['plan-1'], ['no-such-policy']], 'held-by-cluster': [['no-such-cluster'], ['held-p']] } as const;
  for (const [name, [clusters, policies]] of Object.entries(held))
    await world.client.create(ClusterGroupUpgrade, upgradeOf(name, clusters, policies));
  await world.client.create(ClusterGroupUpgrade, upgradeOf('not-held', ['plan-1'], ['held-p']));
  await world.untilCondition('not-held', 'Validated', /^True/);
  await world.untilCondition('held-by-policy', 'Validated', /^False/);
  await world.untilCondition('held-by-cluster', 'ClustersSelected', /^False/);
  const saidBy = async (name: string, type: string) => findCondition((await world.get(name))?.status?.conditions, type)?.message;
  const { code, out } = await flotilla(world.server.kubeconfig, 'check', 'talm', '-o', 'json');
  expect(code).toBe(3);
  const { objects } = z.object({ objects: z.array(z.record(z.string(), z.string())) }).parse(JSON.parse(out));
  const verdict = (name: string) => {
    const { verdict, why, fix } = objects.find(({ object }) => object === `ClusterGroupUpgrade default/${name}`) ?? {};
    return `${verdict}: ${why}${fix ? `; ${fix}` : ''}`;
  };
  expect(verdict('held-by-policy')).toBe(`refused: ${await saidBy('held-by-policy', 'Validated')}`);
  expect(verdict('held-by-cluster')).toBe(`refused: ${await saidBy('held-by-cluster', 'ClustersSelected')}`);
  expect(verdict('not-held')).toMatch(/^carriesOver: /);
});
