import { Event, Namespace } from '@flotilla/api/core';
import { eventually } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import { testIn } from '../world.ts';
import { World } from './world.ts';

const test = testIn(() => World.start({ spokes: ['terminating', 'beside', 'outage'] }));

// That it times out by the time it was asked for: engine.test.ts of the hub's spoke-job.
test.concurrent("a cluster for which the hub's API server takes nothing says so, once, and holds nobody else", async ({ world }) => {
  // Nothing finalizes it here: it stays Terminating.
  await world.client.delete(Namespace, { name: 'terminating' });
  await world.upgrade('run', ['terminating', 'beside']);
  await world.untilStates('run', { terminating: 'PreparingToStart', beside: 'Succeeded' }, 100_000);
  await world.untilTold('run', 'terminating', /^cannot go on: .*because it is being terminated/);
  const told = async () => {
    const { items } = await world.client.list(Event, { namespace: 'default' });
    return items.filter(({ reason, related }) => reason === 'CguPrecachingImpeded' && related?.name === 'terminating');
  };
  await eventually(async () => (await told()).length > 0, 'the event', 20_000);
  expect(await told()).toHaveLength(1);
});

// However long it lasts: the cases of an action that never reached the API server, in interpret-running.cases.ts beside that.
test.concurrent("an outage of a cluster's API server delays its pre-caching, and does not end it", async ({ world }) => {
  world.spokes.setFaults('outage', { latencyMs: 3_000 });
  await world.upgrade('patient', ['outage']);
  await world.untilStates('patient', { outage: 'Starting' });
  world.spokes.setFaults('outage', { apiServerDown: true });
  const failures = () =>
    world.spokes.events('outage').filter(({ type, name }) => type === 'action-failed' && name === 'precache-job-create');
  // Each of three actions was executed twice.
  await eventually(() => failures().length >= 6, 'tries to fail', 60_000);
  // Said between two tries; while one is under way there may be nothing to say.
  await world.untilTold('patient', 'outage', /^precache-.*: connect: connection refused$/);
  world.spokes.setFaults('outage', {});
  await world.untilStates('patient', { outage: 'Succeeded' }, 100_000);
  expect(world.seen('patient', 'outage')).not.toContain('UnrecoverableError');
  expect(world.spokes.jobsCreated('outage')).toHaveLength(1);
  await world.untilClean(['outage']);
});
