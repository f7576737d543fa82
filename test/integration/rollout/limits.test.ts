import { ConfigMap } from '@flotilla/api/core';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, FleetLimitsName, LimitedActivity } from '@flotilla/api/ran';
import { answerWhyOf, askLimits } from '@flotilla/cli/testing';
import { eventually } from '@flotilla/pace/testing';
import { clustersWithPlace } from '@flotilla/rollout';
import { WatchCache } from '@flotilla/runtime';
import { describe, expect } from 'vitest';
import { TRANSPORTS, testIn } from '../world.ts';
import { RolloutWorld, spokeNames } from './world.ts';

/** Limits of the fleet over all upgrades. */

const CACHING = { preCaching: true, preCachingConfigRef: { name: 'config' } };
const LIMITS = { namespace: 'default', name: FleetLimitsName.configMap };

/** The most clusters that had a place at any moment, as the server tells it. */
async function countPlaces(world: RolloutWorld, stop: AbortSignal) {
  const upgrades = new WatchCache(world.client, ClusterGroupUpgrade, {});
  const most = { pulling: 0, upgrading: 0 };
  upgrades.subscribe(() => {
    for (const activity of LimitedActivity.options) {
      const clusters = new Set(upgrades.list().flatMap((upgrade) => clustersWithPlace(upgrade, activity)));
      most[activity] = Math.max(most[activity], clusters.size);
    }
  });
  upgrades.start(stop);
  await upgrades.synced();
  return most;
}

describe.each(TRANSPORTS)('by %s', (transport) => {
  const test = testIn(() =>
    RolloutWorld.start({
      spokes: [...spokeNames(4, 'a'), ...spokeNames(4, 'b'), ...spokeNames(4, 'c')],
      transport,
      job: { seconds: 20, startupMs: 200 },
      inMemory: true,
      withoutHub: true,
    }),
  );

  test('no more clusters pull, or are upgraded, than there are places, and everybody has a turn', async ({ world }) => {
    const stopping = new AbortController();
    const say = (text: string) => world.client.patch(ConfigMap, LIMITS, { data: { [FleetLimitsName.key]: text } }, { type: 'merge' });
    await world.client.create(ConfigMap, { metadata: LIMITS, data: { [FleetLimitsName.key]: 'pulling: 0\n' } });
    await world.startHub();
    const most = await countPlaces(world, stopping.signal);
    const names = ['a', 'b', 'c'];
    for (const name of names) {
      const clusters = spokeNames(4, name);
      await world.policies(clusters, { [`${name}-p`]: {} });
      await world.upgrade(name, clusters, [`${name}-p`], { ...CACHING, remediationStrategy: { maxConcurrency: 4, timeout: 240 } });
    }
    const said = async (name: string, cluster: string) => (await world.get(name))?.status?.precaching?.messages?.[cluster] ?? '';
    // Nobody has read limits since the start.
    await eventually(
      async () =>
        /waits \(limit\).*could not be read since the start of the hub: .*limits\.yaml\.pulling is 0: .*; to go on: correct key/.test(
          await said('c', 'c-4'),
        ),
      'the status to say what is wrong',
      20_000,
    );
    expect(most).toEqual({ pulling: 0, upgrading: 0 });
    await say('pulling: 3\nupgrading: 2\n');
    await eventually(
      async () => /waits \(limit\).*at most 3 clusters pre-cache at a time.*; default\/a has places/.test(await said('c', 'c-1')),
      'the status to say who has the places',
      60_000,
    );
    // One that cannot be read keeps the last.
    await say('pulling: many\n');
    for (const name of names) await world.untilCompleted(name, 120_000);
    expect(most).toEqual({ pulling: 3, upgrading: 2 });
    stopping.abort();
  });
});

describe('by label', () => {
  const test = testIn(() =>
    RolloutWorld.start({
      spokes: [...spokeNames(4, 'north'), ...spokeNames(4, 'south')],
      job: { seconds: 2, startupMs: 200 },
      inMemory: true,
      withoutHub: true,
    }),
  );

  test('each value has its own places, and a batch that waits for them has time', async ({ world }) => {
    const stopping = new AbortController();
    for (const name of spokeNames(4, 'north'))
      await world.client.patch(ManagedCluster, { name }, { metadata: { labels: { region: 'north' } } }, { type: 'merge' });
    const text = 'byLabel:\n- label: region\n  upgrading: 4\n  values:\n    north: {upgrading: 1}\n';
    await world.client.create(ConfigMap, { metadata: LIMITS, data: { [FleetLimitsName.key]: text } });
    await world.startHub();
    const most = await countPlaces(world, stopping.signal);
    const clusters = [...spokeNames(4, 'north'), ...spokeNames(4, 'south')];
    await world.policies(clusters, { p: {} });
    world.propagator.script('policies/p', 'north-1', { never: true });
    await world.upgrade('regions', clusters, ['p'], { remediationStrategy: { maxConcurrency: 8, timeout: 240 } });
    await eventually(
      async () =>
        /waits \(limit\) since .*at most 1 cluster with region=north is upgraded at a time/.test(
          (await world.get('regions'))?.status?.messages?.['north-4'] ?? '',
        ),
      'the status to say what it waits for',
      60_000,
    );
    const answer = await answerWhyOf(
      { client: world.client, hubNamespace: 'default', now: () => world.clock.now() },
      { namespace: 'default', name: 'regions' },
      'north-4',
    );
    expect([answer.cause, answer.release.byItself]).toEqual(['limit', true]);
    expect(answer.release.says).toMatch(/flotilla limits shows who has them/);
    expect(await askLimits(world.client, 'default')).toMatchObject({
      limits: [
        { activity: 'upgrading', label: 'region', value: '', most: 4 },
        { activity: 'upgrading', label: 'region', value: 'north', most: 1, holders: [{ upgrade: 'default/regions', clusters: 1 }] },
      ],
    });
    world.propagator.script('policies/p', 'north-1', {});
    await world.untilCompleted('regions', 60_000);
    expect(most.upgrading).toBeLessThanOrEqual(5);
    expect((await world.get('regions'))?.status?.clusters?.every(({ state }) => state === 'complete')).toBe(true);
    stopping.abort();
  });
});
