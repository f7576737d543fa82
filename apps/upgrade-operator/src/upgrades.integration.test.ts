import { ClusterVersion } from '@flotilla/api/config';
import { Pod, PodDisruptionBudget } from '@flotilla/api/core';
import { MACHINE_NAMESPACE, MachineSet } from '@flotilla/api/machine';
import { UpgradeConfig } from '@flotilla/api/managed';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { type ClusterActors, clearCluster, createSmallCluster, releaseImage, startClusterActors } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { stepConditions, upgraders } from '@flotilla/upgrade';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { MemoryWorld } from '../testing/memory-world.ts';
import {
  CASE_KEY,
  CASE_REF,
  createUpgrade,
  installKinds,
  type RunningOperator,
  readEntry,
  startOperator,
} from '../testing/operator-case.ts';

const TARGET = '4.14.12';
const OFFERS = { 'stable-4.14': [TARGET], 'stable-4.15': ['4.15.3'] };

let server: ApiServer;
let client: Client;
let actors: ClusterActors;
let world: MemoryWorld;
let operator: RunningOperator | undefined;

beforeAll(async () => {
  server = await startApiServer();
  client = await server.client();
  await installKinds(client);
});
afterAll(async () => {
  await server?.stop();
});
beforeEach(async () => {
  world = new MemoryWorld();
  await createSmallCluster(client);
  // A daemon gives a drain up before it is forced, as real ones do.
  actors = await startClusterActors({ client, offers: OFFERS, pace: { drainMs: 500 } });
});
afterEach(async () => {
  await operator?.stop();
  operator = undefined;
  await actors.stop();
  await client.delete(UpgradeConfig, CASE_REF);
  await clearCluster(client);
});

const untilPhase = (phase: string, withinMs = 60_000) =>
  eventually(async () => (await readEntry(client))?.phase === phase, `phase ${phase}`, withinMs);
const conditions = async () =>
  Object.fromEntries(((await readEntry(client))?.conditions ?? []).map(({ type, status, message }) => [type, { status, message }]));
const surgeSets = async () =>
  (await client.list(MachineSet, { namespace: MACHINE_NAMESPACE })).items.filter(({ metadata }) => metadata.name.endsWith('-upgrade'));

/** A pod on a node that nothing may evict. */
async function createGuardedPod(node: string): Promise<void> {
  const metadata = { name: 'guarded', namespace: 'default', labels: { app: 'guarded' } };
  await client.create(PodDisruptionBudget, {
    metadata: { name: 'guard', namespace: 'default' },
    spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'guarded' } } },
  });
  await client.create(Pod, { metadata, spec: { nodeName: node, containers: [{ name: 'c', image: 'registry.test/c:1' }] } });
}

test('OSD: from start to end, with extra capacity, and a pod whose budget holds up a drain', async () => {
  await createGuardedPod('worker-0');
  // The force of a drain begins as soon as it may.
  world.config = { ...world.config, nodeDrain: { ...world.config.nodeDrain, timeOut: 1 / 60, expectedNodeDrainTime: 1 / 60 } };
  operator = startOperator(client, world);
  await createUpgrade(client, { capacityReservation: true });
  await eventually(async () => (await surgeSets()).length === 1, 'extra capacity');
  await untilPhase('Upgraded');

  const entry = await readEntry(client);
  expect(entry).toMatchObject({ version: TARGET, precedingVersion: '4.14.9', phase: 'Upgraded' });
  for (const time of ['startTime', 'completeTime', 'workerStartTime', 'workerCompleteTime'] as const)
    expect(Date.parse(entry?.[time] ?? '')).toBeGreaterThan(Date.now() - 120_000);
  const types = entry?.conditions?.map(({ type }) => type).toReversed();
  expect(types).toEqual(['UpgradeEnded', 'Validated', ...osdConditions()]);
  expect(entry?.conditions?.filter(({ status }) => status !== 'True')).toEqual([]);
  expect(entry?.conditions?.find(({ type }) => type === 'WorkerNodesUpgraded')).toMatchObject({
    reason: 'WorkerNodesUpgraded done',
    message: 'WorkerNodesUpgraded is completed',
  });
  expect(world.told).toEqual([
    'StateStarted',
    'StateControlPlaneStartedSL',
    'StateControlPlaneFinishedSL',
    'StateDelayed',
    'StateWorkerPlaneFinishedSL',
    'StateCompleted',
  ]);
  expect(await surgeSets()).toEqual([]);
  expect((await client.list(Pod)).items).toEqual([]);
  expect(world.silences.filter(({ active }) => active)).toEqual([]);
  expect(world.silences.map(({ plane }) => plane)).toContain('workers');
  expect(world.metrics.get('scalingFailed')).toBe(false);
  expect(world.metrics.get('result')).toEqual({ precedingVersion: '4.14.9', version: TARGET, stream: 'z', alerts: [] });
});

/** Condition types of OSD in the order they begin; two steps share one. */
const osdConditions = () => [...new Set(upgraders.OSD.steps.map((name) => stepConditions[name]))];

test('ARO: its fourteen steps, to another minor version through another channel', async () => {
  operator = startOperator(client, world);
  await createUpgrade(client, { type: 'ARO', desired: { version: '4.15.3', channel: 'stable-4.15' } });
  await untilPhase('Upgraded');
  const types = (await readEntry(client))?.conditions?.map(({ type }) => type).toReversed() ?? [];
  expect(types).toHaveLength(2 + upgraders.ARO.steps.length);
  expect(types).not.toContain('IsClusterUpgradable');
  expect(types).not.toContain('PostUpgradeTasksCompleted');
  expect(world.told.at(-1)).toBe('StateCompleted');
});

test('not yet time: waits, says so, and begins exactly then', async () => {
  operator = startOperator(client, world);
  const upgradeAt = new Date(Date.now() + 4_000);
  await createUpgrade(client, { upgradeAt: upgradeAt.toISOString() });
  await untilPhase('Pending');
  await eventually(async () => (await conditions()).Validated?.status === 'True', 'its validation');
  expect(world.told).toEqual([]);
  await untilPhase('Upgraded');
  const started = Date.parse((await readEntry(client))?.startTime ?? '');
  expect(started).toBeGreaterThanOrEqual(Math.trunc(upgradeAt.getTime() / 1000) * 1000);
  expect(started).toBeLessThan(upgradeAt.getTime() + 2_000);
});

test('refused: says why, begins nothing, and begins once it is mended', async () => {
  operator = startOperator(client, world);
  await createUpgrade(client, { desired: { version: '4.14.8', channel: 'stable-4.14' } });
  await eventually(async () => (await conditions()).Validated?.status === 'False', 'its refusal');
  expect((await conditions()).Validated?.message).toBe('downgrades to desired version 4.14.8 from 4.14.9 are unsupported');
  expect(world.metrics.get('validationFailed')).toBe(true);
  await client.patch(UpgradeConfig, CASE_REF, { spec: { desired: { version: TARGET } } }, { type: 'merge' });
  await untilPhase('Upgraded');
  const history = (await client.get(UpgradeConfig, CASE_REF))?.status?.history ?? [];
  expect(history.map(({ version, phase }) => [version, phase])).toEqual([
    [TARGET, 'Upgraded'],
    ['4.14.8', 'Pending'],
  ]);
});

test('without anything to upgrade to: says so', async () => {
  operator = startOperator(client, world);
  await createUpgrade(client, { desired: {} });
  await eventually(async () => (await conditions()).Validated?.status === 'False', 'its refusal');
  expect((await conditions()).Validated?.message).toMatch(/^cannot find the correct upgrade spec source/);
});

test('an image: its version is looked up and written, and one entry tells of it', async () => {
  const image = releaseImage(TARGET);
  world.images = { [image]: TARGET };
  operator = startOperator(client, world);
  await createUpgrade(client, { desired: { image } });
  await eventually(async () => (await client.get(UpgradeConfig, CASE_REF))?.spec.desired.version === TARGET, 'the version');
  await untilPhase('Upgraded');
  const history = (await client.get(UpgradeConfig, CASE_REF))?.status?.history ?? [];
  expect(history.map(({ version, phase }) => [version, phase])).toEqual([[TARGET, 'Upgraded']]);
});

test('health: nothing is begun while the cluster is not fit, and everything once it is', async () => {
  world.before = { blocks: true, message: 'critical alert(s) firing: Fire' };
  operator = startOperator(client, world);
  await createUpgrade(client);
  await eventually(async () => (await conditions()).ClusterHealthyBeforeUpgrade?.status === 'False', 'the failing check');
  expect((await conditions()).ClusterHealthyBeforeUpgrade?.message).toBe('critical alert(s) firing: Fire');
  world.before = { blocks: false };
  await untilPhase('Upgraded');
});

test('delayed: tells of it once, and goes on', async () => {
  actors.setFaults({ updatesHeld: true });
  world.config = { ...world.config, upgradeWindow: { delayTrigger: 1 / 60, timeOut: 120 } };
  operator = startOperator(client, world);
  await createUpgrade(client, { desired: { version: '4.15.3', channel: 'stable-4.15' } });
  await eventually(() => world.told.includes('StateDelayed'), 'the delay to be told');
  await eventually(async () => (await conditions()).UpgradeCommenced?.message === 'UpgradeCommenced still in progress', 'the waiting step');
  actors.setFaults({});
  await untilPhase('Upgraded');
  expect(world.told.filter((state) => state === 'StateDelayed')).toHaveLength(1);
});

test('hours late: begins all the same, and says that its window is over', async () => {
  operator = startOperator(client, world);
  await createUpgrade(client, { upgradeAt: new Date(Date.now() - 3 * 3_600_000).toISOString() });
  await untilPhase('Upgraded');
  expect((await conditions()).Validated?.message).toBe(
    'Upgrade config is valid; the 120 minutes of its window are over since upgradeAt, it begins all the same',
  );
  expect(world.events.filter((event) => /^Upgrade(New|UnderWay|Done):/.test(event))).toEqual([
    `UpgradeNew: The upgrade to ${TARGET} was taken up`,
    `UpgradeUnderWay: The upgrade to ${TARGET} has begun`,
    `UpgradeDone: The upgrade to ${TARGET} is done`,
  ]);
});

test('a window that ends before anything was changed: gives up, takes everything back and says so', async () => {
  actors.setFaults({ updatesHeld: true });
  world.config = { ...world.config, upgradeWindow: { delayTrigger: 0, timeOut: 3 / 60 } };
  operator = startOperator(client, world);
  await createUpgrade(client, { desired: { version: '4.15.3', channel: 'stable-4.15' }, capacityReservation: true });
  await untilPhase('Failed');
  expect((await conditions()).FailedUpgrade).toEqual({ status: 'True', message: 'FailedUpgrade notification sent' });
  expect(world.told.at(-1)).toBe('StateFailed');
  await eventually(() => world.silences.every(({ active }) => !active), 'the silences to end');
  expect(world.silences.map(({ plane, about }) => `${plane} ${about}`)).toEqual(['control plane 4.15.3', 'criticals 4.15.3']);
  expect(world.metrics.get('windowBreached')).toBe(true);
  await eventually(async () => (await surgeSets()).length === 0, 'the extra capacity to go');
});

test('given up, then asked for at another time: another attempt, with an entry of its own', async () => {
  world.before = { blocks: true, message: 'critical alert(s) firing: Fire' };
  world.config = { ...world.config, upgradeWindow: { delayTrigger: 0, timeOut: 2 / 60 } };
  operator = startOperator(client, world);
  await createUpgrade(client);
  await untilPhase('Failed');
  expect((await conditions()).UpgradeEnded).toEqual({
    status: 'True',
    message: `The upgrade to ${TARGET} was given up and is not tried again: set another spec.upgradeAt, or spec.desired, to begin another attempt`,
  });
  world.before = { blocks: false };
  world.configure({ upgradeWindow: { delayTrigger: 0, timeOut: 120 } }, CASE_KEY);
  await client.patch(UpgradeConfig, CASE_REF, { spec: { upgradeAt: new Date(Date.now() - 2_000).toISOString() } }, { type: 'merge' });
  await untilPhase('Upgraded');
  const history = (await client.get(UpgradeConfig, CASE_REF))?.status?.history ?? [];
  expect(history.map(({ version, phase }) => [version, phase])).toEqual([
    [TARGET, 'Upgraded'],
    [TARGET, 'Failed'],
  ]);
  expect(history[0]?.conditions?.find(({ type }) => type === 'UpgradeEnded')).toMatchObject({ status: 'True', reason: 'Done' });
});

test('put off while a check before the cluster is sent blocks: ends there, takes everything back, tells of it, and waits for its time', async () => {
  world.dependency = new Error('no answer');
  world.config = { ...world.config, extDependencyAvailabilityChecks: { http: { timeout: 10, urls: ['https://needed.test'] } } };
  operator = startOperator(client, world);
  await createUpgrade(client);
  await eventually(async () => (await conditions()).ExternalDependenciesAvailable?.message === 'no answer', 'the failing check');
  await client.patch(UpgradeConfig, CASE_REF, { spec: { upgradeAt: new Date(Date.now() + 3_600_000).toISOString() } }, { type: 'merge' });
  await untilPhase('Pending');
  const [, ended] = (await client.get(UpgradeConfig, CASE_REF))?.status?.history ?? [];
  expect(ended).toMatchObject({ version: TARGET, phase: 'Failed' });
  expect(ended?.conditions?.find(({ type }) => type === 'UpgradeEnded')).toMatchObject({ status: 'True', reason: 'Withdrawn' });
  expect((await conditions()).SpecSynced).toBeUndefined();
  expect(world.told).toEqual(['StateStarted', 'StateCancelledSL']);
  world.dependency = undefined;
  world.configure({}, CASE_KEY);
  await eventually(async () => (await conditions()).Validated?.status === 'True', 'its validation');
  expect((await client.get(ClusterVersion, { name: 'version' }))?.spec.desiredUpdate).toBeUndefined();
});

test('a look that takes long: what was found so far is saved meanwhile, whoever edits the UpgradeConfig', async () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<boolean>();
  world.provider = () => {
    asked.resolve();
    return answer.promise;
  };
  operator = startOperator(client, world);
  await createUpgrade(client);
  await asked.promise;
  await client.patch(UpgradeConfig, CASE_REF, { metadata: { labels: { seen: 'yes' } } }, { type: 'merge' });
  await eventually(async () => (await conditions()).Validated?.status === 'True', 'what was found');
  expect((await readEntry(client))?.phase).toBe('Pending');
  answer.resolve(false);
  await untilPhase('Upgraded');
});

test('withdrawn while it waits for updates of another channel: the channel comes back', async () => {
  actors.setFaults({ updatesHeld: true });
  operator = startOperator(client, world);
  await createUpgrade(client, { desired: { version: '4.15.3', channel: 'stable-4.15' } });
  const version = async () => client.get(ClusterVersion, { name: 'version' });
  await eventually(async () => (await version())?.spec.channel === 'stable-4.15', 'the channel to change');
  await client.delete(UpgradeConfig, CASE_REF);
  await eventually(async () => (await version())?.spec.channel === 'stable-4.14', 'the channel to come back');
  expect(Object.keys((await version())?.metadata.annotations ?? {})).not.toContain('flotilla.io/channel-before-upgrade');
  expect((await version())?.spec.desiredUpdate).toBeUndefined();
  await eventually(() => world.silences.every(({ active }) => !active), 'silences to end');
});

test('a window that ends after the cluster was sent: goes on', async () => {
  actors.setFaults({ controlPlaneHeld: true });
  world.config = { ...world.config, upgradeWindow: { delayTrigger: 0, timeOut: 2 / 60 } };
  operator = startOperator(client, world);
  await createUpgrade(client);
  await eventually(async () => (await conditions()).UpgradeCommenced?.status === 'True', 'the cluster to be sent');
  const startedAt = Date.parse((await readEntry(client))?.startTime ?? '');
  await eventually(() => Date.now() > startedAt + 3_000, 'the end of the window');
  actors.setFaults({});
  await untilPhase('Upgraded');
});

test('a provider that wants another upgrade: gets that one', async () => {
  let asked = 0;
  world.provider = async () => {
    asked += 1;
    if (asked > 1) return false;
    const desired = { version: '4.15.3', channel: 'stable-4.15' };
    await client.patch(UpgradeConfig, CASE_REF, { spec: { desired } }, { type: 'merge' });
    return true;
  };
  operator = startOperator(client, world);
  await createUpgrade(client);
  await untilPhase('Upgraded');
  const history = (await client.get(UpgradeConfig, CASE_REF))?.status?.history ?? [];
  expect(history.map(({ version, phase }) => [version, phase])).toEqual([
    ['4.15.3', 'Upgraded'],
    [TARGET, expect.stringMatching(/New|Pending/)],
  ]);
});

test('whoever cannot be told holds nothing up, and is told later', async () => {
  world.notifier = new Error("can't send notification 'StateStarted': refused");
  operator = startOperator(client, world);
  await createUpgrade(client);
  await untilPhase('Upgraded');
  expect((await conditions()).StartedNotificationSent).toEqual({
    status: 'False',
    message: "can't send notification 'StateStarted': refused",
  });
  expect(world.told).toEqual([]);
  world.notifier = undefined;
  await eventually(() => world.told.includes('StateCompleted'), 'the last notification', 60_000);
  await eventually(
    async () => (await readEntry(client))?.notifications?.every(({ time }) => time !== undefined) === true,
    'every one noted',
  );
  await eventually(
    async () => (await readEntry(client))?.conditions?.every(({ status }) => status === 'True') === true,
    'every condition to say so',
  );
});

test('monitoring that does not answer: the step says so and is tried again', async () => {
  world.alertmanager.outage = new Error('connect ECONNREFUSED');
  operator = startOperator(client, world);
  await createUpgrade(client);
  await eventually(
    async () => (await conditions()).ControlPlaneMaintenanceWindowCreated?.message === 'connect ECONNREFUSED',
    'the failing step',
  );
  world.alertmanager.outage = undefined;
  await untilPhase('Upgraded');
});

test('a configuration that cannot be used says so; what was there before goes on', async () => {
  world.problem = 'config scale timeOut is invalid';
  operator = startOperator(client, world);
  await createUpgrade(client);
  await eventually(async () => (await conditions()).OperatorConfigured?.message === 'config scale timeOut is invalid', 'the complaint');
  await untilPhase('Upgraded');
  world.problem = undefined;
  world.configure({}, CASE_KEY);
  await eventually(async () => (await conditions()).OperatorConfigured?.status === 'True', 'its end');
});
