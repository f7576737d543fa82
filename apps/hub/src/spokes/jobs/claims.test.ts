import { ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, type PrecacheState } from '@flotilla/api/ran';
import { settled } from '@flotilla/pace/testing';
import { workLabels } from '@flotilla/rollout';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FAILED, JobsWorld, keyOf, OTHER, RUNNING, SPEC, SPOKE, THIRD } from '../../../testing/jobs-world.ts';
import { buildPrecacheSettings, UPGRADE } from '../../../testing/observation-builders.ts';
import { createPrecacheJob, type PrecacheInputs } from './kinds/precache/job.ts';
import { watchSpokes } from './watches.ts';

const job = createPrecacheJob(buildPrecacheSettings({ image: 'registry.test/puller:1' }));
const inputs = { spec: SPEC, image: 'registry.test/puller:1', profile: 'least-privilege', jobSeconds: 14_400, retries: {} } as const;
const LEFT = ['view-precache-namespace'];

let world: JobsWorld<PrecacheState, PrecacheInputs>;
beforeEach(async () => {
  world = await JobsWorld.start<PrecacheState, PrecacheInputs>(job, inputs);
});
afterEach(() => world.stop());

const states = (...upgrades: readonly (typeof UPGRADE)[]) => upgrades.map((upgrade) => world.stateOf(upgrade));
/** Puts a job on its way until it has its first object. */
async function beginWithView(): Promise<void> {
  await world.pass(UPGRADE);
  await world.runSteps();
  expect(world.names()).toEqual(LEFT);
  await world.untilCached(ManagedClusterView, { namespace: SPOKE, name: LEFT[0] ?? '' });
}

describe('a spoke that left the plan before its job began', () => {
  test('does not begin for that upgrade when the spoke is let go', async () => {
    await world.pass(UPGRADE);
    await world.pass(OTHER);
    expect(states(UPGRADE, OTHER)).toEqual(['PreparingToStart', 'NotStarted']);
    world.judge(OTHER, { clusters: [] });
    await world.store(OTHER, undefined);
    world.jobs.end(UPGRADE.uid);
    await world.store(UPGRADE, 'Succeeded');
    expect(world.jobs.plan(keyOf(OTHER)).writes).toBe('');
    expect(states(THIRD)).toEqual(['PreparingToStart']);
  });

  test('is free for others, if it was held by its annotation or had not stored that it begins', async () => {
    await world.putCluster({ 'flotilla.io/hold': 'a change freeze' });
    await world.pass(UPGRADE);
    await world.store(OTHER, undefined);
    expect([world.stateOf(UPGRADE), world.jobs.claim(OTHER.uid, SPOKE)?.uid]).toEqual(['NotStarted', UPGRADE.uid]);
    await world.putCluster();
    expect(world.stateOf(UPGRADE)).toBe('PreparingToStart');
    expect(world.messageOf(OTHER)).toMatch(/: waits for ClusterGroupUpgrade default\/upgrade/);
    world.judge(UPGRADE, { clusters: [] });
    expect(world.told.splice(0)).toEqual([OTHER.uid]);
    expect(states(OTHER, UPGRADE)).toEqual(['PreparingToStart', 'NotStarted']);
    world.judge(UPGRADE, { clusters: [] });
    await world.clock.advance(14_400_000);
    expect(world.told).toEqual([]);
  });

  test('comes again as a new one', async () => {
    await world.putCluster({}, 'False');
    const [first, begun] = [world.judge(UPGRADE).at, world.clock.now()];
    await world.clock.advance(60_000);
    expect(world.judge(UPGRADE).at).toBe(first);
    world.judge(UPGRADE, { clusters: [] });
    expect(world.judge(UPGRADE).at).toBe((first ?? 0) + world.clock.now() - begun);
  });

  test('stays with its upgrade while the status says that the job has begun', async () => {
    await world.pass(UPGRADE);
    world.judge(UPGRADE, { clusters: [] });
    expect([world.stateOf(UPGRADE), world.jobs.claim(OTHER.uid, SPOKE)?.uid]).toEqual(['PreparingToStart', UPGRADE.uid]);
  });
});

describe('a new leader', () => {
  test('lets nobody begin where another upgrade has begun by its status, whichever it looks at first', async () => {
    await world.store(UPGRADE, 'PreparingToStart');
    await world.store(OTHER, 'NotStarted');
    await world.putCluster({}, 'False');
    world.lead();
    states(OTHER, UPGRADE);
    await world.clock.advance(14_000_000);
    expect(states(UPGRADE, OTHER)).toEqual(['PreparingToStart', 'NotStarted']);
    expect(world.messageOf(OTHER)).toBe(
      'waits (precache-claim) behind default/upgrade: waits for ClusterGroupUpgrade default/upgrade, which is pre-caching this cluster',
    );
    await world.clock.advance(400_000);
    expect(states(UPGRADE, OTHER)).toEqual(['PrecacheTimeout', 'NotStarted']);
    await world.store(UPGRADE, 'PrecacheTimeout');
    expect(world.told).toContain(OTHER.uid);
    expect(states(OTHER)).toEqual(['PreparingToStart']);
  });

  test.each([
    { name: 'names the spoke no more', after: () => world.store(UPGRADE, undefined) },
    { name: 'ends', after: () => world.store(UPGRADE, 'Starting', FAILED) },
    {
      name: 'is gone',
      after: async () => {
        world.hub.remove(ClusterGroupUpgrade, UPGRADE);
        await settled(() => expect(world.leader.caches.upgrades.get(UPGRADE)).toBeUndefined());
        await world.clock.advance(0);
      },
    },
  ])('lets the next one begin when an upgrade $name that has begun by its status alone', async ({ after }) => {
    await world.store(UPGRADE, 'Starting');
    world.lead();
    expect(states(OTHER)).toEqual(['NotStarted']);
    await world.clock.advance(60_000);
    expect([states(OTHER), world.told]).toEqual([['NotStarted'], []]);
    await after();
    await settled(() => expect(world.told).toEqual([OTHER.uid]));
    expect(states(OTHER)).toEqual(['PreparingToStart']);
  });

  test('cleans a spoke of a rollout that runs after its stored verdict, with the inputs that are stored', async () => {
    await beginWithView();
    world.stopping.abort();
    const status = { [SPOKE]: 'Succeeded' };
    await world.store(UPGRADE, 'Succeeded', { ...RUNNING, precaching: { spec: SPEC, status, retries: { [SPOKE]: 1 } } });
    world.lead();
    await world.untilClean();
  });

  test('leaves a spoke free that an upgrade had not finished when it ended', async () => {
    await world.store(UPGRADE, 'Active', FAILED);
    world.lead();
    expect(states(OTHER)).toEqual(['PreparingToStart']);
  });
});

describe('an upgrade that has ended and keeps its objects', () => {
  /** Puts a job on its way, and ends its upgrade with this state of the spoke. */
  async function end(state: PrecacheState): Promise<void> {
    world.deleteObjects = false;
    await beginWithView();
    await world.pass(OTHER);
    await world.store(UPGRADE, state, FAILED);
    world.jobs.end(UPGRADE.uid);
  }

  test.each([false, true])('stops a job that has no verdict, and lets the spoke go; by a new leader: %j', async (isNew) => {
    await end('PreparingToStart');
    if (isNew) world.lead();
    expect(states(OTHER)).toEqual(['NotStarted']);
    world.told.length = 0;
    await world.untilClean();
    await settled(() => expect(world.told).toContain(OTHER.uid));
    expect(states(OTHER)).toEqual(['PreparingToStart']);
  });

  test('leaves a failed job on its spoke', async () => {
    await end('PrecacheTimeout');
    world.lead();
    await world.untilClean();
    expect(world.hub.writes).not.toContain('create managedclusteractions precache-ns-delete');
  });

  test('lets a spoke go on which it had begun nothing', async () => {
    world.deleteObjects = false;
    await world.pass(UPGRADE);
    await world.pass(OTHER);
    await world.store(UPGRADE, 'PreparingToStart', FAILED);
    world.jobs.end(UPGRADE.uid);
    expect(world.told).toContain(OTHER.uid);
    expect(states(OTHER)).toEqual(['PreparingToStart']);
  });

  test('lets a spoke go that was to have another job', async () => {
    world.deleteObjects = false;
    await world.store(UPGRADE, 'Succeeded');
    const again = { stored: {}, inputs: { ...inputs, retries: { [SPOKE]: 1 } } };
    expect([world.stateOf(UPGRADE, again), world.stateOf(OTHER)]).toEqual(['PreparingToStart', 'NotStarted']);
    await world.store(UPGRADE, 'Succeeded', FAILED);
    world.jobs.end(UPGRADE.uid);
    expect(world.told).toContain(OTHER.uid);
    expect(states(OTHER)).toEqual(['PreparingToStart']);
  });

  test('is waited for only so long where the spoke is away', async () => {
    await end('PreparingToStart');
    await world.putCluster({}, 'False');
    expect(world.messageOf(OTHER)).toMatch(/which has ended and could not yet remove from this cluster/);
    await world.clock.advance(14_400_000);
    expect(states(OTHER)).toEqual(['PrecacheTimeout']);
  });
});

describe('a spoke that no pass asks about, with objects on the hub', () => {
  /** Lets time pass after which the spoke still has its objects. */
  async function untilNothingIsLeftToDo(): Promise<void> {
    await world.clock.advance(60_000);
    await world.runSteps();
    expect(world.names()).toEqual(LEFT);
  }

  test('is cleaned when it comes back after the end of an upgrade that keeps its objects', async () => {
    world.deleteObjects = false;
    await beginWithView();
    await world.putCluster({}, 'False');
    await world.store(UPGRADE, 'PreparingToStart', FAILED);
    world.jobs.end(UPGRADE.uid);
    await untilNothingIsLeftToDo();
    await world.putCluster();
    await world.untilClean();
  });

  test('is cleaned when it comes back in a rollout that another leader leads', async () => {
    await beginWithView();
    await world.putCluster({}, 'False');
    world.stopping.abort();
    await world.store(UPGRADE, 'Succeeded', RUNNING);
    world.lead();
    await untilNothingIsLeftToDo();
    await world.putCluster();
    await world.untilClean();
  });

  test('is cleaned once its ended upgrade is told to keep its objects, so that its clean-up ends', async () => {
    await beginWithView();
    await world.store(UPGRADE, 'Succeeded', FAILED);
    world.jobs.end(UPGRADE.uid);
    await untilNothingIsLeftToDo();
    world.deleteObjects = false;
    await world.store(UPGRADE, 'Succeeded', FAILED);
    await world.untilClean();
  });

  test('is cleaned of what was written late, once another upgrade has left', async () => {
    world.deleteObjects = false;
    await world.pass(UPGRADE);
    await world.store(UPGRADE, 'PreparingToStart', FAILED);
    world.jobs.end(UPGRADE.uid);
    await world.pass(OTHER);
    await world.runSteps();
    expect(world.names()).toEqual(LEFT);
    const late = { name: 'precache-late', namespace: SPOKE, labels: workLabels(UPGRADE, 'precache') };
    world.hub.put(ManagedClusterAction, { metadata: late });
    await world.untilCached(ManagedClusterAction, late);
    world.deleteObjects = true;
    await world.store(OTHER, 'Succeeded', FAILED);
    world.jobs.end(OTHER.uid);
    world.hub.remove(ManagedClusterView, { namespace: SPOKE, name: LEFT[0] ?? '' });
    await world.untilClean();
  });
});

describe('two upgrades under way that both have objects on a spoke', () => {
  const at = (upgrade: typeof UPGRADE, creationTimestamp: string) => ({ ...upgrade, creationTimestamp });
  const [elder, younger] = [at(OTHER, '2026-01-01T00:00:00Z'), at(UPGRADE, '2026-01-01T00:00:05Z')];
  const [ofElder, ofYounger] = [
    { name: 'precache-late', namespace: SPOKE },
    { name: LEFT[0] ?? '', namespace: SPOKE },
  ];
  const plans = () => [elder, younger].map((upgrade) => world.jobs.plan(keyOf(upgrade)).writes);

  /** Stores these states of the elder and the younger, and gives each an object. */
  async function meet(states: readonly [PrecacheState, PrecacheState]): Promise<void> {
    await world.store(elder, states[0]);
    await world.store(younger, states[1]);
    world.hub.put(ManagedClusterAction, { metadata: { ...ofElder, labels: workLabels(elder, 'precache') } });
    world.hub.put(ManagedClusterView, { metadata: { ...ofYounger, labels: workLabels(younger, 'precache') } });
    await world.untilCached(ManagedClusterAction, ofElder);
    await world.untilCached(ManagedClusterView, ofYounger);
    world.lead();
  }

  test.each<{ states: readonly [PrecacheState, PrecacheState] }>([
    { states: ['PreparingToStart', 'PreparingToStart'] },
    { states: ['Starting', 'Active'] },
    { states: ['Active', 'NotStarted'] },
  ])('the younger takes its own off the hub, and waits for the elder: %j', async ({ states: both }) => {
    await meet(both);
    expect(plans()[0]).toBe('');
    await world.pass(younger);
    await world.pass(elder);
    expect(world.leader.caches.upgrades.get(younger)?.status?.precaching?.status).toEqual({ [SPOKE]: 'NotStarted' });
    await settled(async () => {
      await world.runSteps();
      expect(world.hub.get(ManagedClusterView, ofYounger)?.metadata.labels).not.toMatchObject(workLabels(younger, 'precache'));
    });
    expect(world.hub.writes).not.toContain('create managedclusteractions precache-ns-delete');
    expect(world.hub.get(ManagedClusterAction, ofElder)).toBeDefined();
    expect(states(younger)).toEqual(['NotStarted']);
    expect(world.messageOf(younger)).toMatch(/^waits \(precache-claim\) behind default\/other/);
    expect(states(elder)).toEqual([both[0]]);
  });

  test('an elder that only stops a job yields', async () => {
    await meet(['NotStarted', 'Active']);
    expect(states(elder, younger)).toEqual(['NotStarted', 'Active']);
    await settled(async () => {
      await world.runSteps();
      expect(world.hub.get(ManagedClusterAction, ofElder)).toBeUndefined();
    });
    expect(states(elder, younger)).toEqual(['NotStarted', 'Active']);
  });

  test('one whose verdict is stored is cleaned before the younger goes on', async () => {
    await meet(['Succeeded', 'Active']);
    expect(states(younger)).toEqual(['Active']);
    expect(plans()[1]).toBe('');
  });
});

test('the claim by which pins are removed lasts over the deletion of their upgrade', async () => {
  await world.store(UPGRADE, 'Succeeded', FAILED);
  expect(world.jobs.claim(UPGRADE.uid, SPOKE, 'pins')).toBeUndefined();
  await world.pass(OTHER);
  world.hub.remove(ClusterGroupUpgrade, UPGRADE);
  await settled(() => expect(world.leader.caches.upgrades.size).toBe(1));
  await world.clock.advance(60_000);
  expect(states(OTHER)).toEqual(['NotStarted']);
  world.told.length = 0;
  world.jobs.release(UPGRADE.uid, SPOKE, 'pins');
  expect(world.told).toEqual([OTHER.uid]);
  expect(states(OTHER)).toEqual(['PreparingToStart']);
});

test('an upgrade that ends lets go of a spoke that its status names and its passes do not', async () => {
  await world.store(UPGRADE, 'Active', RUNNING);
  world.lead();
  world.judge(UPGRADE, { clusters: ['elsewhere'] });
  expect(states(OTHER)).toEqual(['NotStarted']);
  await world.store(UPGRADE, 'Active', FAILED);
  world.jobs.end(UPGRADE.uid);
  await settled(() => expect(world.told).toContain(OTHER.uid));
  expect(states(OTHER)).toEqual(['PreparingToStart']);
});

test('a leader that begins looks at no spoke of ended upgrades that has no objects', async () => {
  const enqueued: string[] = [];
  const all = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`spoke-${index}`, 'Succeeded' as const]));
  await world.storeAll(UPGRADE, all, FAILED);
  for (const watch of watchSpokes(job, world.leader.caches, () => undefined)) watch.attach((key) => enqueued.push(key));
  expect(enqueued).toEqual([]);
});
