import { Label, type Resource } from '@flotilla/api';
import { CLUSTER_AVAILABLE, ManagedCluster, ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import { type BackupState, ClusterGroupUpgrade } from '@flotilla/api/ran';
import type { StepQueue } from '@flotilla/queues';
import type { UpgradeIdentity } from '@flotilla/rollout';
import { createLogger } from '@flotilla/runtime';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type BackupInputs, createBackupJob } from '../backup/job.ts';
import { SpokeJobEngine } from './engine.ts';
import { type HubProcess, MemoryHub } from './memory-hub.ts';
import { agentCondition, UPGRADE } from './observation-builders.ts';
import { createSpokeJobProcessor, type SpokeJobStep, type StepOutcome } from './processor.ts';

type Step = SpokeJobStep<BackupState, BackupInputs>;

const SPOKE = 'spoke';
const job = createBackupJob({ jobViewSeconds: 4 });
const OTHER: UpgradeIdentity = { namespace: 'default', name: 'other', uid: 'uid-2' };

let hub: MemoryHub;
let leader: HubProcess;
let worker: HubProcess;
let now: number;

/** What the engine asked its queue for. */
let woken: Step[];
let timers: { step: Step; at: number }[];
let engine: SpokeJobEngine<BackupState, BackupInputs>;

beforeEach(async () => {
  hub = new MemoryHub();
  now = Date.parse('2026-01-01T00:00:10Z');
  hub.put(ManagedCluster, { metadata: { name: SPOKE }, status: { conditions: [agentCondition(CLUSTER_AVAILABLE, 'True', 'Test')] } });
  for (const upgrade of [UPGRADE, OTHER]) hub.put(ClusterGroupUpgrade, { metadata: { ...upgrade } });
  leader = await hub.process();
  worker = await hub.process();
  [woken, timers] = [[], []];
  const queue: StepQueue<Step> = {
    wake: async (step) => void woken.push(step),
    wakeAt: (step, at) => void timers.push({ step, at }),
    forget: () => {},
    size: () => ({ waiting: woken.length, running: 0, timers: timers.length }),
    close: async () => {},
  };
  const logger = createLogger({ name: 'test', level: 'silent' });
  engine = new SpokeJobEngine(job, { ...leader, now: () => now, logger, onChange: () => {} });
  engine.start(queue);
});
afterEach(() => hub.stop());

const request = (upgrade = UPGRADE, stored: Record<string, BackupState> = {}, image = 'recovery') =>
  engine.request({ upgrade, clusters: [SPOKE], stored, inputs: { image } });
const runElsewhere = (step: Step | undefined, signal?: AbortSignal): Promise<StepOutcome<BackupState>> => {
  if (!step) throw new Error('no step was asked for');
  return createSpokeJobProcessor(job, { ...worker, now: () => now })(step, signal);
};
const takeWoken = (): Step | undefined => woken.splice(0).at(-1);
const stateOf = (upgrade = UPGRADE) => engine.run(upgrade.uid)?.spokes.get(SPOKE)?.state;

/** Both processes have seen everything that they may see. */
const seen = (process: HubProcess, kind: Resource, name: string, version: string | undefined) =>
  vi.waitFor(() => {
    const cache = kind.plural === ManagedClusterView.plural ? process.caches.views : process.caches.actions;
    expect(cache.get({ namespace: SPOKE, name })?.metadata.resourceVersion).toBe(version);
  });

/** The agent's answer to a view, or to an action. */
async function answer(kind: Resource, name: string, status: unknown, ...readers: HubProcess[]): Promise<void> {
  const object = hub.get(kind, { namespace: SPOKE, name });
  if (!object) throw new Error(`${name} is not there`);
  const { metadata } = hub.put(kind, { ...object, status });
  for (const process of readers) await seen(process, kind, name, metadata.resourceVersion);
}
const NOT_FOUND = {
  conditions: [agentCondition('Processing', 'False', 'GetResourceFailed', 'namespaces "openshift-talo-backup" not found')],
};
const DONE = { conditions: [agentCondition('Completed', 'True', 'ActionDone')] };

/** Stores states in the upgrade's status, as the reconciler does. */
async function store(states: Record<string, BackupState>): Promise<void> {
  const upgrade = hub.get(ClusterGroupUpgrade, UPGRADE);
  const { metadata } = hub.put(ClusterGroupUpgrade, {
    metadata: { ...UPGRADE },
    ...upgrade,
    status: { status: {}, backup: { status: states } },
  });
  await vi.waitFor(() => expect(leader.caches.upgrades.get(UPGRADE)?.metadata.resourceVersion).toBe(metadata.resourceVersion));
  request(UPGRADE, states);
}

/** Brings the spoke to Starting by steps that run elsewhere; its actions are there. */
async function untilStarting(): Promise<void> {
  request();
  const begun = takeWoken();
  engine.settle({ upgrade: UPGRADE, cluster: SPOKE }, await runElsewhere(begun));
  await answer(ManagedClusterView, 'view-backup-namespace', NOT_FOUND, leader, worker);
  engine.settle({ upgrade: UPGRADE, cluster: SPOKE }, await runElsewhere(takeWoken()));
  expect(stateOf()).toBe('Starting');
}

describe('steps that another process runs', () => {
  test('carry the spoke on as those of the leader do', async () => {
    await untilStarting();
    expect(hub.names(ManagedClusterAction)).toEqual(['backup-ns-create', 'backup-sa-create', 'backup-crb-create', 'backup-job-create']);
    expect(hub.get(ManagedClusterAction, { namespace: SPOKE, name: 'backup-job-create' })?.metadata.labels).toEqual({
      [Label.upgradeName]: 'upgrade',
      [Label.upgradeNamespace]: 'default',
      [Label.upgradeUid]: 'uid-1',
      [Label.work]: 'backup',
    });
  });

  test('are asked for again when their caches had not seen what woke the spoke', async () => {
    request();
    engine.settle({ upgrade: UPGRADE, cluster: SPOKE }, await runElsewhere(takeWoken()));
    await seen(
      worker,
      ManagedClusterView,
      'view-backup-namespace',
      hub.get(ManagedClusterView, { namespace: SPOKE, name: 'view-backup-namespace' })?.metadata.resourceVersion,
    );
    worker.hold('managedclusterviews');
    await answer(ManagedClusterView, 'view-backup-namespace', NOT_FOUND, leader);
    timers = [];
    engine.settle({ upgrade: UPGRADE, cluster: SPOKE }, await runElsewhere(takeWoken()));
    expect(stateOf()).toBe('PreparingToStart');
    const again = timers.find(({ at }) => at === now + 500);
    worker.hold();
    await vi.waitFor(() => expect(worker.caches.views.resourceVersion).toBe(leader.caches.views.resourceVersion));
    timers = [];
    engine.settle({ upgrade: UPGRADE, cluster: SPOKE }, await runElsewhere(again?.step));
    expect(stateOf()).toBe('Starting');
    expect(timers.some(({ at }) => at === now + 500)).toBe(false);
  });

  test('count only when the spoke is still where they began', async () => {
    request();
    const early = await runElsewhere(takeWoken());
    engine.settle({ upgrade: UPGRADE, cluster: SPOKE }, early);
    await answer(ManagedClusterView, 'view-backup-namespace', NOT_FOUND, leader, worker);
    engine.settle({ upgrade: UPGRADE, cluster: SPOKE }, await runElsewhere(takeWoken()));
    expect(takeWoken()).toBeUndefined();
    engine.settle({ upgrade: UPGRADE, cluster: SPOKE }, { ...early, state: 'BackupTimeout', message: 'late' });
    expect(stateOf()).toBe('Starting');
    expect(takeWoken()?.known.state).toBe('Starting');
  });

  test('are asked for again when what is wanted has changed meanwhile', async () => {
    request();
    const outcome = await runElsewhere(takeWoken());
    request(UPGRADE, {}, 'recovery:2');
    engine.settle({ upgrade: UPGRADE, cluster: SPOKE }, outcome);
    expect(takeWoken()?.inputs).toEqual({ image: 'recovery:2' });
  });

  test('write nothing more once they are stopped', async () => {
    request();
    const begun = takeWoken();
    await expect(runElsewhere(begun, AbortSignal.abort(new Error('too long')))).rejects.toThrow('too long');
    expect(hub.writes).toEqual([]);
  });
});

describe('a step that waited in the queue of a hub that is gone', () => {
  /** A step of a spoke that is Starting, and the world after its verdict was stored and it was cleaned. */
  async function overtaken(): Promise<Step> {
    await untilStarting();
    await answer(ManagedClusterAction, 'backup-job-create', DONE, leader, worker);
    const step = takeWoken();
    if (!step) throw new Error('the end of the action wakes the spoke');
    return step;
  }
  const clean = async (): Promise<void> => {
    for (const kind of [ManagedClusterView, ManagedClusterAction])
      for (const name of hub.names(kind)) hub.remove(kind, { namespace: SPOKE, name });
    await vi.waitFor(() => expect(worker.caches.views.size + worker.caches.actions.size).toBe(0));
    hub.writes.length = 0;
  };

  test('puts no second job on a spoke whose verdict is stored', async () => {
    const step = await overtaken();
    await store({ [SPOKE]: 'Succeeded' });
    await vi.waitFor(() => expect(worker.caches.upgrades.get(UPGRADE)?.status?.backup?.status).toEqual({ [SPOKE]: 'Succeeded' }));
    await clean();
    expect(await runElsewhere(step)).toMatchObject({ state: 'Starting', known: { state: 'Starting' } });
    expect(hub.writes).toEqual([]);
  });

  test('nor a view, when it comes from before the first', async () => {
    request();
    const step = takeWoken();
    await store({ [SPOKE]: 'Succeeded' });
    await vi.waitFor(() => expect(worker.caches.upgrades.get(UPGRADE)?.status?.backup?.status).toEqual({ [SPOKE]: 'Succeeded' }));
    await runElsewhere(step);
    expect(hub.writes).toEqual([]);
  });

  test('nor when its process has seen the spoke cleaned, but not yet why', async () => {
    const step = await overtaken();
    worker.hold('clustergroupupgrades');
    await store({ [SPOKE]: 'Succeeded' });
    await clean();
    await runElsewhere(step);
    expect(hub.writes).toEqual([]);
  });

  test('nor for an upgrade that is gone', async () => {
    const step = await overtaken();
    hub.remove(ClusterGroupUpgrade, UPGRADE);
    await vi.waitFor(() => expect(worker.caches.upgrades.get(UPGRADE)).toBeUndefined());
    await clean();
    await runElsewhere(step);
    expect(hub.writes).toEqual([]);
  });

  test('but mends what somebody else took away from a spoke that is not done', async () => {
    const step = await overtaken();
    await clean();
    await runElsewhere(step);
    expect(hub.names(ManagedClusterAction)).toContain('backup-job-create');
  });
});

test('a spoke whose annotations change is looked at', async () => {
  request();
  takeWoken();
  const cluster = hub.get(ManagedCluster, { name: SPOKE });
  const annotations = { 'flotilla.io/runtime-socket': '/run/k3s/containerd/containerd.sock' };
  hub.put(ManagedCluster, { ...cluster, metadata: { name: SPOKE, annotations } });
  await vi.waitFor(() => expect(takeWoken()).toMatchObject({ cluster: SPOKE }));
});

describe('one upgrade at a time on a spoke', () => {
  test('the second waits, says for whom, creates nothing, and begins when the first lets go', async () => {
    request();
    engine.settle({ upgrade: UPGRADE, cluster: SPOKE }, await runElsewhere(takeWoken()));
    hub.writes.length = 0;
    request(OTHER);
    const waiting = takeWoken();
    expect(waiting?.known.heldBy).toBe('default/upgrade');
    engine.settle({ upgrade: OTHER, cluster: SPOKE }, await runElsewhere(waiting));
    expect(engine.run(OTHER.uid)?.spokes.get(SPOKE)?.message).toBe(
      'waits for ClusterGroupUpgrade default/upgrade, which is backing up this cluster',
    );
    expect(hub.writes).toEqual([]);
    hub.remove(ManagedClusterView, { namespace: SPOKE, name: 'view-backup-namespace' });
    await vi.waitFor(() => expect(leader.caches.views.size).toBe(0));
    takeWoken();
    engine.end(UPGRADE.uid);
    expect(takeWoken()).toMatchObject({ upgrade: OTHER, known: { state: 'PreparingToStart', heldBy: undefined } });
  });

  test('a step that waited too long to hear that the spoke is free is repeated', async () => {
    request();
    takeWoken();
    request(OTHER);
    const waiting = takeWoken();
    engine.end(UPGRADE.uid);
    takeWoken();
    engine.settle({ upgrade: OTHER, cluster: SPOKE }, await runElsewhere(waiting));
    expect(takeWoken()).toMatchObject({ upgrade: OTHER, known: { heldBy: undefined } });
  });

  test('a hub that starts after the spoke was cleaned asks for no step, and lets others have it', () => {
    request(UPGRADE, { [SPOKE]: 'Succeeded' });
    expect([woken, timers]).toEqual([[], []]);
    request(OTHER);
    expect(takeWoken()).toMatchObject({ upgrade: OTHER, known: { heldBy: undefined } });
  });

  test('a hub that starts in the middle knows by the objects who was there', async () => {
    const view = { name: 'view-backup-namespace', namespace: SPOKE, labels: { [Label.work]: 'backup', [Label.upgradeUid]: UPGRADE.uid } };
    hub.put(ManagedClusterView, { metadata: view });
    await vi.waitFor(() => expect(leader.caches.views.size).toBe(1));
    request(OTHER, { [SPOKE]: 'PreparingToStart' });
    expect(takeWoken()?.known.heldBy).toBe('default/upgrade');
    request(UPGRADE, { [SPOKE]: 'PreparingToStart' });
    expect(takeWoken()).toMatchObject({ upgrade: UPGRADE, known: { heldBy: undefined } });
  });
});

describe('a spoke for which nothing can be written', () => {
  const TERMINATING = 'is forbidden: unable to create new content in namespace spoke because it is being terminated';
  const failSteps = (times: number): void => {
    for (let attempt = 1; attempt <= times; attempt++)
      engine.fail({ upgrade: UPGRADE, cluster: SPOKE }, { kind: 'failed', error: new Error(TERMINATING), attempt, retryAt: now });
  };
  const messageOf = () => engine.run(UPGRADE.uid)?.spokes.get(SPOKE)?.message;

  test('says why once the error lasts, and no longer once a step succeeded', async () => {
    request();
    const step = takeWoken();
    failSteps(4);
    expect(messageOf()).toBeUndefined();
    failSteps(5);
    expect([stateOf(), messageOf()]).toEqual(['PreparingToStart', `cannot go on: ${TERMINATING}`]);
    engine.settle({ upgrade: UPGRADE, cluster: SPOKE }, await runElsewhere(step));
    expect(messageOf()).toBeUndefined();
  });

  test("says it in the server's words, without the call", () => {
    request();
    const said = 'managedclusterviews.view.open-cluster-management.io "view-backup-namespace" is forbidden: no';
    const error = new Error(
      `POST /apis/view.open-cluster-management.io/v1beta1/namespaces/spoke/managedclusterviews: 403: Forbidden: ${said}`,
    );
    engine.fail({ upgrade: UPGRADE, cluster: SPOKE }, { kind: 'failed', error, attempt: 5, retryAt: now });
    expect(messageOf()).toBe(`cannot go on: Forbidden: ${said}`);
  });

  test('times out by the time it was asked for, and names the error', async () => {
    const asked = now;
    request();
    takeWoken();
    timers = [];
    failSteps(5);
    expect(timers.map(({ at }) => at)).toContain(asked + (480 + 720) * 1000);
    now = asked + (480 + 720) * 1000;
    request(UPGRADE, {}, 'recovery:2');
    engine.settle({ upgrade: UPGRADE, cluster: SPOKE }, await runElsewhere(timers.at(-1)?.step));
    engine.settle({ upgrade: UPGRADE, cluster: SPOKE }, await runElsewhere(takeWoken()));
    expect([stateOf(), messageOf()]).toEqual(['BackupTimeout', `timed out: cannot go on: ${TERMINATING}`]);
    expect(hub.writes).toEqual([]);
  });
});

describe('a spoke that an upgrade which has ended could not clean', () => {
  const PATIENCE = (480 + 720) * 1000;

  test('is given up by who waits for it, counted from that end, and the verdict names the other', async () => {
    request();
    engine.settle({ upgrade: UPGRADE, cluster: SPOKE }, await runElsewhere(takeWoken()));
    request(OTHER);
    const early = takeWoken();
    now += PATIENCE * 2;
    expect(await runElsewhere(early)).toMatchObject({ state: 'PreparingToStart', wakeAt: undefined });

    hub.put(ManagedCluster, { metadata: { name: SPOKE }, status: { conditions: [agentCondition(CLUSTER_AVAILABLE, 'False', 'Test')] } });
    const known = { state: 'PreparingToStart', revision: 1, since: 0 } as const;
    engine.settle({ upgrade: UPGRADE, cluster: SPOKE }, { state: 'BackupTimeout', message: 'timed out', known });
    const waiting = lastStepOf(OTHER);
    expect(waiting.known).toMatchObject({ heldBy: 'default/upgrade', holderEnded: true, since: now });
    const held = await runElsewhere(waiting);
    expect(held).toMatchObject({ state: 'PreparingToStart', wakeAt: now + PATIENCE });
    engine.settle({ upgrade: OTHER, cluster: SPOKE }, held);

    now += PATIENCE;
    const given = await runElsewhere(lastStepOf(OTHER));
    expect(given).toMatchObject({ state: 'BackupTimeout' });
    expect(given.message).toMatch(/^timed out: waits for ClusterGroupUpgrade default\/upgrade, which has ended/);
  });

  /** The last step that was asked for, now or for later. */
  function lastStepOf(upgrade: UpgradeIdentity): Step {
    const step = [...timers.map((timer) => timer.step), ...woken].findLast((each) => each.upgrade.uid === upgrade.uid);
    if (!step) throw new Error(`no step of ${upgrade.name} was asked for`);
    return step;
  }
});
