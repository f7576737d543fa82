import { conditionTime, type KubeObject, type Resource } from '@flotilla/api';
import { CLUSTER_AVAILABLE, ManagedCluster, ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import type { BackupState, PrecacheState, PullerReport } from '@flotilla/api/ran';
import { settled } from '@flotilla/pace/testing';
import { workLabels } from '@flotilla/rollout';
import { afterEach, expect, test } from 'vitest';
import { progress } from '../../../testing/interpret-case.ts';
import { DONE, idle, JobsWorld, keyOf, OTHER, SPEC, SPOKE } from '../../../testing/jobs-world.ts';
import { agentCondition, buildPrecacheSettings, foundJob, UPGRADE, viewObject } from '../../../testing/observation-builders.ts';
import { keyText } from '../part.ts';
import { type BackupInputs, createBackupJob } from './kinds/backup/job.ts';
import { createPrecacheJob, type PrecacheInputs } from './kinds/precache/job.ts';

type World = JobsWorld<BackupState, BackupInputs> | JobsWorld<PrecacheState, PrecacheInputs>;
let world: World;
afterEach(() => world.stop());

const startBackup = () =>
  JobsWorld.start<BackupState, BackupInputs>(createBackupJob({ image: 'recovery', jobViewSeconds: 4 }), { image: 'recovery' });
const startPrecache = (transport: 'actions' | 'work') => {
  const inputs = { spec: SPEC, image: 'puller', profile: 'least-privilege', jobSeconds: 14_400 } as const;
  return JobsWorld.start<PrecacheState, PrecacheInputs>(createPrecacheJob(buildPrecacheSettings({ image: 'puller', transport })), inputs);
};

/** Puts available clusters of an upgrade, all of which begin by its status. */
async function putFleet(count: number): Promise<void> {
  const clusters = Array.from({ length: count }, (_, index) => `fleet-${index}`);
  const conditions = [agentCondition(CLUSTER_AVAILABLE, 'True', 'Test')];
  for (const name of clusters) world.hub.put(ManagedCluster, { metadata: { name }, status: { conditions } } as KubeObject);
  await settled(() => expect(world.leader.caches.clusters.get({ name: `fleet-${count - 1}` })).toBeDefined());
  await world.storeAll(UPGRADE, Object.fromEntries(clusters.map((name) => [name, 'PreparingToStart' as const])));
}
const untilWaiting = (count: number) => settled(() => expect(world.steps.size).toBe(count));

test.each([
  { work: 'backup', begin: startBackup },
  { work: 'precache by actions', begin: () => startPrecache('actions') },
  { work: 'precache by works', begin: () => startPrecache('work') },
])('$work: so many spokes begin at a time; silent ones keep the others back for twenty seconds', async ({ begin }) => {
  world = await begin();
  await putFleet(150);
  await untilWaiting(125);
  await idle();
  expect(world.steps.size).toBe(125);
  await world.clock.advance(20_000);
  await untilWaiting(150);
});

test('a spoke that is about to get its job keeps its turn until the job is there', async () => {
  const backup = await startBackup();
  world = backup;
  await putFleet(126);
  await untilWaiting(125);
  const labels = workLabels(UPGRADE, 'backup');
  const tell = async (kind: Resource, name: string, status: unknown) => {
    world.hub.put(kind, { metadata: { namespace: 'fleet-0', name, labels, uid: name }, status } as KubeObject);
    await world.untilCached(kind, { namespace: 'fleet-0', name });
  };
  const absent = agentCondition('Processing', 'False', 'GetResourceFailed', 'namespaces "openshift-talo-backup" not found');
  await tell(ManagedClusterView, 'view-backup-namespace', { conditions: [absent] });
  expect(backup.judge(UPGRADE, { clusters: ['fleet-0'] }).spokes.get('fleet-0')?.state).toBe('Starting');
  expect(world.steps.size).toBe(125);
  await tell(ManagedClusterAction, backup.job.names.actions.createJob, DONE);
  await untilWaiting(126);
});

test('leftovers of another upgrade are part of the plan', async () => {
  world = await startPrecache('work');
  const labels = workLabels(OTHER, 'precache');
  const left = { name: 'precache-work', namespace: 'fleet-0', labels, annotations: { 'flotilla.io/frozen': 'true' } };
  world.hub.put(ManifestWork, { metadata: left });
  await world.untilCached(ManifestWork, left);
  await putFleet(1);
  const key = keyOf(UPGRADE, 'fleet-0');
  await untilWaiting(1);
  const before = world.jobs.plan(key).writes;
  world.steps.clear();
  world.hub.remove(ManifestWork, left);
  await settled(() => expect(world.leader.caches.works.size).toBe(0));
  await settled(() => expect([...world.steps]).toEqual([keyText(key)]));
  expect(world.jobs.plan(key).writes).not.toBe(before);
});

test('spokes are cleaned one after another while others have no verdict, and at once afterwards', async () => {
  const backup = await startBackup();
  world = backup;
  const labels = workLabels(UPGRADE, 'backup');
  const clusters = Array.from({ length: 40 }, (_, index) => `fleet-${index}`);
  await putFleet(41);
  for (const namespace of clusters)
    world.hub.put(ManagedClusterView, { metadata: { namespace, name: 'view-backup-namespace', labels, uid: namespace } });
  await settled(() => expect(world.leader.caches.views.size).toBe(40));
  const verdicts = Object.fromEntries(clusters.map((name) => [name, 'Succeeded' as const]));
  await backup.storeAll(UPGRADE, { ...verdicts, 'fleet-40': 'Active' });
  world.steps.clear();
  const due = () => clusters.filter((cluster) => world.jobs.plan(keyOf(UPGRADE, cluster)).writes !== '').length;
  const first = due();
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThan(40);
  await world.clock.advance(1000);
  expect(due()).toBe(first + 5);
  await backup.storeAll(UPGRADE, { ...verdicts, 'fleet-40': 'Succeeded' });
  expect(due()).toBe(40);
});

/** A cluster that pulls, and how it is judged with a report of its puller. */
async function startPull() {
  const precache = await startPrecache('actions');
  world = precache;
  await precache.store(UPGRADE, 'Active');
  const judgedWith = async (more: Partial<PullerReport>, status: unknown = { active: 1, ready: 1 }) => {
    const found = foundJob(status, progress(undefined, more));
    const result = {
      conditions: [agentCondition('Processing', 'True', 'GetResourceProcessing')],
      result: found.kind === 'found' ? found.object : undefined,
    };
    const { name } = precache.job.names.views.job;
    const labels = workLabels(UPGRADE, 'precache');
    world.hub.put(ManagedClusterView, { ...viewObject(name, result, labels), metadata: { name, namespace: SPOKE, labels } } as KubeObject);
    await world.untilCached(ManagedClusterView, { namespace: SPOKE, name });
    return precache.judged(UPGRADE);
  };
  return { precache, judgedWith };
}

test('progress has the time of its report, which is not after the present, and none where the report has none', async () => {
  const { precache, judgedWith } = await startPull();
  const now = precache.clock.now();
  const at = async (time: string) => (await judgedWith({ phase: 'pulling', at: time }))?.progress?.at;
  expect(await at(new Date(now - 60_500).toISOString())).toBe(conditionTime(now - 60_500));
  expect(await at(new Date(now + 60_000).toISOString())).toBe(conditionTime(now));
  expect(await at('soon')).toBeUndefined();
});

test('a report with the same figures does not count as a change of a spoke that has been still', async () => {
  const { precache, judgedWith } = await startPull();
  const begun = precache.clock.now();
  for (const passed of [0, 60_000, 120_000]) {
    await judgedWith({ phase: 'pulling', at: new Date(begun + passed).toISOString() });
    await precache.clock.advance(60_000);
  }
  expect(precache.jobs.stillSince(UPGRADE.uid)).toBe(begun);
});

test('the verdict comes with the nodes of the report that it came with', async () => {
  const { precache, judgedWith } = await startPull();
  const report = async (done: number, status: unknown) => {
    const nodes = { total: 3, done, failed: 0, absent: 0 };
    const judged = await judgedWith({ phase: done === 3 ? 'done' : 'pulling', nodes }, status);
    return [judged?.state, judged?.nodes?.done];
  };
  expect(await report(0, { active: 1, ready: 1 })).toEqual(['Active', 0]);
  expect(await report(3, { succeeded: 1, conditions: [{ type: 'Complete', status: 'True' }] })).toEqual(['Succeeded', 3]);
  await precache.store(UPGRADE, 'Succeeded');
  world.hub.remove(ManagedClusterView, { namespace: SPOKE, name: precache.job.names.views.job.name });
  await settled(() => expect(precache.leader.caches.views.size).toBe(0));
  expect(precache.judged(UPGRADE)?.nodes?.done).toBe(3);
});
