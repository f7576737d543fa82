import type { KubeObject } from '@flotilla/api';
import { ManifestWork } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, PRECACHE_WORK, PreCachingConfig, SpokeName } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { describe, expect } from 'vitest';
import { testIn } from '../world.ts';
import { PLATFORM, TRANSPORTS, World } from './world.ts';

const COMPLETED = 'True PrecachingCompleted: Precaching is completed for all clusters';

describe.each(TRANSPORTS)('by %s', (transport) => {
  const test = testIn(() =>
    World.start({
      transport,
      inMemory: true,
      spokes: ['quick', 'running', 'away', 'early', 'slow', 'late', 'broken'],
      job: { seconds: 8 },
    }),
  );

  /** A PreCachingConfig that asks for these images besides the platform's. */
  async function ask(world: World, name: string, additionalImages: readonly string[]): Promise<void> {
    const spec = { overrides: { platformImage: PLATFORM }, additionalImages };
    const config = await world.client.get(PreCachingConfig, { namespace: 'default', name });
    if (!config) await world.client.create(PreCachingConfig, { metadata: { name, namespace: 'default' }, spec });
    else await world.client.patch(PreCachingConfig, config.metadata, { spec }, { type: 'merge' });
  }

  const edit = (world: World, name: string, spec: object) =>
    world.client.patch(ClusterGroupUpgrade, { namespace: 'default', name }, { spec }, { type: 'merge' });

  /** The images that the job now on a spoke was told to pull. */
  const toldTo = (world: World, cluster: string) => {
    const found = world.readOn(cluster, 'ConfigMap', SpokeName.specConfigMap) as
      | (KubeObject & { data?: Record<string, string> })
      | undefined;
    return found?.data?.additionalImages;
  };
  /** The manifests that wait on the hub for a spoke, as JSON. */
  const carriedTo = async (world: World, namespace: string): Promise<string | undefined> => {
    const work = await world.client.get(ManifestWork, { namespace, name: PRECACHE_WORK });
    return work && JSON.stringify(work.spec?.workload);
  };

  /** What every job that succeeded on a spoke was told to pull, in order. */
  function watchJobs(world: World, cluster: string): () => string[] {
    const told: string[] = [];
    const known = new Set<string>();
    const timer = setInterval(() => {
      for (const { uid } of world.spokes.jobsCreated(cluster)) {
        const images = toldTo(world, cluster);
        if (known.has(uid) || images === undefined) continue;
        known.add(uid);
        told.push(images);
      }
    }, 50);
    return () => {
      clearInterval(timer);
      return told;
    };
  }

  test('a spec that is edited while jobs run is what every cluster succeeds with, also one that had succeeded before', async ({
    world,
  }) => {
    await ask(world, 'edited', ['registry.test/first:1']);
    const clusters = ['quick', 'running', 'away'];
    const watched = clusters.map((cluster) => [cluster, watchJobs(world, cluster)] as const);
    world.spokes.disconnect('running');
    world.spokes.disconnect('away');
    await world.upgrade('edited', clusters, { preCachingConfigRef: { name: 'edited' } });
    await world.untilStates('edited', { quick: 'Succeeded', running: 'PreparingToStart', away: 'PreparingToStart' });
    world.spokes.reconnect('running');
    await eventually(() => world.spokes.jobsCreated('running').length > 0, 'the job on running', 20_000);
    await ask(world, 'edited', ['registry.test/second:2']);
    await eventually(
      async () => (await world.states('edited')).quick !== 'Succeeded',
      'the verdict about other images to be taken back',
      20_000,
    );
    // An agent that returns carries out the work that it finds.
    if (transport === 'work')
      await eventually(async () => (await carriedTo(world, 'away'))?.includes('second:2'), 'the work of the absent to be replaced', 20_000);
    world.spokes.reconnect('away');
    await world.untilCondition('edited', 'PrecachingSuceeded', COMPLETED, 90_000);
    expect(Object.fromEntries(watched.map(([cluster, told]) => [cluster, told()]))).toEqual({
      quick: ['registry.test/first:1', 'registry.test/second:2'],
      running: ['registry.test/first:1', 'registry.test/second:2'],
      away: ['registry.test/second:2'],
    });
    await world.untilClean(clusters);
  });

  test('an edit that no hub saw takes back what was stored before it', async ({ world }) => {
    await ask(world, 'unseen', ['registry.test/first:1']);
    world.spokes.disconnect('slow');
    const told = watchJobs(world, 'early');
    await world.upgrade('unseen', ['early', 'slow'], { preCachingConfigRef: { name: 'unseen' } });
    await world.untilStates('unseen', { early: 'Succeeded' });
    await world.hub?.stop();
    await ask(world, 'unseen', ['registry.test/second:2']);
    await world.startHub();
    world.spokes.reconnect('slow');
    await world.untilCondition('unseen', 'PrecachingSuceeded', COMPLETED, 90_000);
    expect(told()).toEqual(['registry.test/first:1', 'registry.test/second:2']);
    // A work begins when its agent returns, whatever the hub has seen by then; an action is made only then.
    expect(world.spokes.jobsCreated('slow').length).toBeLessThanOrEqual(transport === 'work' ? 2 : 1);
    expect(toldTo(world, 'slow') ?? 'registry.test/second:2').toBe('registry.test/second:2');
    await world.untilClean(['early', 'slow']);
  });

  test('an edit after all have succeeded has them pull again before the rollout, whichever object it is in', async ({ world }) => {
    await ask(world, 'late', ['registry.test/first:1']);
    await ask(world, 'late-other', ['registry.test/third:3']);
    const told = watchJobs(world, 'late');
    await world.upgrade('late', ['late'], { preCachingConfigRef: { name: 'late' } });
    await world.untilCondition('late', 'PrecachingSuceeded', COMPLETED, 90_000);
    await ask(world, 'late', ['registry.test/second:2']);
    await world.untilCondition('late', 'PrecachingSuceeded', /^False InProgress/, 20_000);
    await world.untilCondition('late', 'PrecachingSuceeded', COMPLETED, 90_000);
    // The edit and the start come in one, and no hub is there to see either.
    await world.hub?.stop();
    await edit(world, 'late', { enable: true, preCachingConfigRef: { name: 'late-other' } });
    await world.startHub();
    await eventually(async () => (await world.get('late'))?.status?.status.completedAt !== undefined, 'the upgrade to end', 90_000);
    expect(told()).toEqual(['registry.test/first:1', 'registry.test/second:2', 'registry.test/third:3']);
    expect((await world.get('late'))?.status?.precaching).toMatchObject({
      spec: { additionalImages: ['registry.test/third:3'] },
      status: { late: 'Succeeded' },
    });
  });

  test('an edit that nothing can be derived from stops the upgrade, and takes back no pull once it is mended', async ({ world }) => {
    await ask(world, 'broken', ['registry.test/first:1']);
    await world.upgrade('broken', ['broken'], { preCachingConfigRef: { name: 'broken' } });
    await world.untilCondition('broken', 'PrecachingSuceeded', COMPLETED, 90_000);
    const change = (spaceRequired: string | null) =>
      world.client.patch(PreCachingConfig, { namespace: 'default', name: 'broken' }, { spec: { spaceRequired } }, { type: 'merge' });
    await change('lots');
    await world.untilCondition('broken', 'Stalled', /^True PrecacheSpecIncomplete: .*spaceRequired/, 20_000);
    await edit(world, 'broken', { enable: true });
    await change(null);
    await eventually(async () => (await world.get('broken'))?.status?.status.completedAt !== undefined, 'the upgrade to end', 90_000);
    expect(world.spokes.jobsCreated('broken').length).toBe(1);
  });
});
