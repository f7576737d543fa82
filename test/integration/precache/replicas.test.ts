import { expect } from 'vitest';
import { testIn } from '../world.ts';
import { spokeNames, World } from './world.ts';

const spokes = spokeNames(12);
const test = testIn(() => World.start({ spokes, job: { seconds: 4, jitter: 0.3 }, withoutHub: true }));

test('two hubs without Redis: the second leads when the first is killed, and no spoke has a second job', async ({ world }) => {
  const leader = await world.startHubProcess();
  const second = await world.startHubProcess({ standby: true });
  await world.upgrade('shared', spokes);
  await world.untilBegun('shared');
  expect(await second.output()).not.toContain('Caches are filled');
  await leader.stop({ signal: 'SIGKILL' });
  await world.untilCondition('shared', 'PrecachingSuceeded', 'True PrecachingCompleted: Precaching is completed for all clusters', 120_000);
  await world.untilClean(spokes);
  for (const spoke of spokes) expect(world.spokes.jobsCreated(spoke), spoke).toHaveLength(1);
  expect(await second.output()).toMatch(/"store":"this process's own memory"/);
});
