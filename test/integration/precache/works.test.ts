import { ManifestWork } from '@flotilla/api/ocm';
import { SpokeName } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import { testIn } from '../world.ts';
import { World } from './world.ts';

const test = testIn(() => World.start({ spokes: ['good', 'kept', 'well', 'foreign'], transport: 'work' }));

test.concurrent('one work carries a pre-cache, and no action or view is made', async ({ world }) => {
  world.spokes.setFaults('good', { jobsHeld: true });
  await world.upgrade('good', ['good']);
  await world.untilStates('good', { good: 'Active' });
  expect(await world.hubObjects('good')).toEqual(['precache-work']);
  world.spokes.setFaults('good', {});
  await world.untilStates('good', { good: 'Succeeded' });
  await world.untilClean(['good']);
  expect(world.namespaceOn('good').exists()).toBe(false);
  expect(world.spokes.events('good').filter(({ type }) => /^(action|view)-/.test(type))).toEqual([]);
});

test.concurrent('a job that failed is kept with its work until the upgrade is deleted, and not made again when it is deleted by hand', async ({
  world,
}) => {
  world.spokes.setFaults('kept', { failJob: 1 });
  await world.upgrade('kept', ['kept', 'well']);
  await world.untilStates('kept', { kept: 'UnrecoverableError', well: 'Succeeded' });
  const work = () => world.client.get(ManifestWork, { namespace: 'kept', name: 'precache-work' });
  await eventually(async () => (await work())?.metadata.annotations?.['flotilla.io/frozen'] === 'true', 'the work to be frozen');
  const store = world.spokes.store('kept');
  const jobs = store.kinds.find(({ kind }) => kind === 'Job');
  if (jobs) store.remove(jobs, SpokeName.namespace, SpokeName.job);
  world.spokes.restartAgent('kept');
  await world.delete('kept');
  await eventually(async () => (await work()) === undefined, 'the work to be gone');
  expect(world.namespaceOn('kept').exists()).toBe(false);
  expect(world.spokes.jobsCreated('kept')).toHaveLength(1);
});

test.concurrent("another program's work of the same name is replaced", async ({ world }) => {
  const metadata = { name: 'precache-work', namespace: 'foreign' };
  await world.client.create(ManifestWork, { metadata, spec: { workload: { manifests: [] } } });
  await world.upgrade('foreign', ['foreign']);
  await world.untilStates('foreign', { foreign: 'Succeeded' });
  expect(world.spokes.jobsCreated('foreign')).toHaveLength(1);
  await world.untilClean(['foreign']);
});
