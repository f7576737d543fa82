import { Node } from '@flotilla/api/core';
import { Machine, MachineConfigPool, MachineSet } from '@flotilla/api/machine';
import type { StepCondition } from '@flotilla/api/managed';
import { upgraders } from '@flotilla/upgrade';
import { describe, expect, test } from 'vitest';
import { MemoryWorld } from '../../testing/memory-world.ts';
import { NOW, runStepCase, type StepCase } from '../../testing/step-case.ts';
import { stepsOf } from '../upgraders.ts';
import { WithdrawnError } from './step.ts';

const MINUTE = 60_000;
const minutesAgo = (minutes: number) => new Date(NOW - minutes * MINUTE).toISOString();
const said = (type: string, status: StepCondition['status'], completeTime?: string): StepCondition => ({
  type,
  status,
  ...(completeTime && { completeTime }),
});
const commenced: StepCase = { version: { spec: { desiredUpdate: { version: '4.14.12' } } } };
const completed = { history: [{ state: 'Completed', version: '4.14.12', image: 'r/12', completionTime: '2026-02-01T09:30:00Z' }] };
const run = runStepCase;
const namesOf = (type: 'OSD' | 'ARO', required: boolean) => stepsOf(type, { cacheProof: { required, maxAge: 60 } }).map(({ name }) => name);

test('every step of every list has its code, under its own name', () => {
  for (const type of ['OSD', 'ARO'] as const) expect(namesOf(type, false)).toEqual(upgraders[type].steps);
  expect([upgraders.OSD.steps.length, upgraders.ARO.steps.length]).toEqual([17, 14]);
});

test('the cache is asked for where the configuration wants it, before anything is made for the upgrade', () => {
  for (const type of ['OSD', 'ARO'] as const) {
    const names = namesOf(type, true);
    expect(names.filter((name) => name !== 'check-cache')).toEqual(upgraders[type].steps);
    expect(names.indexOf('check-cache')).toBe(names.indexOf('reserve-capacity') - 1);
  }
});

test('steps before the cluster is sent are over once it is', () => {
  const ends = stepsOf('OSD', { cacheProof: { required: false, maxAge: 60 } }).filter(({ endsWithCommencement }) => endsWithCommencement);
  expect(ends.map(({ name }) => name)).toEqual([
    'report-delay',
    'check-upgradable',
    'check-health-before',
    'check-dependencies',
    'reserve-capacity',
  ]);
});

describe('send-started-notification', () => {
  const step = (given?: StepCase) => run('send-started-notification', given);
  test('tells', async () => expect(await step()).toMatchObject({ outcome: { kind: 'done' }, told: ['StateStarted'] }));
  test('goes on when nobody can be told', async () =>
    expect((await step({ problem: 'refused' })).outcome).toEqual({ kind: 'failed', message: 'refused', goesOn: true }));
  test('tells nothing of what others began', async () => expect((await step(commenced)).told).toEqual([]));
  test('tells late what it could not tell before', async () => {
    const entry = { notifications: [{ state: 'StateStarted' }] };
    expect((await step({ ...commenced, entry })).told).toEqual(['StateStarted']);
  });
});

describe('report-delay', () => {
  const step = (minutes: number, delayTrigger = 30) =>
    run('report-delay', { entry: { startTime: minutesAgo(minutes) }, config: { upgradeWindow: { delayTrigger, timeOut: 120 } } });
  test('waits for its time, without holding anything up', async () =>
    expect(await step(29)).toMatchObject({ told: [], outcome: { kind: 'done', afterMs: MINUTE + 1 } }));
  test('tells after it', async () => expect(await step(31)).toMatchObject({ told: ['StateDelayed'], outcome: { kind: 'done' } }));
  test('tells nothing when it is off', async () => expect((await step(500, 0)).told).toEqual([]));
});

describe('check-upgradable', () => {
  const conditions = [{ type: 'Upgradeable', status: 'False', reason: 'AdminAck', message: 'ack first' }];
  test('holds up another minor version', async () => {
    const spec = { desired: { version: '4.15.1', channel: 'stable-4.15' } };
    const { outcome } = await run('check-upgradable', { spec, version: { status: { conditions } } });
    expect(outcome).toEqual({
      kind: 'failed',
      message: 'cluster upgrade to version 4.15.1 on Sun Feb  1 09:00:00 UTC 2026 has been cancelled: AdminAck: ack first',
    });
  });
  test('lets the same minor version pass', async () =>
    expect((await run('check-upgradable', { version: { status: { conditions } } })).outcome.kind).toBe('done'));
});

describe('check-health-before', () => {
  const step = (before: MemoryWorld['before']) => {
    const world = new MemoryWorld();
    world.before = before;
    return run('check-health-before', { world });
  };
  test('is done on a healthy cluster', async () =>
    expect(await step({ blocks: false })).toMatchObject({ outcome: { kind: 'done' }, told: [] }));
  test('fails in the words of the check', async () =>
    expect((await step({ blocks: true, message: 'degraded operators: a' })).outcome).toEqual({
      kind: 'failed',
      message: 'degraded operators: a',
    }));
  test('tells of what does not block, and goes on', async () =>
    expect(await step({ blocks: false, message: 'x', tokens: 'PDBHealthcheckFailed' })).toMatchObject({
      outcome: { kind: 'done' },
      told: ['StateHealthCheckSL PDBHealthcheckFailed'],
    }));
  test('fails when nobody answers', async () => expect(step(new Error('refused'))).rejects.toThrow('refused'));
});

describe('check-cache', () => {
  const node = Node.schema.parse({ metadata: { name: 'a', uid: 'uid-a' } });
  const step = (uid: string) => {
    const world = new MemoryWorld();
    const digest = `sha256:${'a'.repeat(64)}`;
    world.cached = new Map([['k', { image: 'r', digest, at: new Date(NOW).toISOString(), nodes: [{ name: 'a', uid }] }]]);
    const availableUpdates = [{ version: '4.14.12', image: `r/12@${digest}` }];
    return run('check-cache', { world, cluster: { nodes: [node] }, version: { status: { availableUpdates } } });
  };
  test('is done when every node has the release', async () => expect((await step('uid-a')).outcome.kind).toBe('done'));
  test('waits for one that has not, and looks again by itself', async () =>
    expect((await step('before')).outcome).toEqual({
      kind: 'waiting',
      reason: 'a proof that 1 of 1 nodes have the images of release 4.14.12: a',
      afterMs: 10_000,
    }));
});

describe('check-dependencies', () => {
  const urls = (...list: string[]): StepCase => ({ config: { extDependencyAvailabilityChecks: { http: { timeout: 10, urls: list } } } });
  test('asks nobody where there are none', async () => {
    const world = new MemoryWorld();
    world.dependency = new Error('asked');
    expect((await run('check-dependencies', { world, ...urls() })).outcome.kind).toBe('done');
    await expect(run('check-dependencies', { world, ...urls('https://u') })).rejects.toThrow('asked');
  });
});

const machineSet = (name: string, labels: Record<string, string>, rest = {}) =>
  MachineSet.schema.parse({ metadata: { name, labels, creationTimestamp: minutesAgo(10) }, spec: { replicas: 1 }, ...rest });
const workers = machineSet('w', { 'hive.openshift.io/machine-pool': 'worker' });
const surge = (status = {}) => machineSet('w-upgrade', { 'upgrade.managed.openshift.io': 'true' }, { status });
const surgeMachine = (status: Record<string, unknown>) =>
  Machine.schema.parse({
    metadata: { name: 'm', labels: { 'upgrade.managed.openshift.io': 'true', 'machine.openshift.io/cluster-api-machineset': 'w-upgrade' } },
    status,
  });
const node = Node.schema.parse({ metadata: { name: 'n' }, status: { conditions: [{ type: 'Ready', status: 'True' }] } });
const asksFor = { capacityReservation: true };

describe('reserve-capacity', () => {
  const step = (given: StepCase) => run('reserve-capacity', { spec: asksFor, ...given });
  test('does nothing unasked', async () =>
    expect(await run('reserve-capacity', { cluster: { machineSets: [workers] } })).toMatchObject({
      outcome: { kind: 'done' },
      writes: [],
    }));
  test('tells when there is nothing to copy, and goes on', async () =>
    expect(await step({})).toMatchObject({ outcome: { kind: 'skipped' }, told: ['StateScaleSkipped'] }));
  test('makes what is missing and waits', async () =>
    expect(await step({ cluster: { machineSets: [workers] } })).toMatchObject({
      writes: ['create w-upgrade'],
      outcome: { kind: 'waiting' },
    }));
  test('waits until its copy is too old', async () =>
    expect((await step({ cluster: { machineSets: [workers, surge()] } })).outcome).toMatchObject({
      kind: 'waiting',
      afterMs: 20 * MINUTE + 1,
    }));
  test('goes on without it when it is late, and tells', async () => {
    const late = await step({ cluster: { machineSets: [workers, surge()] }, nowMs: NOW + 21 * MINUTE });
    const reason = 'MachineSet w-upgrade has 0 of 1 machines ready after 30 minutes';
    expect(late).toMatchObject({ outcome: { kind: 'skipped', reason }, told: ['StateSkipped'] });
    expect(late.world.metrics.get('scalingFailed')).toBe(true);
  });
  test('is done with a ready node', async () => {
    const machines = [surgeMachine({ phase: 'Running', nodeRef: { name: 'n' } })];
    const machineSets = [workers, surge({ replicas: 1, readyReplicas: 1 })];
    expect((await step({ cluster: { machineSets, machines, nodes: [node] } })).outcome).toEqual({ kind: 'done' });
  });
  test('fails when extra pools match nothing', async () =>
    expect((await step({ config: { scale: { timeOut: 30, extraMachinePools: ['x-*'] } } })).outcome).toEqual({
      kind: 'failed',
      message: 'failed to get any machinesets to scale',
    }));

  test('leaves a set alone that has the name of an extra one, and says so', async () =>
    expect((await step({ cluster: { machineSets: [workers, machineSet('w-upgrade', {})] } })).outcome).toEqual({
      kind: 'failed',
      message: expect.stringMatching(/^MachineSet w-upgrade exists and was not made for an upgrade: delete or rename it/),
    }));
});

test.each([
  { name: 'reserve-capacity', given: { spec: asksFor, cluster: { machineSets: [workers] } } },
  { name: 'open-control-plane-window', given: {} },
  { name: 'commence', given: {} },
  { name: 'commence', given: { version: { spec: { channel: 'fast-4.14' }, status: { availableUpdates: [] } } } },
])('$name makes nothing for an upgrade that is not asked for any more: $given', async ({ name, given }) => {
  const world = new MemoryWorld();
  const writes: string[] = [];
  await expect(run(name, { ...given, world, writes, isWithdrawn: true })).rejects.toThrow(WithdrawnError);
  expect(writes).toEqual([]);
  expect(world.silences).toEqual([]);
});

describe('the windows', () => {
  test('that of the control plane is opened once', async () => {
    const opened = await run('open-control-plane-window');
    expect(opened.world.silences).toEqual([
      { plane: 'control plane', about: '4.14.12', active: true },
      { plane: 'criticals', about: '4.14.12', active: true },
    ]);
    const entry = { conditions: [said('ControlPlaneMaintenanceWindowCreated', 'True')] };
    expect((await run('open-control-plane-window', { entry })).world.silences).toEqual([]);
  });
  test('that of the control plane is not opened when that is through', async () =>
    expect((await run('open-control-plane-window', { version: { status: completed } })).world.silences).toEqual([]));
  test.each(['close-control-plane-window', 'close-workers-window'])(
    '%s waits for nobody who is away, and asks nobody once it was done',
    async (name) => {
      const world = new MemoryWorld();
      world.alertmanager.outage = new Error('refused');
      expect((await run(name, { world })).outcome).toEqual({ kind: 'failed', message: 'refused', goesOn: true, afterMs: MINUTE });
      const conditions = [said('ControlPlaneMaintenanceWindowRemoved', 'True'), said('WorkersMaintenanceWindowRemoved', 'True')];
      expect((await run(name, { world, entry: { conditions } })).outcome.kind).toBe('done');
    },
  );
  test('that of the workers is opened for those that are left', async () => {
    const pools = [pool(3, 1)];
    expect((await run('open-workers-window', { cluster: { pools } })).world.silences).toEqual([
      { plane: 'workers', about: '4.14.12 with 2', active: true },
    ]);
    expect((await run('open-workers-window', { cluster: { pools: [pool(3, 3)] } })).world.silences).toEqual([]);
  });
});

describe('commence', () => {
  const step = (given?: StepCase) => run('commence', given);
  test('sends the cluster to a version that is offered', async () =>
    expect(await step()).toMatchObject({
      outcome: { kind: 'done' },
      writes: ['ClusterVersion {"spec":{"desiredUpdate":{"version":"4.14.12","image":null}}}'],
      told: ['StateControlPlaneStartedSL'],
    }));
  test('changes the channel first', async () => {
    const { writes, outcome } = await step({ version: { spec: { channel: 'fast-4.14' }, status: { availableUpdates: [] } } });
    const metadata = '{"annotations":{"flotilla.io/channel-before-upgrade":"fast-4.14 stable-4.14"}}';
    expect(writes).toEqual([`ClusterVersion {"metadata":${metadata},"spec":{"channel":"stable-4.14"}}`]);
    expect(outcome).toMatchObject({ kind: 'waiting', reason: expect.stringContaining('4.14.12') });
  });
  test('takes a conditional update with its image', async () => {
    const conditionalUpdates = [{ release: { version: '4.14.12', image: 'r/c' }, risks: [] }];
    expect((await step({ version: { status: { conditionalUpdates } } })).writes).toEqual([
      'ClusterVersion {"spec":{"desiredUpdate":{"version":"4.14.12","image":"r/c"}}}',
    ]);
  });
  test('sends the cluster to an image', async () => {
    const { writes } = await step({ spec: { desired: { image: 'r/12', version: '4.14.12' } } });
    expect(writes).toEqual(['ClusterVersion {"spec":{"desiredUpdate":{"image":"r/12","version":null}}}']);
  });
  test('sends nobody twice', async () => expect(await step(commenced)).toMatchObject({ outcome: { kind: 'done' }, writes: [], told: [] }));
});

describe('await-control-plane', () => {
  const step = (given: StepCase) => run('await-control-plane', { ...commenced, ...given });
  test('waits, with a timer for its being late', async () => {
    const entry = { conditions: [said('UpgradeCommenced', 'True', minutesAgo(60))] };
    expect((await step({ entry })).outcome).toMatchObject({ kind: 'waiting', afterMs: 30 * MINUTE + 1 });
  });
  test('is late from its own beginning on, not from upgradeAt', async () => {
    const late = await step({ entry: { conditions: [said('UpgradeCommenced', 'True', minutesAgo(91))] } });
    expect(late.world.metrics.get('controlPlaneTimeout 4.14.12')).toBe(true);
    const hours = await step({ spec: { upgradeAt: minutesAgo(600) } });
    expect(hours.world.metrics.has('controlPlaneTimeout 4.14.12')).toBe(false);
  });
  test.each([
    { desiredUpdate: null, asks: 'no update any more' },
    { desiredUpdate: { version: '4.14.13' }, asks: '4.14.13' },
    { desiredUpdate: { image: 'r/13' }, asks: 'r/13' },
  ])('says that the ClusterVersion asks for $asks, and what to do', async ({ desiredUpdate, asks }) => {
    const entry = { conditions: [said('UpgradeCommenced', 'True', minutesAgo(60))] };
    expect((await step({ version: { spec: { desiredUpdate } }, entry })).outcome).toMatchObject({
      kind: 'waiting',
      reason:
        `version 4.14.12 to be applied, but the ClusterVersion asks for ${asks}: ` +
        'set its spec.desiredUpdate to 4.14.12 again, or delete the UpgradeConfig to end the upgrade here',
    });
  });
  test('tells when it is through', async () => {
    const through = await step({ version: { status: completed } });
    expect(through).toMatchObject({ outcome: { kind: 'done' }, told: ['StateControlPlaneFinishedSL'] });
    expect(through.world.metrics.get('controlPlaneTimeout 4.14.12')).toBe(false);
  });
});

const pool = (machineCount: number, updatedMachineCount: number, configuration = 'new') =>
  MachineConfigPool.schema.parse({
    metadata: { name: 'worker' },
    spec: { configuration: { name: configuration } },
    status: { machineCount, updatedMachineCount, configuration: { name: configuration } },
  });

const pausedPool = MachineConfigPool.schema.parse({
  metadata: { name: 'infra' },
  spec: { paused: true, configuration: { name: 'new' } },
  status: { machineCount: 1, updatedMachineCount: 0, configuration: { name: 'old' } },
});

describe('await-workers', () => {
  const step = (given: StepCase) => run('await-workers', given);
  test('waits for those that are left; without a silence they are late', async () => {
    const waits = await step({ cluster: { pools: [pool(3, 1)] } });
    expect(waits.outcome).toMatchObject({ kind: 'waiting', reason: '2 of 3 workers' });
    expect(waits.world.metrics.get('workerTimeout 4.14.12')).toBe(true);
  });
  test('waits for a pool from before that is not seen, but not for ever', async () => {
    const given = (minutes: number): StepCase => ({
      cluster: { pools: [] },
      entry: { poolConfigurations: { worker: 'old' }, conditions: [said('ControlPlaneUpgraded', 'True', minutesAgo(minutes))] },
    });
    expect((await step(given(1))).outcome).toMatchObject({ kind: 'waiting', afterMs: 4 * MINUTE });
    expect((await step(given(5))).outcome.kind).toBe('done');
  });
  test('waits for a pool that has not begun, but not for ever', async () => {
    const given = (minutes: number): StepCase => ({
      cluster: { pools: [pool(2, 2, 'old')] },
      entry: { poolConfigurations: { worker: 'old' }, conditions: [said('ControlPlaneUpgraded', 'True', minutesAgo(minutes))] },
    });
    expect((await step(given(1))).outcome).toMatchObject({ kind: 'waiting', afterMs: 4 * MINUTE });
    expect((await step(given(5))).outcome.kind).toBe('done');
  });
  test('names nodes that are stuck, and pools that are degraded or paused', async () => {
    const world = new MemoryWorld();
    world.stuck = [{ node, holders: 'pods shop/p (budget b)' }];
    const { outcome } = await step({ world, cluster: { pools: [pool(3, 1), pausedPool] } });
    expect(outcome).toMatchObject({
      reason: '2 of 3 workers; node n is not drained: pods shop/p (budget b); paused machine config pools are not waited for: infra',
    });
  });
  test('tells owners of paused pools, that not all were upgraded', async () =>
    expect(await step({ cluster: { pools: [pool(2, 2), pausedPool] } })).toMatchObject({
      outcome: { kind: 'skipped', reason: 'machine config pools are paused before all their machines were updated: infra' },
      told: ['StateWorkerPlaneFinishedSL infra'],
    }));
  test('tells when all are there', async () =>
    expect(await step({ cluster: { pools: [pool(2, 2)] } })).toMatchObject({
      outcome: { kind: 'done' },
      told: ['StateWorkerPlaneFinishedSL'],
    }));
});

describe('remove-capacity', () => {
  const step = (given: StepCase) => run('remove-capacity', given);
  const going = surgeMachine({ phase: 'Deleting', nodeRef: { name: 'n' } });
  test('takes back what is there, also when nobody asks for it any more', async () =>
    expect(await step({ cluster: { machineSets: [workers, surge()], machines: [going], nodes: [node] } })).toMatchObject({
      writes: ['delete w-upgrade'],
      outcome: { kind: 'waiting' },
    }));
  test('waits for machines that go, as long as their drain says', async () =>
    expect((await step({ cluster: { machines: [going], nodes: [node] }, drain: { isLate: false, afterMs: 7 } })).outcome).toMatchObject({
      kind: 'waiting',
      afterMs: 7,
    }));
  test('names the node whose drain is late', async () => {
    const late = await step({ cluster: { machines: [going], nodes: [node] }, drain: { isLate: true } });
    expect(late.outcome).toEqual({ kind: 'failed', message: 'n' });
    expect(late.world.metrics.get('drainTimeout n')).toBe(true);
  });
  test('names a machine without a node', async () =>
    expect((await step({ cluster: { machines: [surgeMachine({ phase: 'Running' })] } })).outcome).toEqual({
      kind: 'failed',
      message: 'an upgrade machine m exists but has no node association',
    }));
  test('is done when nothing is left', async () =>
    expect((await step({ spec: asksFor, cluster: { machineSets: [workers] } })).outcome).toEqual({ kind: 'done' }));
});

test('check-health-after fails in the words of the check', async () => {
  const world = new MemoryWorld();
  world.after = { blocks: true, message: 'critical alert(s) firing: Fire' };
  expect((await run('check-health-after', { world })).outcome).toEqual({ kind: 'failed', message: 'critical alert(s) firing: Fire' });
});

test.each([
  { name: 'where files are not watched', fedramp: false, conditions: [], writes: [] },
  { name: 'where they are', fedramp: true, conditions: [], writes: ['re-init'] },
  { name: 'once', fedramp: true, conditions: [said('PostUpgradeTasksCompleted', 'True')], writes: [] },
])('post-upgrade-tasks $name', async ({ fedramp, conditions, writes }) => {
  const given = { config: { environment: { fedramp } }, entry: { conditions } };
  expect(await run('post-upgrade-tasks', given)).toMatchObject({ writes, outcome: { kind: 'done' } });
});

test('send-completed-notification tells, and ends the upgrade even when nobody can be told', async () => {
  expect(await run('send-completed-notification')).toMatchObject({ told: ['StateCompleted'], outcome: { kind: 'done' } });
  expect((await run('send-completed-notification', { problem: 'refused' })).outcome).toMatchObject({ kind: 'failed', goesOn: true });
});
