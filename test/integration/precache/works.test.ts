import type { KubeObject } from '@flotilla/api';
import { ManifestWork } from '@flotilla/api/ocm';
import { expect } from 'vitest';
import { eventually } from '../../fixtures/eventually.ts';
import { testIn } from '../world.ts';
import { World } from './world.ts';

const spokes = ['good', 'failing', 'late', 'edited', 'dirty', 'held', 'lost'];
const cadence = { statusSyncMs: 500, resyncMs: 60_000 };

const test = testIn(async () => {
  const world = await World.start({ spokes, hubArgs: ['--transport', 'work'], simulated: { workCadence: cadence } });
  world.spokes.setFaults('failing', { failJob: 1 });
  world.spokes.setFaults('late', { deadlineJobSeconds: 2 });
  return world;
});

const worksOf = async (world: World, cluster: string): Promise<KubeObject[]> =>
  (await world.client.list(ManifestWork, { namespace: cluster })).items;
const untilNoWork = (world: World, cluster: string) =>
  eventually(async () => (await worksOf(world, cluster)).length === 0, 30_000, `the work of ${cluster} to be gone`);

test.concurrent('one work carries the pre-cache, and its deletion leaves the spoke clean', async ({ world }) => {
  await world.upgrade('good', ['good']);
  await world.untilStates('good', { good: 'Active' });
  expect((await worksOf(world, 'good')).map(({ metadata }) => metadata.name)).toEqual(['precache-work']);
  expect(await world.hubObjects('good')).toEqual([]);
  await world.untilStates('good', { good: 'Succeeded' });
  await untilNoWork(world, 'good');
  expect(world.namespaceOn('good').exists()).toBe(false);
  expect(world.spokes.jobsCreated('good')).toHaveLength(1);
});
