import { BackupName } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import { RolloutWorld } from '../rollout/world.ts';
import { testIn } from '../world.ts';
import { backupJobs, backupOf, RECOVERY, readBackup, untilBackup, untilCleaned, upgradeWithBackup } from './backups.ts';

const PROGRESS = 'False NotStarted: Cluster backup is in progress';
const spokes = ['patient', 'one', 'two', 'good', 'failing', 'late', 'doomed', 'lost', 'cached', 'uncopied', 'shared', 'ended', 'gone'];

const test = testIn(async () => {
  const world = await RolloutWorld.start({ inMemory: true, spokes, withoutHub: true });
  for (const name of ['failing', 'doomed']) world.spokes.setFaults(name, { failJob: true });
  for (const name of ['late', 'lost']) world.spokes.setFaults(name, { deadlineJobSeconds: 2 });
  // Their jobs end when the tests have seen what there is to see meanwhile.
  for (const name of ['one', 'two', 'shared', 'gone', 'ended']) world.spokes.setFaults(name, { jobsHeld: true });
  world.spokes.setFaults('uncopied', { failJob: true, faultyJob: BackupName.job });
  await world.startHub();
  await upgradeWithBackup(world, 'patient', ['patient']);
  await world.untilCondition('patient', 'Progressing', PROGRESS);
  await world.hub?.stop();
  await world.startHub({ args: ['--backup-image', RECOVERY] });
  return world;
});

test.concurrent('without an image nothing was done, the option was named, and a hub that has one goes on', async ({ world }) => {
  const refused = /^False BackupImageMissing: .*--backup-image \(BACKUP_IMAGE\)/;
  await world.untilCompleted('patient');
  const said = world.history('patient').texts('BackupSuceeded');
  expect(said[0]).toMatch(refused);
  expect(said.at(-1)).toBe('True BackupCompleted: Backup is completed for all clusters');
  expect(backupJobs(world, 'patient')).toHaveLength(1);
});

test.concurrent('every cluster is backed up before the rollout starts, and cleaned after it', async ({ world }) => {
  await upgradeWithBackup(world, 'complete', ['one', 'two']);
  await untilBackup(world, 'complete', { one: 'Active', two: 'Active' });
  expect(await world.condition('complete', 'Progressing')).toBe(PROGRESS);
  const during = (await world.get('complete'))?.status;
  expect(during?.status.startedAt).toBeUndefined();
  expect(during?.backup?.startedAt).toBeDefined();
  expect(JSON.stringify(readBackup(world, 'one', 'Job', BackupName.job))).toContain(`"image":"${RECOVERY}"`);
  for (const name of ['one', 'two']) world.spokes.setFaults(name, {});
  await world.untilCompleted('complete');
  expect(await world.condition('complete', 'BackupSuceeded')).toBe('True BackupCompleted: Backup is completed for all clusters');
  expect(await backupOf(world, 'complete')).toEqual({
    startedAt: during?.backup?.startedAt,
    status: { one: 'Succeeded', two: 'Succeeded' },
  });
  await untilCleaned(world, ['one', 'two']);
  for (const cluster of ['one', 'two']) {
    const ended = world.spokes.events(cluster).find(({ type }) => type === 'job-succeeded')?.at ?? Number.POSITIVE_INFINITY;
    expect(world.happenedAt('complete', cluster, 'enforced')).toBeGreaterThan(ended);
    expect(backupJobs(world, cluster)).toHaveLength(1);
  }
});

test.concurrent('partial: who could not be backed up is recorded and left out, the rest goes on', async ({ world }) => {
  await upgradeWithBackup(world, 'partial', ['failing', 'late', 'good']);
  await world.untilCondition('partial', 'BackupSuceeded', 'False PartiallyDone: Backup failed for 2 clusters');
  await world.untilEnded('partial');
  const status = (await world.get('partial'))?.status;
  expect(status?.backup?.status).toEqual({ failing: 'UnrecoverableError', late: 'BackupTimeout', good: 'Succeeded' });
  expect(status?.backup?.messages?.late).toMatch(/^timed out: /);
  expect((await world.recorded('partial')).sort()).toEqual(['failing: failed', 'good: complete', 'late: failed']);
  expect(world.history('partial').plan()).toEqual([['good']]);
  expect(world.happened('partial', 'failing')).not.toContain('enforced');
  await untilCleaned(world, ['failing', 'late', 'good']);
});

test.concurrent('all failed: the upgrade ends, and everything is cleaned', async ({ world }) => {
  await upgradeWithBackup(world, 'hopeless', ['doomed', 'lost']);
  const ended = 'No clusters available for remediation (Backup failed)';
  await world.untilCondition('hopeless', 'Succeeded', `False Failed: ${ended}`);
  expect(await world.condition('hopeless', 'BackupSuceeded')).toBe('False Failed: Backup failed for all clusters');
  expect(await world.condition('hopeless', 'Progressing')).toBe(`False Completed: ${ended}`);
  await world.untilEnded('hopeless');
  expect((await world.recorded('hopeless')).sort()).toEqual(['doomed: failed', 'lost: failed']);
  await untilCleaned(world, ['doomed', 'lost']);
});

test.concurrent('not before the upgrade is enabled, and after pre-caching, each with a verdict of its own', async ({ world }) => {
  const precaching = { preCaching: true, preCachingConfigRef: { name: 'config' } };
  await upgradeWithBackup(world, 'both', ['cached', 'uncopied'], { ...precaching, enable: false });
  await world.untilCondition('both', 'PrecachingSuceeded', 'True PrecachingCompleted: Precaching is completed for all clusters');
  await world.untilCondition('both', 'Progressing', 'False NotEnabled: Not enabled');
  expect(await backupOf(world, 'both')).toBeUndefined();
  expect(backupJobs(world, 'cached')).toEqual([]);
  await world.edit('both', { enable: true });
  await world.untilCondition('both', 'BackupSuceeded', 'False PartiallyDone: Backup failed for 1 clusters');
  await world.untilEnded('both');
  const status = (await world.get('both'))?.status;
  expect(status?.precaching?.status).toEqual({ cached: 'Succeeded', uncopied: 'Succeeded' });
  expect(status?.backup?.status).toEqual({ cached: 'Succeeded', uncopied: 'UnrecoverableError' });
  expect((await world.recorded('both')).sort()).toEqual(['cached: complete', 'uncopied: failed']);
  await untilCleaned(world, ['cached', 'uncopied']);
});

test.concurrent('two upgrades of one cluster: the second says for whom it waits, and then runs', async ({ world }) => {
  await upgradeWithBackup(world, 'first', ['shared']);
  await untilBackup(world, 'first', { shared: 'Active' });
  await upgradeWithBackup(world, 'second', ['shared']);
  const waits = 'waits for ClusterGroupUpgrade default/first, which is backing up this cluster';
  await eventually(async () => (await backupOf(world, 'second'))?.messages?.shared?.endsWith(waits), 'the second to say that it waits');
  expect((await backupOf(world, 'second'))?.status).toEqual({ shared: 'PreparingToStart' });
  world.spokes.setFaults('shared', {});
  await world.untilCompleted('second');
  await world.untilCompleted('first');
  const ofJob = world.spokes.events('shared').filter(({ name }) => name === BackupName.job);
  const jobs = ofJob.flatMap(({ type }) => (type.startsWith('job-') ? [type] : []));
  const one = ['job-created', 'job-started', 'job-succeeded'];
  expect(jobs).toEqual([...one, ...one]);
});

test.concurrent('an upgrade that is deleted while it backs up leaves nothing behind', async ({ world }) => {
  await upgradeWithBackup(world, 'leaving', ['gone']);
  await untilBackup(world, 'leaving', { gone: 'Active' });
  await world.delete('leaving');
  await eventually(async () => (await world.get('leaving')) === undefined, 'the upgrade to be gone');
  await untilCleaned(world, ['gone']);
});

test('a hub that ends in the middle: its successor goes on, and one job has run', async ({ world }) => {
  await upgradeWithBackup(world, 'ended', ['ended']);
  await untilBackup(world, 'ended', { ended: 'Active' });
  await world.hub?.stop();
  await world.startHub({ args: ['--backup-image', RECOVERY] });
  world.spokes.setFaults('ended', {});
  await world.untilCompleted('ended');
  await untilCleaned(world, ['ended']);
  expect(backupJobs(world, 'ended')).toHaveLength(1);
});
