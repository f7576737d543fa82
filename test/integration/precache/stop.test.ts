import { Annotation } from '@flotilla/api';
import { eventually } from '@flotilla/pace/testing';
import { describe, expect } from 'vitest';
import { testIn } from '../world.ts';
import { TRANSPORTS, World } from './world.ts';

const HOURS = 3_600_000;
const spokes = ['done', 'pulling', 'away'];
const PAUSED = /(?:^|: )Paused, and pulls are stopped/;

describe.each(TRANSPORTS)('by %s', (transport) => {
  const test = testIn(async () => {
    const world = await World.start({ spokes, transport, inMemory: true });
    for (const name of ['pulling', 'away']) world.spokes.setFaults(name, { jobsHeld: true });
    return world;
  });

  test('a pause that stops ends pulls that run, and they begin again by one more job', async ({ world }) => {
    await world.upgrade('u', spokes);
    await world.untilStates('u', { done: 'Succeeded', pulling: 'Active', away: 'Active' });
    await world.setAvailable('away', false);

    await world.annotate('u', { [Annotation.paused]: 'stop' });
    await world.untilStates('u', { done: 'Succeeded', pulling: 'NotStarted', away: 'NotStarted' });
    await world.untilClean(['done', 'pulling']);
    expect(await world.message('u', 'pulling')).toMatch(PAUSED);
    await world.untilTold('u', 'away', /cannot be stopped while the cluster is not available/);
    await eventually(() => !world.namespaceOn('pulling').exists(), 'the job to be gone from the cluster');

    await world.hub?.stop();
    await world.startHub();
    expect(await world.states('u')).toEqual({ done: 'Succeeded', pulling: 'NotStarted', away: 'NotStarted' });

    for (const name of ['pulling', 'away']) world.spokes.setFaults(name, {});
    await world.annotate('u', { [Annotation.paused]: null });
    await world.untilStates('u', { pulling: 'Succeeded', away: 'NotStarted' });
    await world.setAvailable('away', true);
    await world.untilStates('u', { done: 'Succeeded', pulling: 'Succeeded', away: 'Succeeded' });
    expect(Object.fromEntries(spokes.map((name) => [name, world.spokes.jobsCreated(name).length]))).toEqual({
      done: 1,
      pulling: 2,
      away: 2,
    });
  });

  test('a pause causes no time-out, and an upgrade that is deleted in it leaves nothing on its spokes', async ({ world }) => {
    world.spokes.setFaults('pulling', { jobsHeld: true });
    await world.upgrade('deleted', ['pulling']);
    await world.untilStates('deleted', { pulling: 'Active' });
    await world.annotate('deleted', { [Annotation.paused]: 'stop' });
    await world.untilStates('deleted', { pulling: 'NotStarted' });
    world.clock.skip(9 * HOURS);
    await world.hub?.stop();
    await world.startHub();
    world.clock.skip(9 * HOURS);
    await world.untilTold('deleted', 'pulling', /Paused, and pulls are stopped/);
    expect(world.seen('deleted', 'pulling')).not.toContain('PrecacheTimeout');
    expect(await world.states('deleted')).toEqual({ pulling: 'NotStarted' });
    await world.delete('deleted');
    await world.untilClean(['pulling']);
    await eventually(() => !world.namespaceOn('pulling').exists(), 'the job to be gone from the cluster');
  });
});
