import { eventually } from '@flotilla/pace/testing';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { World } from '../../integration/precache/world.ts';
import { eachAttempt } from '../../integration/world.ts';
import type { RunningProgram } from '../../support/programs.ts';
import { requireRedis, type TestRedis } from '../precache/redis.ts';

/** Who can write to the queue: what is in it is put there by hand. */
const EVIL = 'registry.test/evil:1';
const done = 'True PrecachingCompleted: Precaching is completed for all clusters';

let world: World;
let redis: TestRedis | undefined;
let worker: RunningProgram | undefined;
let connection: Redis | undefined;

eachAttempt(
  async () => {
    world = await World.start({ spokes: ['planned', 'gone', 'outside'], job: { seconds: 6 }, withoutHub: true });
    redis = await requireRedis(world.dir);
    connection = new Redis(redis.url, { maxRetriesPerRequest: null });
    const env = { REDIS_URL: redis.url };
    worker = await world.startHubProcess({ args: ['--role', 'worker'], env, standby: true });
    await world.startHubProcess({ env });
  },
  async () => {
    connection?.disconnect();
    await worker?.stop();
    await world?.stop();
    await redis?.[Symbol.asyncDispose]();
  },
);

/** Adds jobs, and waits until somebody has taken all of them. */
async function forge(name: string, jobs: readonly unknown[]): Promise<void> {
  if (!connection) throw new TypeError('there is no Redis');
  const queue = new Queue(name, { connection, prefix: 'flotilla' });
  await queue.addBulk(jobs.map((data) => ({ name: 'step', data, opts: { removeOnComplete: true } })));
  await eventually(async () => (await queue.count()) + (await queue.getActiveCount()) === 0, `${name} to be empty`);
  await queue.close();
}

/** Lines of both processes that say this. */
async function lines(message: string): Promise<number> {
  const outputs = await Promise.all([worker?.output(), world.hub?.output()]);
  return outputs.join('').split(message).length - 1;
}

test('forged, old, doubled and malformed jobs do nothing on any spoke and change no verdict', async () => {
  const old = await world.upgrade('old', ['gone']);
  await world.untilCondition('old', 'PrecachingSuceeded', done);
  await world.untilClean(['gone']);
  const { metadata } = await world.upgrade('real', ['planned']);
  await world.untilStates('real', { planned: 'Active' });
  const second = await world.upgrade('second', ['planned']);
  await eventually(async () => (await world.message('second', 'planned'))?.startsWith('waits for') === true, 'the second to wait');

  const uid = metadata.uid ?? '';
  const key = `${uid}/planned`;
  const malformed = [
    {},
    'text',
    `${key}/${EVIL}`,
    // The keys of earlier versions.
    `precache/${uid}/planned`,
    `rollout/${uid}/planned`,
    `${uid}/`,
    { upgrade: uid, cluster: 'planned', image: EVIL },
  ];
  await forge('spoke-steps', malformed);
  await eventually(async () => (await lines('Dropping a job that is no key')) === malformed.length, 'a line for each');
  await forge('spoke-steps', [
    ...Array.from({ length: 50 }, () => key),
    `${uid}/outside`,
    `${uid}/nowhere`,
    `${uid}/kube-system`,
    'never-seen/planned',
    `${second.metadata.uid}/planned`,
    `${second.metadata.uid}/outside`,
    `${old.metadata.uid}/gone`,
    `${old.metadata.uid}/outside`,
  ]);

  await world.untilCondition('real', 'PrecachingSuceeded', done);
  await world.untilCondition('second', 'PrecachingSuceeded', done);
  await world.untilClean(['planned', 'gone', 'outside']);
  expect(world.seen('second', 'planned')[0]).toBe('NotStarted');
  const order: readonly string[] = ['NotStarted', 'PreparingToStart', 'Starting', 'Active', 'Succeeded'];
  for (const name of ['real', 'second']) {
    const seen = world.seen(name, 'planned').map((state) => order.indexOf(state));
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    expect(seen).not.toContain(-1);
  }
  const jobs = Object.fromEntries(['planned', 'gone', 'outside'].map((spoke) => [spoke, world.spokes.jobsCreated(spoke).length]));
  expect(jobs).toEqual({ planned: 2, gone: 1, outside: 0 });
  expect(world.spokes.events('outside')).toEqual([]);
  for (const name of ['old', 'real', 'second'])
    expect(Object.keys((await world.get(name))?.status?.precaching?.status ?? {})).toHaveLength(1);
});
