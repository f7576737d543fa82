import { ManagedCluster } from '@flotilla/api/ocm';
import { CLEANUP_FINALIZER } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { describe, expect } from 'vitest';
import { testIn } from '../world.ts';
import { expectOrderlyBatches } from './orderly.ts';
import { REMEDIATING, RolloutWorld, spokeNames } from './world.ts';

const test = testIn(() => {
  const fleets = { deleted: 3, gone: 4, lost: 2, killed: 6, counted: 4 };
  return RolloutWorld.start({ processes: true, spokes: Object.entries(fleets).flatMap(([name, count]) => spokeNames(count, name)) });
});

const neverOn = (world: RolloutWorld, policy: string, ...clusters: string[]) => {
  for (const cluster of clusters) world.propagator.script(`policies/${policy}`, cluster, { never: true });
};

describe('while it runs', () => {
  test.concurrent('an upgrade that is deleted takes its Placements along, and nothing stays enforced', async ({ world }) => {
    const clusters = spokeNames(3, 'deleted');
    await world.policies(clusters, { 'deleted-base': {}, 'deleted-app': {} });
    neverOn(world, 'deleted-app', ...clusters);
    await world.upgrade('deleted', clusters, ['deleted-base', 'deleted-app'], { remediationStrategy: { maxConcurrency: 2, timeout: 240 } });
    await eventually(async () => (await world.actionOn('deleted-app', 'deleted-2')) === 'enforce', 'the second policy to be enforced');
    expect((await world.get('deleted'))?.metadata.finalizers).toContain(CLEANUP_FINALIZER);
    await world.delete('deleted');
    await eventually(async () => (await world.get('deleted')) === undefined, 'the upgrade to be gone');
    const { placements, bindings } = await world.objectsOf('deleted');
    expect([...placements, ...bindings]).toEqual([]);
    for (const cluster of clusters)
      for (const policy of ['deleted-base', 'deleted-app'])
        await eventually(async () => (await world.actionOn(policy, cluster)) === 'inform', `${policy} to inform on ${cluster}`, 10_000);
    expect(world.happened('deleted-app', 'deleted-3')).toEqual(['NonCompliant']);
  });

  test.concurrent('a spoke that is detached is recorded as failed, and the others go on', async ({ world }) => {
    const clusters = spokeNames(4, 'gone');
    await world.policies(clusters, { 'gone-p': {} });
    neverOn(world, 'gone-p', 'gone-1');
    await world.upgrade('gone', clusters, ['gone-p'], { remediationStrategy: { maxConcurrency: 2, timeout: 240 } });
    await world.untilInProgress('gone', 'gone-1');
    // One under way, one yet to come.
    for (const name of ['gone-1', 'gone-4']) await world.detach(name);
    await world.untilCondition(
      'gone',
      'Succeeded',
      /^False PartiallyDone: 2 of 4 clusters failed .*gone-\d: it is no longer a ManagedCluster/,
    );
    await world.untilEnded('gone');
    expect((await world.recorded('gone')).sort()).toEqual(['gone-1: failed', 'gone-2: complete', 'gone-3: complete', 'gone-4: failed']);
    expect(world.happened('gone-p', 'gone-4')).not.toContain('enforced');
  });

  test.concurrent('a canary that is detached ends the upgrade', async ({ world }) => {
    const clusters = spokeNames(2, 'lost');
    await world.policies(clusters, { 'lost-p': {} });
    neverOn(world, 'lost-p', 'lost-1');
    await world.upgrade('lost', clusters, ['lost-p'], { remediationStrategy: { canaries: ['lost-1'], maxConcurrency: 1, timeout: 240 } });
    await world.untilInProgress('lost', 'lost-1');
    await world.detach('lost-1');
    await world.untilCondition('lost', 'Succeeded', /^False Failed: .*lost-1/);
    expect(await world.recorded('lost')).toEqual(['lost-1: failed']);
    expect(world.happened('lost-p', 'lost-2')).toEqual(['NonCompliant']);
    await world.untilObjectsGone('lost');
  });
});

test('the hub is killed in mid-batch and again at its end: the batch goes on where it was, nothing is done twice', async ({ world }) => {
  const clusters = spokeNames(6, 'killed');
  await world.policies(clusters, { 'killed-base': {}, 'killed-app': {} });
  neverOn(world, 'killed-app', 'killed-2');
  const strategy = { canaries: ['killed-5'], maxConcurrency: 2, timeout: 240 };
  await world.upgrade('killed', clusters, ['killed-base', 'killed-app'], { remediationStrategy: strategy });
  await eventually(() => world.happened('killed-app', 'killed-2').includes('enforced'), 'the second policy to be enforced');
  const before = (await world.get('killed'))?.status;
  await world.hub?.stop({ signal: 'SIGKILL' });
  // It gets there while nobody looks.
  world.propagator.script('policies/killed-app', 'killed-2', { seconds: 0.1 });
  await eventually(() => world.propagator.state('policies/killed-app', 'killed-2') === 'Compliant');
  await world.startHub({ args: ['--lease-name', 'after-the-first'] });
  await world.untilInProgress('killed', 'killed-4');
  await world.hub?.stop({ signal: 'SIGKILL' });
  await world.startHub({ args: ['--lease-name', 'after-the-second'] });
  await world.untilCompleted('killed');
  const after = (await world.get('killed'))?.status;
  expect(after?.status.startedAt).toBe(before?.status.startedAt);
  expect(after?.remediationPlan).toEqual(before?.remediationPlan);
  expect((await world.recorded('killed')).sort()).toEqual(clusters.map((cluster) => `${cluster}: complete`));
  await expectOrderlyBatches(world, 'killed');
  for (const cluster of clusters)
    for (const policy of ['killed-base', 'killed-app'])
      expect(
        world.happened(policy, cluster).filter((what) => what === 'enforced'),
        `${policy} on ${cluster}`,
      ).toHaveLength(1);
  await world.untilObjectsGone('killed');
});

test('at rest a running upgrade costs no writes', async ({ world }) => {
  const clusters = spokeNames(4, 'counted');
  await world.policies(clusters, { 'counted-p': {} });
  neverOn(world, 'counted-p', 'counted-1');
  await world.upgrade('counted', clusters, ['counted-p']);
  await eventually(async () => (await world.recorded('counted')).length === 3, 'all but one to be complete');
  const versions = async () => {
    const { placements, bindings } = await world.objectsOf('counted');
    return [await world.get('counted'), ...placements, ...bindings].map((object) => object?.metadata.resourceVersion);
  };
  const before = await versions();
  expect(before).toHaveLength(3);
  // Other clusters' news wake the hub; it finds nothing to do.
  for (const name of clusters)
    await world.client.patch(ManagedCluster, { name }, { metadata: { labels: { seen: 'yes' } } }, { type: 'merge' });
  await eventually(async () => (await world.labels('counted-4')).seen === 'yes');
  world.propagator.report('policies/counted-p', 'counted-2', 'NonCompliant');
  world.propagator.report('policies/counted-p', 'counted-2', 'Compliant');
  await world.upgrade('counted-2', ['counted-2'], ['counted-p']);
  await world.untilCondition('counted-2', 'Succeeded', /^True/);
  expect(await versions()).toEqual(before);
  expect(await world.condition('counted', 'Progressing')).toBe(REMEDIATING);
});
