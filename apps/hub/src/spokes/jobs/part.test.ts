import { ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import type { BackupState } from '@flotilla/api/ran';
import { settled } from '@flotilla/pace/testing';
import { workLabels } from '@flotilla/rollout';
import { ApiError } from '@flotilla/runtime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DONE, FAILED, JobsWorld, keyOf, OTHER, SPOKE } from '../../../testing/jobs-world.ts';
import { agentCondition, UPGRADE } from '../../../testing/observation-builders.ts';
import { type BackupInputs, createBackupJob } from './kinds/backup/job.ts';

const job = createBackupJob({ image: 'recovery', jobViewSeconds: 4 });
const PATIENCE = (480 + 720) * 1000;
const VIEW = { namespace: SPOKE, name: 'view-backup-namespace' };
const NOT_FOUND = {
  conditions: [agentCondition('Processing', 'False', 'GetResourceFailed', 'namespaces "openshift-talo-backup" not found')],
};

let world: JobsWorld<BackupState, BackupInputs>;
beforeEach(async () => {
  world = await JobsWorld.start<BackupState, BackupInputs>(job, { image: 'recovery' });
});
afterEach(() => world.stop());

/** Lets a job begin until it has its first view. */
async function beginWithView(): Promise<void> {
  await world.pass(UPGRADE);
  await world.runSteps();
  await world.untilCached(ManagedClusterView, VIEW);
}
const putView = async () => {
  world.hub.put(ManagedClusterView, { metadata: { ...VIEW, labels: workLabels(UPGRADE, 'backup') } });
  await world.untilCached(ManagedClusterView, VIEW);
};
const answers = (upgrade: typeof UPGRADE, asked?: Parameters<typeof world.judge>[1]) => {
  const { state, message } = world.judged(upgrade, asked) ?? {};
  return [state, message];
};

describe('one upgrade at a time on a spoke', () => {
  test('the second waits, says for whom, and begins when the first lets go', async () => {
    await beginWithView();
    world.hub.writes.length = 0;
    await world.pass(OTHER);
    expect(world.messageOf(OTHER)).toBe(
      'waits (precache-claim) behind default/upgrade: waits for ClusterGroupUpgrade default/upgrade, which is backing up this cluster',
    );
    expect(world.takes(OTHER)).toBe(false);
    for (const step of [world.stepElsewhere(keyOf(OTHER)), world.jobs.step(keyOf(OTHER), world.stopping.signal)]) await step;
    expect(world.hub.writes).toEqual([]);
    world.hub.remove(ManagedClusterView, VIEW);
    await settled(() => expect(world.leader.caches.views.size).toBe(0));
    await world.store(UPGRADE, 'PreparingToStart', FAILED);
    world.jobs.end(UPGRADE.uid);
    expect(world.told).toContain(OTHER.uid);
    expect(world.messageOf(OTHER)).toBeUndefined();
    await world.pass(OTHER);
    expect(world.takes(OTHER)).toBe(true);
  });

  test('a hub that starts after the spoke was cleaned asks for no step, and lets others have it', async () => {
    await world.store(UPGRADE, 'Succeeded');
    world.lead();
    expect(world.stateOf(UPGRADE)).toBe('Succeeded');
    await world.clock.advance(0);
    expect([[...world.steps], world.clock.pending]).toEqual([[], 0]);
    await world.pass(OTHER);
    expect(world.takes(OTHER)).toBe(true);
  });

  test('a hub that starts where two wait lets one begin: by its status neither has', async () => {
    for (const upgrade of [UPGRADE, OTHER]) await world.store(upgrade, 'PreparingToStart');
    world.lead();
    expect([world.messageOf(OTHER), world.messageOf(UPGRADE)]).toEqual([
      undefined,
      'waits (precache-claim) behind default/other: waits for ClusterGroupUpgrade default/other, which is backing up this cluster',
    ]);
    await settled(() => expect(world.takes(OTHER)).toBe(true));
    expect(world.jobs.plan(keyOf(UPGRADE)).writes).toBe('');
  });

  test('a hub that starts in the middle knows by the objects who was there', async () => {
    for (const upgrade of [UPGRADE, OTHER]) await world.store(upgrade, 'PreparingToStart');
    await putView();
    world.lead();
    expect(world.messageOf(OTHER)).toMatch(/: waits for ClusterGroupUpgrade default\/upgrade/);
    expect(world.messageOf(UPGRADE)).toBeUndefined();
  });
});

describe('a spoke for which nothing can be written', () => {
  const TERMINATING = 'is forbidden: unable to create new content in namespace spoke because it is being terminated';
  const fail = async (message: string) => {
    for (const error of [new Error(message), new Error(message)]) {
      world.problems.note('backup', keyOf(UPGRADE), error);
      await world.clock.advance(5_000);
    }
  };

  test('says why, and no longer once nothing is left to do', async () => {
    await world.pass(UPGRADE);
    await fail(TERMINATING);
    expect(world.told).toContain(UPGRADE.uid);
    expect(answers(UPGRADE)).toEqual(['PreparingToStart', `cannot go on: ${TERMINATING}`]);
    world.told.length = 0;
    await world.runSteps();
    await world.untilCached(ManagedClusterView, VIEW);
    await world.clock.advance(15_000);
    expect(world.told).toEqual([UPGRADE.uid]);
    expect(world.messageOf(UPGRADE)).not.toContain('cannot go on');
  });

  test("says it in the server's words, without the call", async () => {
    const said = 'managedclusterviews.view.open-cluster-management.io "view-backup-namespace" is forbidden: no';
    const path = '/apis/view.open-cluster-management.io/v1beta1/namespaces/spoke/managedclusterviews';
    await fail(`POST ${path}: 403: Forbidden: ${said}`);
    expect(world.messageOf(UPGRADE)).toBe(`cannot go on: Forbidden: ${said}`);
  });

  test('times out by the time of its first pass, and names the error', async () => {
    world.judge(UPGRADE);
    await fail(TERMINATING);
    await world.clock.advance(PATIENCE - 10_001);
    expect([world.stateOf(UPGRADE), world.judge(UPGRADE).at]).toEqual(['PreparingToStart', world.clock.now() + 1]);
    await world.clock.advance(1);
    expect(answers(UPGRADE)).toEqual(['BackupTimeout', `timed out: cannot go on: ${TERMINATING}`]);
    expect(world.hub.writes).toEqual([]);
  });
});

test('a spoke that an upgrade which has ended could not clean is given up by who waits for it, counted from that end', async () => {
  await beginWithView();
  await world.pass(OTHER);
  const pass = async () => {
    for (const upgrade of [UPGRADE, OTHER]) await world.pass(upgrade);
  };
  await world.clock.advance(PATIENCE - 20_000);
  await pass();
  expect(world.stateOf(OTHER)).toBe('PreparingToStart');
  await world.putCluster({}, 'False');
  await world.clock.advance(20_000);
  await pass();
  expect([world.stateOf(UPGRADE), world.stateOf(OTHER)]).toEqual(['BackupTimeout', 'PreparingToStart']);
  await world.clock.advance(PATIENCE - 1);
  expect(world.stateOf(OTHER)).toBe('PreparingToStart');
  await world.clock.advance(1);
  expect(world.stateOf(OTHER)).toBe('BackupTimeout');
  expect(world.messageOf(OTHER)).toMatch(/^timed out: waits for ClusterGroupUpgrade default\/upgrade, which has ended/);
});

test('an upgrade that ends takes no further step, also when one waits', async () => {
  await world.pass(UPGRADE);
  await world.store(UPGRADE, 'PreparingToStart', FAILED);
  world.jobs.end(UPGRADE.uid);
  expect([world.takes(UPGRADE), world.jobs.plan(keyOf(UPGRADE)).writes]).toEqual([true, '']);
  expect(await world.jobs.step(keyOf(UPGRADE), world.stopping.signal)).toBe(false);
  expect(world.hub.writes).toEqual([]);
});

test('a new leader keeps the words of a verdict that is stored, and no others', async () => {
  const status = { failed: 'UnrecoverableError', active: 'Active' } as const;
  const messages = { failed: '401 Unauthorized', active: 'of an earlier look', new: 'of an earlier try' };
  await world.storeAll(UPGRADE, status, { backup: { status, messages } });
  world.lead();
  const { spokes } = world.judge(UPGRADE, { clusters: ['failed', 'active', 'new'] });
  const words = Object.fromEntries([...spokes].map(([cluster, { state, message }]) => [cluster, [state, message]]));
  expect(words.failed).toEqual(['UnrecoverableError', '401 Unauthorized']);
  expect(words.active?.[0]).toBe('Active');
  expect([words.active?.[1], words.new?.[1]].filter((said) => said?.startsWith('of an earlier'))).toEqual([]);
});

test('the verdict of a spoke that was asked about before follows each fact that changes, and its time', async () => {
  await beginWithView();
  await world.store(UPGRADE, 'Starting');
  const first = world.judged(UPGRADE);
  expect(world.judged(UPGRADE)).toBe(first);
  await world.putCluster({}, 'False');
  expect(world.messageOf(UPGRADE)).toMatch(/^waits \(cluster-unavailable\) since \S+Z: the cluster is not available/);
  await world.putCluster();
  expect(answers(UPGRADE)).toEqual(['Starting', first?.message]);
  const deadline = Date.parse(world.leader.caches.views.list()[0]?.metadata.creationTimestamp ?? '') + PATIENCE;
  await world.clock.advance(deadline - world.clock.now() - 1);
  expect(world.stateOf(UPGRADE)).toBe('Starting');
  await world.clock.advance(1);
  expect(world.stateOf(UPGRADE)).toBe('BackupTimeout');
});

test('the spoke under way that has been still for longest is known, and none once all have their verdict', async () => {
  expect([world.judge(UPGRADE).spokes.size, world.jobs.stillSince(UPGRADE.uid)]).toEqual([1, undefined]);
  const begun = world.clock.now();
  for (const state of ['Starting', 'Starting', 'Active'] as const) {
    await world.store(UPGRADE, state);
    world.judge(UPGRADE);
    await world.clock.advance(60_000);
  }
  expect(world.jobs.stillSince(UPGRADE.uid)).toBe(begun + 120_000);
  await world.store(UPGRADE, 'Succeeded');
  world.judge(UPGRADE);
  expect(world.jobs.stillSince(UPGRADE.uid)).toBeUndefined();
});

test('a failed step is a problem of its spoke, and is planned as before', async () => {
  await world.pass(UPGRADE);
  const { writes } = world.jobs.plan(keyOf(UPGRADE));
  world.hub.refuse = () => new ApiError('FLOTILLA_API', 'no', { status: 500, reason: 'InternalError', serverMessage: 'no' });
  await expect(world.jobs.step(keyOf(UPGRADE), world.stopping.signal)).rejects.toThrow('no');
  expect([writes, world.jobs.plan(keyOf(UPGRADE)).writes]).toEqual([expect.stringContaining('ManagedClusterView'), writes]);
});

describe('a pause', () => {
  const paused = { message: 'Paused: change freeze', stops: false };

  test('begins nothing and says why, its time does not count, and it goes on afterwards', async () => {
    world.judge(UPGRADE, { paused });
    await world.clock.advance(PATIENCE + 60_000);
    await world.putCluster({ note: 'seen while paused' });
    expect([answers(UPGRADE, { paused }), [...world.steps]]).toEqual([['PreparingToStart', paused.message], []]);
    await world.pass(UPGRADE);
    expect(world.takes(UPGRADE)).toBe(true);
    await world.clock.advance(PATIENCE - 60_000);
    expect(answers(UPGRADE)).toEqual(['PreparingToStart', undefined]);
  });

  test('lets a spoke go that was claimed, and had not begun', async () => {
    expect(answers(UPGRADE)).toEqual(['PreparingToStart', undefined]);
    expect(world.messageOf(OTHER)).toMatch(/^waits \(precache-claim\): waits for ClusterGroupUpgrade that is being deleted/);
    world.judge(UPGRADE, { paused });
    expect([world.told, world.messageOf(OTHER)]).toEqual([[OTHER.uid], undefined]);
  });

  test('lets a spoke that has begun go on', async () => {
    await beginWithView();
    await world.answer(ManagedClusterView, VIEW.name, NOT_FOUND, [world.leader]);
    await world.pass(UPGRADE);
    await world.runSteps();
    await world.untilCached(ManagedClusterAction, { namespace: SPOKE, name: 'backup-job-create' });
    await world.store(UPGRADE, 'Starting');
    expect(answers(UPGRADE, { paused })[0]).toBe('Starting');
    await world.answer(ManagedClusterAction, 'backup-job-create', DONE, [world.leader]);
    expect(world.takes(UPGRADE)).toBe(true);
    expect(answers(UPGRADE, { paused })[1]).not.toBe(paused.message);
  });
});
