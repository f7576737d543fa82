import { ConfigMap } from '@flotilla/api/core';
import { FleetLimitsName } from '@flotilla/api/ran';
import { expect } from 'vitest';
import { testIn } from '../world.ts';
import { spokeNames, World } from './world.ts';

const MOST = 10;
const spokes = spokeNames(60);
const test = testIn(() => World.start({ spokes, job: { seconds: 2, jitter: 0.3 }, withoutHub: true }));

/** The most jobs that ran at a moment, as the spokes themselves noted their beginnings and ends. */
function mostAtOnce(world: World): number {
  const changes = Object.values(world.spokes.report()).flatMap(({ jobsCreated, events }) => [
    ...jobsCreated.map(({ at }) => ({ at, by: 1 })),
    ...events.flatMap(({ at, type }) => (type === 'job-succeeded' ? [{ at, by: -1 }] : [])),
  ]);
  let [now, most] = [0, 0];
  for (const { by } of changes.toSorted((a, b) => a.at - b.at || a.by - b.by)) {
    now += by;
    most = Math.max(most, now);
  }
  return most;
}

test('three upgrades have no more clusters pull than the fleet may, also when the hub is killed in between', async ({ world }) => {
  const data = { [FleetLimitsName.key]: `pulling: ${MOST}` };
  await world.client.create(ConfigMap, { metadata: { namespace: 'default', name: FleetLimitsName.configMap }, data });
  const leader = await world.startHubProcess();
  await world.startHubProcess({ standby: true });
  const shares = [0, 1, 2].map((share) => spokes.slice(share * 20, (share + 1) * 20));
  for (const [index, share] of shares.entries()) await world.upgrade(`share-${index}`, share);
  await world.untilBegun('share-0');
  await leader.stop({ signal: 'SIGKILL' });
  for (const index of shares.keys())
    await world.untilCondition(
      `share-${index}`,
      'PrecachingSuceeded',
      'True PrecachingCompleted: Precaching is completed for all clusters',
      240_000,
    );
  await world.untilClean(spokes);
  for (const spoke of spokes) expect(world.spokes.jobsCreated(spoke), spoke).toHaveLength(1);
  const most = mostAtOnce(world);
  expect(most).toBeLessThanOrEqual(MOST);
  // A place is kept for longer than its job takes.
  expect(most).toBeGreaterThan(MOST / 2);
});
