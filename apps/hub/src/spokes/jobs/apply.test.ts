import { Label } from '@flotilla/api';
import { ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import { type BackupState, ClusterGroupUpgrade } from '@flotilla/api/ran';
import { settled } from '@flotilla/pace/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DONE, JobsWorld, keyOf, OTHER, SPOKE } from '../../../testing/jobs-world.ts';
import { agentCondition, UPGRADE } from '../../../testing/observation-builders.ts';
import { type BackupInputs, createBackupJob } from './kinds/backup/job.ts';

const NOT_FOUND = {
  conditions: [agentCondition('Processing', 'False', 'GetResourceFailed', 'namespaces "openshift-talo-backup" not found')],
};
const VIEW = { namespace: SPOKE, name: 'view-backup-namespace' };
const CREATED = 'create managedclusterviews view-backup-namespace';

let world: JobsWorld<BackupState, BackupInputs>;
beforeEach(async () => {
  world = await JobsWorld.start<BackupState, BackupInputs>(createBackupJob({ image: 'recovery', jobViewSeconds: 4 }), {
    image: 'recovery',
  });
});
afterEach(() => world.stop());

const processes = () => [world.leader, world.worker];
/** Takes the first step in the worker's process. */
async function look(): Promise<void> {
  await world.pass(UPGRADE);
  expect(world.takes(UPGRADE)).toBe(true);
  await world.stepElsewhere(keyOf(UPGRADE));
  await world.untilCached(ManagedClusterView, VIEW, processes());
}
/** Brings the spoke to Starting by steps that are taken elsewhere; its actions exist. */
async function untilStarting(): Promise<void> {
  await look();
  await world.answer(ManagedClusterView, VIEW.name, NOT_FOUND);
  expect([world.stateOf(UPGRADE), world.takes(UPGRADE)]).toEqual(['Starting', true]);
  await world.stepElsewhere(keyOf(UPGRADE));
  await world.untilCached(ManagedClusterAction, { namespace: SPOKE, name: 'backup-job-create' }, processes());
}

describe('steps that another process takes', () => {
  test('carry the spoke on, by the stored status and the watches, and nobody answers', async () => {
    await untilStarting();
    expect(world.hub.names(ManagedClusterAction)).toEqual([
      'backup-crb-create',
      'backup-job-create',
      'backup-ns-create',
      'backup-sa-create',
    ]);
    expect(world.hub.get(ManagedClusterAction, { namespace: SPOKE, name: 'backup-job-create' })?.metadata.labels).toEqual({
      [Label.upgradeName]: 'upgrade',
      [Label.upgradeNamespace]: 'default',
      [Label.upgradeUid]: 'uid-1',
      [Label.work]: 'backup',
    });
    await world.answer(ManagedClusterAction, 'backup-job-create', DONE);
    expect(world.takes(UPGRADE)).toBe(true);
    await world.stepElsewhere(keyOf(UPGRADE));
    expect(world.hub.names(ManagedClusterView)).toEqual(['view-backup-job', 'view-backup-namespace']);
  });

  test('are asked for only by the stored state, and only while it has writes', async () => {
    world.judge(UPGRADE);
    expect(world.jobs.plan(keyOf(UPGRADE)).writes).toBe('');
    await look();
    await world.store(UPGRADE, 'PreparingToStart');
    expect([world.takes(UPGRADE), world.jobs.plan(keyOf(UPGRADE)).writes]).toEqual([false, '']);
  });

  test('do nothing while their caches lag behind, and then write', async () => {
    await look();
    world.worker.hold('managedclusterviews');
    await world.answer(ManagedClusterView, VIEW.name, NOT_FOUND, [world.leader]);
    expect(await world.stepElsewhere(keyOf(UPGRADE))).toBe(false);
    world.worker.hold();
    await world.untilCached(ManagedClusterView, VIEW, [world.worker]);
    expect(await world.stepElsewhere(keyOf(UPGRADE))).toBe(true);
  });

  test('do nothing on a cluster that no stored status names, nor for an upgrade that nobody knows', async () => {
    world.judge(UPGRADE);
    for (const key of [keyOf(UPGRADE), { ...keyOf(UPGRADE), upgrade: 'uid-9' }, keyOf(UPGRADE, 'elsewhere')])
      expect(await world.stepElsewhere(key)).toBe(false);
    expect(world.hub.writes).toEqual([]);
  });

  test('write nothing more once they are stopped', async () => {
    await world.pass(UPGRADE);
    await expect(world.stepElsewhere(keyOf(UPGRADE), AbortSignal.abort(new Error('too long')))).rejects.toThrow('too long');
    expect(world.hub.writes).toEqual([]);
  });

  test('begin for one upgrade alone, even before it has objects, and with a forged job', async () => {
    await world.pass(UPGRADE);
    await world.pass(OTHER);
    for (const step of [world.stepElsewhere(keyOf(OTHER)), world.jobs.step(keyOf(OTHER), world.stopping.signal)]) await step;
    expect(world.hub.writes).toEqual([]);
    await world.jobs.step(keyOf(UPGRADE), world.stopping.signal);
    expect(world.hub.writes).toEqual([CREATED]);
  });
});

test('a write is not made again before its watch event: a slow server does not get the same work twice', async () => {
  await world.pass(UPGRADE);
  world.leader.hold('managedclusterviews');
  await world.runSteps();
  for (let late = 0; late < 4; late += 1) {
    await world.clock.advance(15_000);
    await world.runSteps();
  }
  expect(world.hub.writes).toEqual([CREATED]);
  world.hub.remove(ManagedClusterView, VIEW);
  world.leader.hold();
  await settled(() => expect(world.takes(UPGRADE)).toBe(true));
});

describe('a step that waited in the queue of a hub that is gone', () => {
  beforeEach(async () => {
    await untilStarting();
    await world.store(UPGRADE, 'Starting');
  });

  async function clean(): Promise<void> {
    for (const kind of [ManagedClusterView, ManagedClusterAction])
      for (const name of world.hub.names(kind)) world.hub.remove(kind, { namespace: SPOKE, name });
    await settled(() => expect(world.worker.caches.views.size + world.worker.caches.actions.size).toBe(0));
    world.hub.writes.length = 0;
  }

  test('puts no second job on a spoke whose verdict is stored', async () => {
    await clean();
    await world.store(UPGRADE, 'Succeeded');
    await world.stepElsewhere(keyOf(UPGRADE));
    expect(world.hub.writes).toEqual([]);
  });

  test('nor when its process has the cleaned spoke in its caches, but not the stored verdict', async () => {
    world.worker.hold('clustergroupupgrades');
    await world.store(UPGRADE, 'Succeeded', {}, [world.leader]);
    await clean();
    await world.stepElsewhere(keyOf(UPGRADE));
    expect(world.hub.writes).toEqual([]);
  });

  test('nor for an upgrade that is gone', async () => {
    world.hub.remove(ClusterGroupUpgrade, UPGRADE);
    await settled(() => expect(world.worker.caches.upgrades.get(UPGRADE)).toBeUndefined());
    await clean();
    await world.stepElsewhere(keyOf(UPGRADE));
    expect(world.hub.writes).toEqual([]);
  });

  test('but mends what somebody else took away from a spoke that is not done', async () => {
    await clean();
    await world.stepElsewhere(keyOf(UPGRADE));
    expect(world.hub.names(ManagedClusterAction)).toContain('backup-job-create');
  });
});
