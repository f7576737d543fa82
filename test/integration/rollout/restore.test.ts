import { KubeObject, Label } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { CLEANUP_FINALIZER, ClusterGroupUpgrade } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import { testIn, upgradeRef } from '../world.ts';
import { RolloutWorld, spokeNames } from './world.ts';

const FLEETS = { back: 3, bare: 3, held: 2 };
const test = testIn(() => RolloutWorld.start({ spokes: Object.entries(FLEETS).flatMap(([name, count]) => spokeNames(count, name)) }));

/** Removes clusters as the loss of a hub does: nobody sees them leave. Returns them as a backup has them. */
async function lose(world: RolloutWorld, clusters: readonly string[]): Promise<KubeObject[]> {
  const saved: KubeObject[] = [];
  for (const name of clusters) {
    const found = await world.client.get(ManagedCluster, { name });
    const { labels, annotations } = found?.metadata ?? {};
    saved.push(KubeObject.parse({ metadata: { name, labels, annotations }, spec: found?.spec }));
    await world.client.delete(ManagedCluster, { name });
  }
  return saved;
}
const selecting = (fleet: string) => ({ clusterLabelSelectors: [{ matchLabels: { fleet } }], clusters: undefined });
const label = async (world: RolloutWorld, fleet: string, clusters: readonly string[]): Promise<void> => {
  for (const name of clusters) await world.client.patch(ManagedCluster, { name }, { metadata: { labels: { fleet } } }, { type: 'merge' });
};

test.concurrent('with statuses, while the hub runs: members that come back one by one are waited for, and the upgrade goes on', async ({
  world,
}) => {
  const clusters = spokeNames(3, 'back');
  await world.policies(clusters, { 'back-p': { decided: true } });
  for (const cluster of clusters) world.propagator.script('policies/back-p', cluster, { never: true });
  const strategy = { canaries: ['back-1'], maxConcurrency: 2, timeout: 240 };
  await world.upgrade('back', clusters, ['back-p'], { remediationStrategy: strategy });
  await eventually(() => world.happened('back-p', 'back-1').includes('enforced'), 'the canary to be enforced');
  const saved = await lose(world, clusters);
  await world.untilCondition('back', 'Progressing', /back-1 is no ManagedCluster, and nobody saw it deleted/);
  world.propagator.script('policies/back-p', 'back-2', {});
  for (const cluster of saved.toReversed()) {
    expect(await world.condition('back', 'Succeeded')).toBeUndefined();
    await world.client.create(ManagedCluster, cluster);
  }
  for (const cluster of clusters) world.propagator.script('policies/back-p', cluster, {});
  await world.untilCompleted('back');
  expect(await world.recorded('back')).toEqual(['back-1: complete', 'back-2: complete', 'back-3: complete']);
});

test.concurrent('without its status an upgrade that was made again judges nobody; with it, it goes on where it was', async ({ world }) => {
  const clusters = spokeNames(3, 'bare');
  await label(world, 'bare', clusters);
  await world.policies(clusters, { 'bare-p': { decided: true } });
  for (const cluster of clusters) world.propagator.script('policies/bare-p', cluster, { never: true });
  await world.upgrade('bare', [], ['bare-p'], { ...selecting('bare'), remediationStrategy: { maxConcurrency: 1, timeout: 240 } });
  await world.untilInProgress('bare', 'bare-1');
  const before = await world.get('bare');
  const saved = await lose(world, clusters);
  await world.client.delete(ClusterGroupUpgrade, upgradeRef('bare'));
  await eventually(async () => (await world.get('bare')) === undefined, 'the upgrade to be gone');
  const { labels, annotations } = before?.metadata ?? {};
  expect(labels?.[Label.takenUp]).toContain(before?.metadata.uid);
  const copy = { metadata: { ...upgradeRef('bare'), labels, annotations, finalizers: [CLEANUP_FINALIZER] }, spec: before?.spec };
  await world.client.create(ClusterGroupUpgrade, KubeObject.parse(copy));
  for (const cluster of clusters) world.propagator.script('policies/bare-p', cluster, {});
  for (const cluster of saved) {
    await world.client.create(ManagedCluster, cluster);
    await world.untilCondition('bare', 'ClustersSelected', /^False WaitingForMembers: The object was made again/);
    expect([await world.condition('bare', 'Succeeded'), await world.condition('bare', 'Stalled')]).toEqual([undefined, undefined]);
  }
  await world.client.patch(ClusterGroupUpgrade, upgradeRef('bare'), { status: before?.status }, { type: 'merge', subresource: 'status' });
  await world.untilCompleted('bare');
  expect(await world.recorded('bare')).toEqual(['bare-1: complete', 'bare-2: complete', 'bare-3: complete']);
});

test.concurrent('a member of the stored plan that is missing holds the start, until it is taken out or has left', async ({ world }) => {
  const clusters = spokeNames(2, 'held');
  await label(world, 'held', clusters);
  await world.policies(clusters, { 'held-p': { decided: true } });
  await world.upgrade('held', [], ['held-p'], { ...selecting('held'), enable: false });
  await eventually(async () => (await world.get('held'))?.status?.remediationPlan?.flat().length === 2, 'the plan');
  const [saved] = await lose(world, ['held-2']);
  await world.edit('held', { enable: true });
  await world.untilCondition(
    'held',
    'ClustersSelected',
    /^False WaitingForMembers: held-2 is no ManagedCluster, and nobody saw it deleted/,
  );
  expect(await world.condition('held', 'Succeeded')).toBeUndefined();
  if (saved) await world.client.create(ManagedCluster, saved);
  await world.untilCompleted('held');
  expect((await world.recorded('held')).toSorted()).toEqual(['held-1: complete', 'held-2: complete']);
});
