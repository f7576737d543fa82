import type { PrecacheState } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { describe, expect, test } from 'vitest';
import { eachAttempt } from '../world.ts';
import { World } from './world.ts';

const spokes = ['quiet', 'used', 'waiting', 'good', 'quick', 'failing', 'failing-quick', 'late', 'late-quick'] as const;
type Spoke = (typeof spokes)[number];

let world: World;

/** All spokes run in one upgrade, each with its own fate; the tests then look at what was seen. */
eachAttempt(
  async () => {
    world = await World.start({ spokes, job: { seconds: 9 } });
    world.namespaceOn('used').put();
    world.spokes.disconnect('quiet');
    world.spokes.setFaults('waiting', { jobNeverStarts: true });
    world.spokes.setFaults('failing', { failJob: true });
    world.spokes.setFaults('failing-quick', { failJob: true });
    world.spokes.setFaults('late', { deadlineJobSeconds: 9 });
    world.spokes.setFaults('late-quick', { jobNeverStarts: true, deadlineJobSeconds: 3 });
    await world.upgrade('all', [...spokes]);
    // The first look at the job comes when it has ended.
    await Promise.all((['quick', 'failing-quick'] as const).map((name) => slowOnceCreated(name)));
    await world.untilStates('all', {
      used: 'Succeeded',
      good: 'Succeeded',
      quick: 'Succeeded',
      failing: 'UnrecoverableError',
      'failing-quick': 'UnrecoverableError',
      late: 'PrecacheTimeout',
      'late-quick': 'PrecacheTimeout',
    });
  },
  async () => world?.stop(),
);

async function slowOnceCreated(name: Spoke): Promise<void> {
  await eventually(() => world.spokes.jobsCreated(name).length > 0, `the job on ${name}`);
  world.spokes.setFaults(name, { latencyMs: 11_000 });
}

/** True when one state was seen right after another. A status is written once a second, so states in between may be left out. */
function expectSeen(name: Spoke, ...want: PrecacheState[]): void {
  const seen = world.seen('all', name);
  expect(
    want.filter((state) => seen.includes(state)),
    `${name} was seen as ${seen.join(', ')}`,
  ).toEqual(want);
}

describe('the transitions on a real API server', () => {
  test('start', async () => {
    expectSeen('quiet', 'PreparingToStart');
    expect(await world.hubObjects('quiet')).toEqual(['view-precache-namespace']);
  });

  test('cleanup requested', () => {
    const events = world.spokes
      .events('used')
      .filter(({ type }) => type === 'action-executed')
      .map(({ name }) => name);
    expect(events.indexOf('precache-ns-delete')).toBe(0);
    expect(events.indexOf('precache-ns-create')).toBeGreaterThan(0);
    expectSeen('used', 'PreparingToStart', 'Succeeded');
  });

  test('namespace gone', async () => {
    expectSeen('waiting', 'Starting');
    expect((await world.states('all')).waiting).toBe('Starting');
    expect(await world.message('all', 'waiting')).toBe('job pre-cache has no running pod yet');
    expect(world.spokes.jobsCreated('waiting')).toHaveLength(1);
  });

  test('job active, still active, succeeded', () => {
    expectSeen('good', 'Active', 'Succeeded');
    const events = world.spokes.events('good');
    const started = events.findIndex(({ type }) => type === 'job-started');
    const looks = events.slice(started).filter(({ type, name }) => type === 'view-read' && name === 'view-precache-job');
    expect(looks.length).toBeGreaterThanOrEqual(3);
  });

  test.each([
    { name: 'straight from starting to succeeded', spoke: 'quick', end: 'Succeeded' },
    { name: 'failed at once', spoke: 'failing-quick', end: 'UnrecoverableError' },
    { name: 'deadline at once', spoke: 'late-quick', end: 'PrecacheTimeout' },
  ] as const)('$name', ({ spoke, end }) => {
    expectSeen(spoke, end);
    expect(world.seen('all', spoke)).not.toContain('Active');
    expect(world.spokes.jobsCreated(spoke)).toHaveLength(1);
  });

  test.each([
    {
      name: 'deadline',
      spoke: 'late',
      end: 'PrecacheTimeout',
      message: /^timed out: (images are missing|Job was active longer than specified deadline)$/,
    },
    {
      name: 'failed',
      spoke: 'failing',
      end: 'UnrecoverableError',
      message: /^(images are missing|Job has reached the specified backoff limit)$/,
    },
  ] as const)('$name', async ({ spoke, end, message }) => {
    expectSeen(spoke, 'Active', end);
    expect(await world.message('all', spoke)).toMatch(message);
  });
});
