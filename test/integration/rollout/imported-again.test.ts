import type { KubeObject } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { describe, expect } from 'vitest';
import { TRANSPORTS, testIn, upgradeRef } from '../world.ts';
import { RolloutWorld, spokeNames } from './world.ts';

/** Clusters that come again under their names as other machines: nothing of what was known of the machine before counts. */

const CACHING = { preCaching: true, preCachingConfigRef: { name: 'config' } };

describe.each(TRANSPORTS)('by %s', (transport) => {
  const fleets = { before: 2, off: 2, older: 1, later: 3, running: 2, canary: 2, earlier: 2 };
  const test = testIn(() =>
    RolloutWorld.start({
      spokes: Object.entries(fleets).flatMap(([name, count]) => spokeNames(count, name)),
      transport,
      job: { seconds: 1, startupMs: 200 },
      inMemory: true,
    }),
  );

  /** Pre-caches an upgrade that is not enabled yet. */
  async function precached(world: RolloutWorld, name: keyof typeof fleets, strategy: object = {}): Promise<string[]> {
    const clusters = spokeNames(fleets[name], name);
    await world.policies(clusters, { [`${name}-p`]: { decided: true } });
    const remediationStrategy = { maxConcurrency: 1, timeout: 240, ...strategy };
    await world.upgrade(name, clusters, [`${name}-p`], { ...CACHING, enable: false, remediationStrategy });
    await world.untilCondition(name, 'PrecachingSuceeded', /^True PrecachingCompleted/);
    await world.untilClean(clusters);
    return clusters;
  }
  /** The same name, another ManagedCluster: no labels of before, and another uid. */
  async function importAgain(world: RolloutWorld, name: string): Promise<void> {
    const { metadata, spec, status } = (await world.client.get(ManagedCluster, { name })) ?? expect.fail(`${name} is no cluster`);
    const isOurs = (key: string) => key !== 'name' && !key.startsWith('flotilla.io/');
    const labels = Object.fromEntries(Object.entries(metadata.labels ?? {}).filter(([key]) => isOurs(key)));
    await world.client.delete(ManagedCluster, { name });
    await world.client.create(ManagedCluster, { metadata: { name, labels, annotations: metadata.annotations }, spec } as KubeObject);
    await world.client.patch(ManagedCluster, { name }, { status }, { type: 'merge', subresource: 'status' });
  }
  const jobs = (world: RolloutWorld, cluster: string) => world.spokes.jobsCreated(cluster).length;
  /** Time of the last verdict of a job on a spoke, and of the first enforcement there. */
  const pulledAt = (world: RolloutWorld, cluster: string) =>
    world.spokes
      .events(cluster)
      .filter(({ type }) => type === 'job-succeeded')
      .at(-1)?.at ?? expect.fail(`${cluster} never pulled`);
  const lastEnforcedAt = (world: RolloutWorld, name: string, cluster: string) =>
    world.happenedAt(`${name}-p`, cluster, 'enforced') ?? expect.fail(`${cluster} was never enforced`);
  const told = (world: RolloutWorld, name: string, cluster: string) =>
    world.history(name).sights.flatMap(({ status }) => [status.precaching?.messages?.[cluster] ?? '', status.messages?.[cluster] ?? '']);

  test.concurrent('after pre-caching and before the start: its images are pulled again, which the status says', async ({ world }) => {
    await precached(world, 'before');
    await importAgain(world, 'before-1');
    await eventually(() => jobs(world, 'before-1') === 2, 'another pull', 60_000);
    expect(told(world, 'before', 'before-1')).toContainEqual(expect.stringContaining('it was imported again'));
    await world.untilCondition('before', 'PrecachingSuceeded', /^True PrecachingCompleted/);
    await world.edit('before', { enable: true });
    await world.untilCompleted('before');
    expect([jobs(world, 'before-1'), jobs(world, 'before-2')]).toEqual([2, 1]);
    expect(lastEnforcedAt(world, 'before', 'before-1')).toBeGreaterThan(pulledAt(world, 'before-1'));
  });

  test.concurrent('a member of a batch to come pulls again before its batch, and the others go on', async ({ world }) => {
    await precached(world, 'later');
    world.propagator.script('policies/later-p', 'later-1', { never: true });
    await world.edit('later', { enable: true });
    await world.untilInProgress('later', 'later-1');
    await importAgain(world, 'later-2');
    await eventually(() => jobs(world, 'later-2') === 2, 'another pull', 60_000);
    world.propagator.script('policies/later-p', 'later-1', {});
    await world.untilCompleted('later');
    expect(spokeNames(3, 'later').map((cluster) => jobs(world, cluster))).toEqual([1, 2, 1]);
    expect(lastEnforcedAt(world, 'later', 'later-2')).toBeGreaterThan(pulledAt(world, 'later-2'));
    expect((await world.labels('later-2')).name).toBe('later-2');
  });

  test.concurrent('a member of the batch that runs pulls again in a last batch, and is enforced only then', async ({ world }) => {
    await precached(world, 'running');
    world.propagator.script('policies/running-p', 'running-1', { never: true });
    await world.edit('running', { enable: true });
    await world.untilInProgress('running', 'running-1');
    await importAgain(world, 'running-1');
    world.propagator.script('policies/running-p', 'running-1', {});
    await world.untilCompleted('running');
    expect([jobs(world, 'running-1'), jobs(world, 'running-2')]).toEqual([2, 1]);
    expect((await world.recorded('running')).toSorted()).toEqual(['running-1: complete', 'running-2: complete']);
    expect(told(world, 'running', 'running-1')).toContainEqual(expect.stringContaining('it was imported again'));
  });

  test.concurrent('a canary of the batch that runs stays the first: nobody else begins before it has pulled and is through', async ({
    world,
  }) => {
    await precached(world, 'canary', { canaries: ['canary-1'] });
    world.propagator.script('policies/canary-p', 'canary-1', { never: true });
    await world.edit('canary', { enable: true });
    await world.untilInProgress('canary', 'canary-1');
    await importAgain(world, 'canary-1');
    await eventually(() => jobs(world, 'canary-1') === 2, 'another pull', 60_000);
    expect(world.happened('canary-p', 'canary-2')).not.toContain('enforced');
    world.propagator.script('policies/canary-p', 'canary-1', {});
    await world.untilCompleted('canary');
    expect(await world.recorded('canary')).toEqual(['canary-1: complete', 'canary-2: complete']);
  });

  test.concurrent('a member of an earlier batch that does not comply any more pulls again before it is enforced again', async ({
    world,
  }) => {
    await precached(world, 'earlier');
    world.propagator.script('policies/earlier-p', 'earlier-2', { never: true });
    await world.edit('earlier', { enable: true });
    await world.untilInProgress('earlier', 'earlier-2');
    await world.untilReleased('earlier-p', 'earlier-1');
    await importAgain(world, 'earlier-1');
    world.propagator.report('policies/earlier-p', 'earlier-1', 'NonCompliant');
    await eventually(() => jobs(world, 'earlier-1') === 2, 'another pull', 60_000);
    world.propagator.script('policies/earlier-p', 'earlier-2', {});
    await world.untilCompleted('earlier');
    const enforced = world.propagator.events.filter(({ cluster, what }) => cluster === 'earlier-1' && what === 'enforced');
    expect(enforced.map(({ atMs }) => atMs > pulledAt(world, 'earlier-1'))).toEqual([false, true]);
    expect((await world.get('earlier'))?.status?.precaching?.status).toEqual({ 'earlier-1': 'Succeeded', 'earlier-2': 'Succeeded' });
  });

  test('with the hub off: the next one sees it, and believes a status that an older hub has written', async ({ world }) => {
    await Promise.all([precached(world, 'off'), precached(world, 'older')]);
    await world.hub?.stop();
    await importAgain(world, 'off-1');
    await importAgain(world, 'older-1');
    await world.client.patch(
      ClusterGroupUpgrade,
      upgradeRef('older'),
      { status: { clusterUids: null } },
      { type: 'merge', subresource: 'status' },
    );
    await Promise.all([world.edit('off', { enable: true }), world.edit('older', { enable: true })]);
    await world.startHub();
    await Promise.all([world.untilCompleted('off'), world.untilCompleted('older')]);
    expect(['off-1', 'off-2', 'older-1'].map((cluster) => jobs(world, cluster))).toEqual([2, 1, 1]);
    expect(lastEnforcedAt(world, 'off', 'off-1')).toBeGreaterThan(pulledAt(world, 'off-1'));
  });
});
