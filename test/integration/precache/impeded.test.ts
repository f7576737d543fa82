import { Event, Namespace } from '@flotilla/api/core';
import { expect } from 'vitest';
import { eventually } from '../../fixtures/eventually.ts';
import { testIn } from '../world.ts';
import { World } from './world.ts';

const test = testIn(() => World.start({ spokes: ['terminating', 'beside', 'outage'], hubArgs: ['--precache-grace-seconds', '0'] }));

test.concurrent("a cluster for which the hub's API server takes nothing says so, and times out by the time it was asked for", async ({
  world,
}) => {
  // Nothing finalizes it here: it stays Terminating.
  await world.client.delete(Namespace, { name: 'terminating' });
  await world.upgrade('run', ['terminating', 'beside'], { remediationStrategy: { maxConcurrency: 100, timeout: 1 } });
  await world.untilStates('run', { terminating: 'PrecacheTimeout', beside: 'Succeeded' }, 100_000);
  await world.untilTold('run', 'terminating', /^cannot go on: .*because it is being terminated/);
  expect(await world.message('run', 'terminating')).toMatch(/^timed out: cannot go on: .*because it is being terminated/);
  const { items } = await world.client.list(Event, { namespace: 'default' });
  const told = items.filter(({ reason, related }) => reason === 'CguPrecachingImpeded' && related?.name === 'terminating');
  expect(told).toHaveLength(1);
});

test.concurrent("an outage of a cluster's API server longer than all tries delays its pre-caching, and does not end it", async ({
  world,
}) => {
  world.spokes.setFaults('outage', { latencyMs: 3_000 });
  await world.upgrade('patient', ['outage']);
  await world.untilStates('patient', { outage: 'Starting' });
  world.spokes.setFaults('outage', { apiServerDown: true });
  const failures = () =>
    world.spokes.events('outage').filter(({ type, name }) => type === 'action-failed' && name === 'precache-job-create');
  // Each of six actions was executed twice.
  await eventually(() => failures().length >= 12, 90_000, 'more tries to fail than the budget has');
  // Said between two tries; while one is under way there may be nothing to say.
  await world.untilTold('patient', 'outage', /^precache-.*: connect: connection refused$/);
  world.spokes.setFaults('outage', {});
  await world.untilStates('patient', { outage: 'Succeeded' }, 100_000);
  expect(world.seen('patient', 'outage')).not.toContain('UnrecoverableError');
  expect(world.spokes.jobsCreated('outage')).toHaveLength(1);
  await world.untilClean(['outage']);
}, 240_000);
