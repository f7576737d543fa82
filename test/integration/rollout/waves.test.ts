import { Annotation, conditionTime } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { describe, expect } from 'vitest';
import { TRANSPORTS, testIn } from '../world.ts';
import { RolloutWorld, spokeNames } from './world.ts';

/** Batches that are filled with clusters that are ready, and hours of single clusters. */

const CACHING = { preCaching: true, preCachingConfigRef: { name: 'config' } };
const WAVES = { [Annotation.waves]: 'ready', [Annotation.wavePatience]: '2m' };
const MINUTE_MS = 60_000;

describe.each(TRANSPORTS)('by %s', (transport) => {
  const fleets = { ready: 6, tried: 3, hours: 3, late: 2, wrong: 1 };
  const test = testIn(() =>
    RolloutWorld.start({
      spokes: Object.entries(fleets).flatMap(([name, count]) => spokeNames(count, name)),
      transport,
      job: { seconds: 1, startupMs: 200 },
      inMemory: true,
    }),
  );

  async function ask(world: RolloutWorld, name: keyof typeof fleets, spec: object, annotations: Record<string, string>): Promise<string[]> {
    const clusters = spokeNames(fleets[name], name);
    await world.policies(clusters, { [`${name}-p`]: {} });
    await world.upgrade(name, clusters, [`${name}-p`], { ...spec }, annotations);
    return clusters;
  }
  const enforcedAt = (world: RolloutWorld, name: string, cluster: string) =>
    world.happenedAt(`${name}-p`, cluster, 'enforced') ?? expect.fail(`${cluster} was never enforced`);
  const recorded = async (world: RolloutWorld, name: string) => (await world.get(name))?.status?.clusters?.map((each) => each.name) ?? [];

  test('clusters that are ready go first, in the order of the plan, while slow ones pull; then those', async ({ world }) => {
    const slow = ['ready-1', 'ready-4'];
    const second = ['ready-5', 'ready-6'];
    for (const cluster of [...slow, ...second]) world.spokes.setFaults(cluster, { jobsHeld: true });
    const remediationStrategy = { maxConcurrency: 2, timeout: 240 };
    const clusters = await ask(world, 'ready', { ...CACHING, remediationStrategy }, WAVES);
    const fast = clusters.filter((cluster) => !slow.includes(cluster));
    // Of pulls that end together the first two may be any.
    await eventually(async () => (await recorded(world, 'ready')).length === 2, 'the first two to be done', 60_000);
    for (const cluster of second) world.spokes.setFaults(cluster, {});
    await eventually(async () => (await recorded(world, 'ready')).length === fast.length, 'the ready to be done', 60_000);
    const { status } = (await world.get('ready')) ?? {};
    expect((await recorded(world, 'ready')).toSorted()).toEqual(fast);
    expect(status?.remediationPlan).toEqual([fast.slice(0, 2), fast.slice(2), slow]);
    await eventually(
      async () =>
        /waits \(wave\).*batch 3 is filled with clusters that are ready: 0 of 2/.test(
          (await world.get('ready'))?.status?.messages?.['(upgrade)'] ?? '',
        ),
      'the status to say what it waits for',
    );
    for (const cluster of slow) world.spokes.setFaults(cluster, {});
    await world.untilCompleted('ready', 60_000);
    const last = Math.max(...fast.map((cluster) => enforcedAt(world, 'ready', cluster)));
    for (const cluster of slow) expect(enforcedAt(world, 'ready', cluster)).toBeGreaterThan(last);
    expect((await world.get('ready'))?.status?.conditions?.find(({ type }) => type === 'PrecachingSuceeded')?.status).toBe('True');
    await world.untilClean(clusters);
  });

  test('one whose pull fails is left out, and is no success; a hub that starts anew goes on', async ({ world }) => {
    world.spokes.setFaults('tried-1', { failJob: true });
    world.spokes.setFaults('tried-2', { jobsHeld: true });
    const remediationStrategy = { maxConcurrency: 1, timeout: 240 };
    const clusters = await ask(world, 'tried', { ...CACHING, remediationStrategy }, WAVES);
    await eventually(async () => (await recorded(world, 'tried')).includes('tried-3'), 'the third to be done', 60_000);
    await world.hub?.stop();
    world.spokes.setFaults('tried-2', {});
    await world.startHub();
    await world.untilCondition('tried', 'Succeeded', /^False PartiallyDone: 1 of 3 clusters failed/, 60_000);
    expect((await world.get('tried'))?.status?.clusters?.map(({ name, state }) => `${name} ${state}`).toSorted()).toEqual([
      'tried-1 failed',
      'tried-2 complete',
      'tried-3 complete',
    ]);
    await world.untilClean(clusters);
  });

  test('a cluster begins only within its own hours, and nobody waits for it', async ({ world }) => {
    const opens = world.clock.now() + 30 * MINUTE_MS;
    const annotate = (name: string, annotations: Record<string, string | null>) =>
      world.client.patch(ManagedCluster, { name }, { metadata: { annotations } }, { type: 'merge' });
    await annotate('hours-1', { [Annotation.windowStart]: conditionTime(opens) });
    await ask(world, 'hours', { remediationStrategy: { maxConcurrency: 1, timeout: 240 } }, {});
    await eventually(async () => (await recorded(world, 'hours')).length === 2, 'the others to be done', 60_000);
    await eventually(
      async () =>
        /waits \(cluster-hours\) until .*: Waiting for the window of ManagedCluster hours-1/.test(
          (await world.get('hours'))?.status?.messages?.['hours-1'] ?? '',
        ),
      'the status to say when its hours begin',
    );
    expect(world.happenedAt('hours-p', 'hours-1', 'enforced')).toBeUndefined();
    world.clock.skip(31 * MINUTE_MS);
    await world.untilCompleted('hours', 60_000);
    expect(enforcedAt(world, 'hours', 'hours-1')).toBeGreaterThanOrEqual(opens);
  });

  test('waves go on when the hours of a cluster begin, though nothing else happens', async ({ world }) => {
    const opens = world.clock.now() + 30 * MINUTE_MS;
    const annotations = { [Annotation.windowStart]: conditionTime(opens) };
    await world.client.patch(ManagedCluster, { name: 'late-1' }, { metadata: { annotations } }, { type: 'merge' });
    await ask(world, 'late', { remediationStrategy: { maxConcurrency: 1, timeout: 240 } }, WAVES);
    await eventually(async () => (await recorded(world, 'late')).includes('late-2'), 'the other to be done', 60_000);
    world.clock.skip(31 * MINUTE_MS);
    await world.untilCompleted('late', 60_000);
    expect(enforcedAt(world, 'late', 'late-1')).toBeGreaterThanOrEqual(opens);
  });

  test('a value that is not known is refused, and nothing begins', async ({ world }) => {
    await ask(world, 'wrong', {}, { [Annotation.waves]: 'redy' });
    await world.untilCondition('wrong', 'Validated', /^False InvalidWaves: Annotation flotilla.io\/waves is "redy", which is not known/);
    await world.client.patch(
      ClusterGroupUpgrade,
      { namespace: 'default', name: 'wrong' },
      { metadata: { annotations: { [Annotation.waves]: null } } },
      { type: 'merge' },
    );
    await world.untilCompleted('wrong', 60_000);
  });
});
