import { ManagedCluster } from '@flotilla/api/ocm';
import { eventually } from '@flotilla/pace/testing';
import { describe, expect } from 'vitest';
import { testIn } from '../world.ts';
import { TRANSPORTS, World } from './world.ts';

const away = (cluster: string, since = 'pre-caching goes on when it is') =>
  `the cluster is not available; ${since}; see kubectl describe managedcluster ${cluster}, and whether the cluster and its agent run`;

describe.each(TRANSPORTS)('by %s', (transport) => {
  const test = testIn(async () => {
    const spokes = ['deleted-1', 'deleted-2', 'deleted-away', 'never', 'returns', 'leaves', 'stays-1', 'stays-2', 'detached'];
    const world = await World.start({ spokes, transport, job: { seconds: 4 }, hubArgs: ['--precache-grace-seconds', '0'] });
    return world;
  });

  test.concurrent('an upgrade that is deleted while it runs leaves nothing behind, also on a spoke that is away, once it is back', async ({
    world,
  }) => {
    const clusters = ['deleted-1', 'deleted-2', 'deleted-away'];
    await world.upgrade('deleted', clusters);
    await world.untilStates('deleted', Object.fromEntries(clusters.map((cluster) => [cluster, 'Active'])));
    await world.setAvailable('deleted-away', false);
    await world.delete('deleted');
    await eventually(async () => (await world.get('deleted')) === undefined, 'the upgrade to be gone');
    await world.untilClean(['deleted-1', 'deleted-2']);
    const left = await world.hubObjects('deleted-away');
    await world.setAvailable('deleted-away', true);
    await world.untilClean(clusters);
    for (const cluster of clusters) await eventually(() => !world.namespaceOn(cluster).exists(), `${cluster} to be clean`, 10_000);
    // A work that is not gone yet is all the memory there has to be.
    expect(left).toEqual([transport === 'work' ? 'precache-work' : 'view-precache-namespace-leftover']);
    expect(clusters.map((cluster) => world.spokes.jobsCreated(cluster).length)).toEqual([1, 1, 1]);
  });

  describe('a spoke that is away', () => {
    test.concurrent('from the start and for good: nothing is created on it, it times out, and nothing goes off when it returns', async ({
      world,
    }) => {
      await world.setAvailable('never', false);
      await world.upgrade('never', ['never'], { remediationStrategy: { maxConcurrency: 1, timeout: 0 } });
      await world.untilStates('never', { never: 'PrecacheTimeout' });
      expect(await world.message('never', 'never')).toBe('timed out: the cluster is not available');
      await world.untilCondition('never', 'Succeeded', /^False Failed/);
      const left = 'view-precache-namespace-leftover';
      await eventually(async () => String(await world.hubObjects('never')) === left, 'nothing but the memory of it');
      await world.setAvailable('never', true);
      await world.untilClean(['never']);
      await eventually(async () => (await world.get('never'))?.status?.status.completedAt !== undefined);
      expect(world.spokes.jobsCreated('never')).toHaveLength(0);
      const events = world.spokes.events('never').map(({ type, name }) => `${type} ${name}`);
      expect(events).toEqual([`view-read ${left}`, `view-reported ${left}`]);
    });

    test.concurrent('from the start, and comes back: it goes on', async ({ world }) => {
      await world.setAvailable('returns', false);
      await world.upgrade('returns', ['returns']);
      await eventually(async () => (await world.message('returns', 'returns')) === away('returns'), 'the message');
      const first = transport === 'work' ? '' : 'view-precache-namespace';
      await eventually(async () => (await world.hubObjects('returns')).join() === first, 'nothing that would go off');
      await world.setAvailable('returns', true);
      await world.untilStates('returns', { returns: 'Succeeded' });
      expect(world.spokes.jobsCreated('returns')).toHaveLength(1);
    });

    test.concurrent('in the middle, and comes back: the same job counts', async ({ world }) => {
      await world.upgrade('leaves', ['leaves']);
      await world.untilStates('leaves', { leaves: 'Active' });
      await world.setAvailable('leaves', false);
      await eventually(async () => (await world.message('leaves', 'leaves')) === away('leaves', 'last seen pulling'), 'the message');
      await world.setAvailable('leaves', true);
      await world.untilStates('leaves', { leaves: 'Succeeded' });
      expect(world.spokes.jobsCreated('leaves')).toHaveLength(1);
    });
  });

  test.concurrent('a cluster that is detached while it runs does not hold up the rest', async ({ world }) => {
    const clusters = ['stays-1', 'detached', 'stays-2'];
    for (const name of clusters)
      await world.client.patch(ManagedCluster, { name }, { metadata: { labels: { group: 'mixed' } } }, { type: 'merge' });
    world.spokes.setFaults('detached', { jobNeverStarts: true });
    await world.upgrade('mixed', undefined, { clusterLabelSelectors: [{ matchLabels: { group: 'mixed' } }] });
    await world.untilStates('mixed', { detached: 'Starting' });
    await world.detach('detached');
    await world.untilCondition('mixed', 'PrecachingSuceeded', 'True PrecachingCompleted: Precaching is completed for all clusters');
    expect(await world.states('mixed')).toMatchObject({ 'stays-1': 'Succeeded', 'stays-2': 'Succeeded' });
    expect((await world.get('mixed'))?.status?.remediationPlan).toEqual([['stays-1', 'stays-2']]);
  });
});
