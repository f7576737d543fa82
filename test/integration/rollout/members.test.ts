/** Clusters that come to a rollout that runs: by their membership, or tried again after a pre-cache that failed. */
import { Annotation } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { describe, expect } from 'vitest';
import { TRANSPORTS, testIn } from '../world.ts';
import { RolloutWorld } from './world.ts';

const spokes = ['one', 'two', 'bad', 'new', 'other'];
const SITE = { matchLabels: { site: 'yes' } };
const precaching = { preCaching: true, preCachingConfigRef: { name: 'config' } };

const label = (world: RolloutWorld, name: string, site: string | null) =>
  world.client.patch(ManagedCluster, { name }, { metadata: { labels: { site } } }, { type: 'merge' });

describe.each(TRANSPORTS)('by %s', (transport) => {
  const test = testIn(async () => {
    const world = await RolloutWorld.start({ spokes, transport, inMemory: true });
    await world.policies(spokes, { p: {}, q: {} });
    for (const name of ['one', 'two', 'bad']) await label(world, name, 'yes');
    world.spokes.setFaults('bad', { failJob: true });
    world.propagator.script('policies/p', 'one', { never: true });
    return world;
  });
  const jobs = (world: RolloutWorld) => Object.fromEntries(spokes.map((name) => [name, world.spokes.jobsCreated(name).length]));

  test('one that failed pre-caching pulls again and comes last; one that is selected later joins behind a pull of its own', async ({
    world,
  }) => {
    const strategy = { remediationStrategy: { maxConcurrency: 1, timeout: 240 } };
    const edits = { actions: { beforeEnable: { addClusterLabels: { begun: 'yes' } } } };
    await world.client.create(ClusterGroupUpgrade, {
      metadata: { namespace: 'default', name: 'u' },
      spec: { clusterLabelSelectors: [SITE], managedPolicies: ['p'], ...precaching, ...strategy, ...edits },
    });
    await world.untilInProgress('u', 'one');
    expect((await world.get('u'))?.status?.remediationPlan).toEqual([['one'], ['two']]);
    expect(await world.recorded('u')).toEqual(['bad: failed']);

    // Frozen, as without the annotation.
    await label(world, 'new', 'yes');
    world.spokes.setFaults('bad', {});
    await world.annotate('u', { [Annotation.retryAt]: '2026-01-01T00:00:00Z' });
    await eventually(async () => (await world.get('u'))?.status?.precaching?.status?.bad === 'Succeeded', 'bad to be cached', 60_000);
    expect((await world.get('u'))?.status?.remediationPlan).toEqual([['one'], ['two'], ['bad']]);
    expect((await world.get('u'))?.status?.precaching?.retries).toEqual({ bad: 1 });

    await world.annotate('u', { [Annotation.membership]: 'add' });
    await eventually(async () => (await world.get('u'))?.status?.precaching?.status?.new === 'Succeeded', 'new to be cached', 60_000);
    await world.hub?.stop();
    await world.startHub();
    expect((await world.get('u'))?.status?.remediationPlan).toEqual([['one'], ['two'], ['bad'], ['new']]);
    expect(await world.labels('new')).toMatchObject({ begun: 'yes', name: 'new' });
    expect(await world.condition('u', 'PrecachingSuceeded')).toMatch(/^True PrecachingCompleted/);

    // A value that is not known lets no batch start, and is named.
    await world.annotate('u', { [Annotation.membership]: 'all' });
    world.propagator.script('policies/p', 'one', { seconds: 0 });
    await world.untilCondition('u', 'Progressing', /^True InvalidMembership: Annotation flotilla.io\/membership is "all"/);
    await world.annotate('u', { [Annotation.membership]: 'frozen' });
    await label(world, 'other', 'yes');
    await world.untilCompleted('u');
    expect((await world.recorded('u')).toSorted()).toEqual(['bad: complete', 'new: complete', 'one: complete', 'two: complete']);
    expect(jobs(world)).toEqual({ one: 1, two: 1, bad: 2, new: 1, other: 0 });
  });
});
