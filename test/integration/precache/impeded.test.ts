import { Event, Namespace } from '@flotilla/api/core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../fixtures/eventually.ts';
import { World } from './world.ts';

let world: World;

beforeAll(async () => {
  world = await World.start({ spokes: ['terminating', 'beside', 'outage'], hubArgs: ['--precache-grace-seconds', '0'] });
});
afterAll(() => world?.stop());

test.concurrent("a cluster for which the hub's API server takes nothing says so, and times out by the time it was asked for", async () => {
  // Nothing finalizes it here: it stays Terminating.
  await world.client.delete(Namespace, { name: 'terminating' });
  await world.upgrade('run', ['terminating', 'beside'], { remediationStrategy: { maxConcurrency: 100, timeout: 1 } });
  const said = /^cannot go on: .*because it is being terminated/;
  await eventually(async () => said.test((await world.message('run', 'terminating')) ?? ''), 60_000, 'the error to stand in the status');
  await world.untilStates('run', { terminating: 'PrecacheTimeout', beside: 'Succeeded' }, 100_000);
  expect(await world.message('run', 'terminating')).toMatch(/^timed out: cannot go on: .*because it is being terminated/);
  const { items } = await world.client.list(Event, { namespace: 'default' });
  const told = items.filter(({ reason, related }) => reason === 'CguPrecachingImpeded' && related?.name === 'terminating');
  expect(told).toHaveLength(1);
});

test.concurrent("an outage of a cluster's API server longer than all tries delays its pre-caching, and does not end it", async () => {
  world.spokes.setFaults('outage', { latencyMs: 1_500 });
  await world.upgrade('patient', ['outage']);
  await world.untilStates('patient', { outage: 'Starting' });
  world.spokes.setFaults('outage', { apiServerDown: true });
  const failures = () =>
    world.spokes.events('outage').filter(({ type, name }) => type === 'action-failed' && name === 'precache-job-create');
  // Each of six actions was executed twice.
  await eventually(() => failures().length >= 12, 90_000, 'more tries to fail than the budget has');
  // Said between two tries; while one is under way there may be nothing to say.
  const told = async () => /^precache-.*: connect: connection refused$/.test((await world.message('patient', 'outage')) ?? '');
  await eventually(told, 60_000, 'the outage to be told');
  world.spokes.setFaults('outage', {});
  await world.untilStates('patient', { outage: 'Succeeded' }, 100_000);
  expect(world.seen('patient', 'outage')).not.toContain('UnrecoverableError');
  expect(world.spokes.jobsCreated('outage')).toHaveLength(1);
  await world.untilClean(['outage']);
}, 240_000);
