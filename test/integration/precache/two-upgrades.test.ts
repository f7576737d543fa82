import { eventually } from '@flotilla/pace/testing';
import { describe, expect } from 'vitest';
import { testIn } from '../world.ts';
import { TRANSPORTS, World } from './world.ts';

describe.each(TRANSPORTS)('by %s', (transport) => {
  const test = testIn(() =>
    World.start({ transport, processes: true, spokes: ['shared', 'own', 'handed-on', 'restarted', 'retried', 'beside'] }),
  );

  const waits = (holder: string) => `waits for ClusterGroupUpgrade default/${holder}, which is pre-caching this cluster`;

  /** When the jobs of a spoke began and ended. */
  const jobTimes = (world: World, spoke: string) => {
    const events = world.spokes.events(spoke);
    const at = (type: string) => events.filter((event) => event.type === type).map((event) => event.at);
    return { created: at('job-created'), ended: at('job-succeeded') };
  };

  // Jobs are held until the tests have seen what there is to see meanwhile.

  test.concurrent('the second upgrade waits, says for whom, and then runs', async ({ world }) => {
    world.spokes.setFaults('shared', { jobsHeld: true });
    await world.upgrade('first', ['shared']);
    await world.untilStates('first', { shared: 'Active' });
    await world.upgrade('second', ['shared', 'own']);
    await eventually(async () => (await world.message('second', 'shared')) === waits('first'), 'the second to say that it waits');
    expect(await world.states('second')).toMatchObject({ shared: 'NotStarted' });
    world.spokes.setFaults('shared', {});
    await world.untilStates('second', { shared: 'Succeeded', own: 'Succeeded' });
    expect(await world.states('first')).toEqual({ shared: 'Succeeded' });
    const { created, ended } = jobTimes(world, 'shared');
    expect(created).toHaveLength(2);
    expect(created[1]).toBeGreaterThan(ended[0] ?? Number.POSITIVE_INFINITY);
    expect(world.spokes.jobsCreated('own')).toHaveLength(1);
    await world.untilClean(['shared', 'own']);
  });

  test.concurrent('who waits for an upgrade that is deleted goes on once it is cleaned', async ({ world }) => {
    world.spokes.setFaults('handed-on', { jobsHeld: true });
    await world.upgrade('leaving', ['handed-on']);
    await world.untilStates('leaving', { 'handed-on': 'Active' });
    await world.upgrade('staying', ['handed-on']);
    await eventually(async () => (await world.message('staying', 'handed-on')) === waits('leaving'), 'the second to say that it waits');
    await world.delete('leaving');
    world.spokes.setFaults('handed-on', {});
    await world.untilStates('staying', { 'handed-on': 'Succeeded' });
    expect(world.spokes.jobsCreated('handed-on')).toHaveLength(2);
    expect(await world.get('leaving')).toBeUndefined();
  });

  test.concurrent('deleting an upgrade that failed does not disturb the one that now has its spoke', async ({ world }) => {
    world.spokes.setFaults('retried', { failJob: 1 });
    await world.upgrade('failed', ['retried', 'beside']);
    await world.untilCondition('failed', 'PrecachingSuceeded', 'False PartiallyDone: Precaching failed for 1 clusters');
    await world.untilClean(['retried']);
    await world.upgrade('again', ['retried']);
    await world.untilStates('again', { retried: 'Active' });
    await world.delete('failed');
    await eventually(async () => (await world.get('failed')) === undefined, 'the failed upgrade to be gone');
    await world.untilStates('again', { retried: 'Succeeded' });
    expect(world.spokes.jobsCreated('retried')).toHaveLength(2);
  });

  test('a hub that starts while one cleans up and another waits lets the other go on', async ({ world }) => {
    world.spokes.setFaults('restarted', { jobsHeld: true });
    await world.upgrade('before', ['restarted']);
    await world.untilStates('before', { restarted: 'Active' });
    await world.upgrade('after', ['restarted']);
    await eventually(async () => (await world.message('after', 'restarted')) === waits('before'), 'the second to say that it waits');
    // From here on the spoke takes its time: its cleaning, and with it the first upgrade's hold on it, outlasts the hub.
    world.spokes.setFaults('restarted', { latencyMs: 5_000 });
    await world.untilStates('before', { restarted: 'Succeeded' });
    await world.hub?.stop({ signal: 'SIGKILL' });
    await world.startHub({ args: ['--lease-name', 'restarted'] });
    expect(await world.hubObjects('restarted')).not.toEqual([]);
    world.spokes.setFaults('restarted', {});
    await world.untilStates('after', { restarted: 'Succeeded' });
    expect(world.spokes.jobsCreated('restarted')).toHaveLength(2);
  });
});
