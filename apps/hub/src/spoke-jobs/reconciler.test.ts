import { Label, type Resource } from '@flotilla/api';
import { CLUSTER_AVAILABLE, ManagedCluster, ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import { type BackupState, ClusterGroupUpgrade } from '@flotilla/api/ran';
import type { Clock } from '@flotilla/pace';
import type { UpgradeIdentity } from '@flotilla/rollout';
import { workLabels } from '@flotilla/rollout';
import { ApiError, createLogger } from '@flotilla/runtime';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { progress } from '../../testing/interpret-case.ts';
import { type HubProcess, MemoryHub } from '../../testing/memory-hub.ts';
import { agentCondition, buildPrecacheSettings, foundJob, UPGRADE, viewObject } from '../../testing/observation-builders.ts';
import { parseStepKey, type StepKey } from '../steps/step-key.ts';
import type { StepQueue } from '../steps/step-queue.ts';
import { createSpokeStep } from './apply.ts';
import { type BackupInputs, createBackupJob } from './kinds/backup/job.ts';
import { createPrecacheJob } from './kinds/precache/job.ts';
import { SpokeJobs } from './reconciler.ts';
import type { RunRequest } from './run.ts';

const SPOKE = 'spoke';
const job = createBackupJob({ image: 'recovery', jobViewSeconds: 4 });
const OTHER: UpgradeIdentity = { namespace: 'default', name: 'other', uid: 'uid-2' };
const PATIENCE = (480 + 720) * 1000;

let hub: MemoryHub;
let leader: HubProcess;
let worker: HubProcess;
let now: number;
let timers: { at: number; fire: () => void }[];
/** Keys that the jobs enqueued. */
let wanted: StepKey[];
/** Keys that the queue still has. */
let held: Set<string>;
let jobs: SpokeJobs<BackupState, BackupInputs>;
let stop: AbortController;
let queue: StepQueue;

const clock: Clock = {
  now: () => now,
  setTimer: (ms, fire) => {
    const timer = { at: now + ms, fire };
    timers.push(timer);
    return {
      [Symbol.dispose]: () => {
        timers = timers.filter((each) => each !== timer);
      },
    };
  },
};

/** Advances the clock, fires timers in order, and lets their work end. */
async function pass(ms: number): Promise<void> {
  const end = now + ms;
  await idle();
  for (;;) {
    const [next] = timers.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at);
    if (!next) break;
    timers = timers.filter((each) => each !== next);
    now = Math.max(now, next.at);
    next.fire();
    await idle();
  }
  now = end;
}

beforeEach(async () => {
  hub = new MemoryHub();
  stop = new AbortController();
  now = Date.parse('2026-01-01T00:00:10Z');
  hub.put(ManagedCluster, { metadata: { name: SPOKE }, status: { conditions: [agentCondition(CLUSTER_AVAILABLE, 'True', 'Test')] } });
  for (const upgrade of [UPGRADE, OTHER]) hub.put(ClusterGroupUpgrade, { metadata: { ...upgrade } });
  leader = await hub.process();
  worker = await hub.process();
  [wanted, timers, held] = [[], [], new Set()];
  queue = {
    enqueue: (key) => {
      const step = parseStepKey(key);
      if (step) wanted.push(step);
    },
    forget: () => {},
    holds: (key) => held.has(parseStepKey(key)?.upgrade ?? ''),
  };
  const logger = createLogger({ name: 'test', level: 'silent' });
  jobs = new SpokeJobs(job, { ...leader, now: () => now, clock, logger, onChange: () => {} });
  jobs.start(queue, stop.signal);
});
afterEach(() => {
  stop.abort();
  hub.stop();
});

const request = (upgrade = UPGRADE, stored: Record<string, BackupState> = {}, paused?: RunRequest<BackupState, BackupInputs>['paused']) =>
  jobs.request({ upgrade, clusters: [SPOKE], stored, inputs: { image: 'recovery' }, paused });
const stateOf = (upgrade = UPGRADE) => jobs.run(upgrade.uid)?.spokes.get(SPOKE)?.state;
const messageOf = (upgrade = UPGRADE) => jobs.run(upgrade.uid)?.spokes.get(SPOKE)?.message;
const keyOf = ({ uid }: UpgradeIdentity): StepKey => ({ kind: 'backup', upgrade: uid, cluster: SPOKE });
const untilWanted = (upgrade = UPGRADE) => vi.waitFor(() => expect(wanted.splice(0)).toContainEqual(keyOf(upgrade)));
/** Waits for all work: nothing here waits for more than promises. */
const idle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** Runs a step in the worker process, as a forged job would too. */
const runElsewhere = (key = keyOf(UPGRADE), signal = stop.signal): Promise<boolean> =>
  createSpokeStep(job, { ...worker, now: () => now })(key, signal);

const versionOf = (process: HubProcess, kind: Resource, name: string): string | undefined => {
  if (kind === ClusterGroupUpgrade) return process.caches.upgrades.get({ namespace: 'default', name })?.metadata.resourceVersion;
  const cache = kind === ManagedClusterView ? process.caches.views : process.caches.actions;
  return cache.get({ namespace: SPOKE, name })?.metadata.resourceVersion;
};
/** Waits until processes have the object in their caches. */
const untilCached = (kind: Resource, name: string, ...by: HubProcess[]) => {
  const namespace = kind === ClusterGroupUpgrade ? 'default' : SPOKE;
  const version = hub.get(kind, { namespace, name })?.metadata.resourceVersion;
  return vi.waitFor(() => expect(by.map((process) => versionOf(process, kind, name))).toEqual(by.map(() => version)));
};

/** Answers a view or an action as the agent does. */
async function answer(kind: Resource, name: string, status: unknown, ...by: HubProcess[]): Promise<void> {
  const object = hub.get(kind, { namespace: SPOKE, name });
  if (!object) throw new Error(`${name} is not there`);
  hub.put(kind, { ...object, status });
  await untilCached(kind, name, ...by);
}
const NOT_FOUND = {
  conditions: [agentCondition('Processing', 'False', 'GetResourceFailed', 'namespaces "openshift-talo-backup" not found')],
};
const DONE = { conditions: [agentCondition('Completed', 'True', 'ActionDone')] };

/** Stores a state in an upgrade's status, as the reconciler does. */
async function store(state: BackupState, upgrade = UPGRADE, by: readonly HubProcess[] = [leader, worker]): Promise<void> {
  const { metadata } = hub.get(ClusterGroupUpgrade, upgrade) ?? { metadata: { ...upgrade } };
  hub.put(ClusterGroupUpgrade, { metadata, status: { status: {}, backup: { status: { [SPOKE]: state } } } });
  await untilCached(ClusterGroupUpgrade, upgrade.name, ...by);
}

/** Requests the backup, and stores that it has begun. */
async function begin(upgrade = UPGRADE): Promise<void> {
  request(upgrade);
  await store(stateOf(upgrade) ?? 'PreparingToStart', upgrade);
}

/** Enqueues the spoke by a change that is not about its objects. */
async function touch(note: string): Promise<void> {
  const { status } = leader.caches.clusters.get({ name: SPOKE }) ?? {};
  hub.put(ManagedCluster, { metadata: { name: SPOKE, annotations: { note } }, status });
  await vi.waitFor(() => expect(leader.caches.clusters.get({ name: SPOKE })?.metadata.annotations).toEqual({ note }));
  await idle();
}

/** Brings the spoke to Starting by steps that run elsewhere; its actions exist. */
async function untilStarting(): Promise<void> {
  await begin();
  await untilWanted();
  await runElsewhere();
  await untilCached(ManagedClusterView, 'view-backup-namespace', leader, worker);
  await answer(ManagedClusterView, 'view-backup-namespace', NOT_FOUND, leader, worker);
  await untilWanted();
  expect(stateOf()).toBe('Starting');
  await runElsewhere();
  await untilCached(ManagedClusterAction, 'backup-job-create', leader, worker);
}

describe('steps that another process runs', () => {
  test('carry the spoke on, by the stored status and the watches, and nobody answers', async () => {
    await untilStarting();
    expect(hub.names(ManagedClusterAction)).toEqual(['backup-crb-create', 'backup-job-create', 'backup-ns-create', 'backup-sa-create']);
    expect(hub.get(ManagedClusterAction, { namespace: SPOKE, name: 'backup-job-create' })?.metadata.labels).toEqual({
      [Label.upgradeName]: 'upgrade',
      [Label.upgradeNamespace]: 'default',
      [Label.upgradeUid]: 'uid-1',
      [Label.work]: 'backup',
    });
    await answer(ManagedClusterAction, 'backup-job-create', DONE, leader, worker);
    await untilWanted();
    await runElsewhere();
    expect(hub.names(ManagedClusterView)).toEqual(['view-backup-job', 'view-backup-namespace']);
  });

  test('are requested only for the stored state, and only while it has writes', async () => {
    request();
    await idle();
    expect(wanted).toEqual([]);
    await store('PreparingToStart');
    await untilWanted();
    await runElsewhere();
    await untilCached(ManagedClusterView, 'view-backup-namespace', leader, worker);
    wanted = [];
    await store('PreparingToStart');
    await idle();
    expect(wanted).toEqual([]);
  });

  test('do nothing while their caches lag behind the request, and then write', async () => {
    await begin();
    await runElsewhere();
    await untilCached(ManagedClusterView, 'view-backup-namespace', leader, worker);
    worker.hold('managedclusterviews');
    await answer(ManagedClusterView, 'view-backup-namespace', NOT_FOUND, leader);
    expect(await runElsewhere()).toBe(false);
    worker.hold();
    await untilCached(ManagedClusterView, 'view-backup-namespace', worker);
    expect(await runElsewhere()).toBe(true);
  });

  test('do nothing on a cluster that no stored status names, nor for an upgrade that nobody knows', async () => {
    request();
    for (const key of [keyOf(UPGRADE), { ...keyOf(UPGRADE), upgrade: 'uid-9' }, { ...keyOf(UPGRADE), cluster: 'elsewhere' }])
      expect(await runElsewhere(key)).toBe(false);
    expect(hub.writes).toEqual([]);
  });

  test('write nothing more once they are stopped', async () => {
    await begin();
    await expect(runElsewhere(keyOf(UPGRADE), AbortSignal.abort(new Error('too long')))).rejects.toThrow('too long');
    expect(hub.writes).toEqual([]);
  });

  test('are carried out by the leader when they are late and the queue has them no more', async () => {
    await begin();
    held.add(UPGRADE.uid);
    await pass(15_000);
    await idle();
    expect(hub.writes).toEqual([]);
    held.clear();
    await pass(15_000);
    await vi.waitFor(() => expect(hub.writes).toEqual(['create managedclusterviews view-backup-namespace']));
  });
});

describe('a step that waited in the queue of a hub that is gone', () => {
  /** Stores that the spoke is Starting. */
  async function starting(): Promise<void> {
    await untilStarting();
    await store('Starting');
  }
  const clean = async (): Promise<void> => {
    for (const kind of [ManagedClusterView, ManagedClusterAction])
      for (const name of hub.names(kind)) hub.remove(kind, { namespace: SPOKE, name });
    await vi.waitFor(() => expect(worker.caches.views.size + worker.caches.actions.size).toBe(0));
    hub.writes.length = 0;
  };

  test('puts no second job on a spoke whose verdict is stored', async () => {
    await starting();
    await clean();
    await store('Succeeded');
    await runElsewhere();
    expect(hub.writes).toEqual([]);
  });

  test('nor when its process has the cleaned spoke in its caches, but not the stored verdict', async () => {
    await starting();
    worker.hold('clustergroupupgrades');
    await store('Succeeded', UPGRADE, [leader]);
    await clean();
    await runElsewhere();
    expect(hub.writes).toEqual([]);
  });

  test('nor for an upgrade that is gone', async () => {
    await starting();
    hub.remove(ClusterGroupUpgrade, UPGRADE);
    await vi.waitFor(() => expect(worker.caches.upgrades.get(UPGRADE)).toBeUndefined());
    await clean();
    await runElsewhere();
    expect(hub.writes).toEqual([]);
  });

  test('but mends what somebody else took away from a spoke that is not done', async () => {
    await starting();
    await clean();
    await runElsewhere();
    expect(hub.names(ManagedClusterAction)).toContain('backup-job-create');
  });
});

describe('one upgrade at a time on a spoke', () => {
  test('the second waits, says for whom, and begins when the first lets go', async () => {
    await begin();
    await untilWanted();
    await runElsewhere();
    await untilCached(ManagedClusterView, 'view-backup-namespace', leader, worker);
    hub.writes.length = 0;
    await begin(OTHER);
    expect(messageOf(OTHER)).toBe('waits for ClusterGroupUpgrade default/upgrade, which is backing up this cluster');
    await idle();
    expect(wanted).not.toContainEqual(keyOf(OTHER));
    for (const step of [runElsewhere(keyOf(OTHER)), jobs.apply(keyOf(OTHER), stop.signal)]) await step;
    expect(hub.writes).toEqual([]);
    hub.remove(ManagedClusterView, { namespace: SPOKE, name: 'view-backup-namespace' });
    await vi.waitFor(() => expect(leader.caches.views.size).toBe(0));
    await jobs.end(UPGRADE.uid);
    await untilWanted(OTHER);
    expect(messageOf(OTHER)).toBeUndefined();
  });

  test('the second upgrade begins nowhere, even before the first has objects, and with a forged job', async () => {
    await begin();
    await begin(OTHER);
    for (const step of [runElsewhere(keyOf(OTHER)), jobs.apply(keyOf(OTHER), stop.signal)]) await step;
    expect(hub.writes).toEqual([]);
    await jobs.apply(keyOf(UPGRADE), stop.signal);
    expect(hub.writes).toEqual(['create managedclusterviews view-backup-namespace']);
  });

  test('a hub that starts after the spoke was cleaned asks for no step, and lets others have it', async () => {
    await store('Succeeded');
    request(UPGRADE, { [SPOKE]: 'Succeeded' });
    await idle();
    expect([wanted, timers]).toEqual([[], []]);
    await begin(OTHER);
    await untilWanted(OTHER);
  });

  test('a hub that starts where two wait lets one begin: by its status neither has', async () => {
    for (const upgrade of [UPGRADE, OTHER]) await store('PreparingToStart', upgrade);
    for (const upgrade of [OTHER, UPGRADE]) request(upgrade, { [SPOKE]: 'PreparingToStart' });
    await untilWanted(OTHER);
    expect([messageOf(OTHER), messageOf()]).toEqual([
      undefined,
      'waits for ClusterGroupUpgrade default/other, which is backing up this cluster',
    ]);
  });

  test('a hub that starts in the middle knows by the objects who was there', async () => {
    const view = { name: 'view-backup-namespace', namespace: SPOKE, labels: workLabels(UPGRADE, 'backup') };
    hub.put(ManagedClusterView, { metadata: view });
    await vi.waitFor(() => expect(leader.caches.views.size).toBe(1));
    request(OTHER, { [SPOKE]: 'PreparingToStart' });
    expect(messageOf(OTHER)).toMatch(/^waits for ClusterGroupUpgrade default\/upgrade/);
    request(UPGRADE, { [SPOKE]: 'PreparingToStart' });
    expect(messageOf()).toBeUndefined();
  });
});

describe('a spoke for which nothing can be written', () => {
  const TERMINATING = 'is forbidden: unable to create new content in namespace spoke because it is being terminated';

  test('says why, and no longer once nothing is left to do', async () => {
    await begin();
    jobs.fail(keyOf(UPGRADE), TERMINATING);
    expect([stateOf(), messageOf()]).toEqual(['PreparingToStart', `cannot go on: ${TERMINATING}`]);
    await runElsewhere();
    await untilCached(ManagedClusterView, 'view-backup-namespace', leader);
    await pass(15_000);
    await vi.waitFor(() => expect(messageOf()).toBeUndefined());
  });

  test("says it in the server's words, without the call", () => {
    request();
    const said = 'managedclusterviews.view.open-cluster-management.io "view-backup-namespace" is forbidden: no';
    const path = '/apis/view.open-cluster-management.io/v1beta1/namespaces/spoke/managedclusterviews';
    jobs.fail(keyOf(UPGRADE), `POST ${path}: 403: Forbidden: ${said}`);
    expect(messageOf()).toBe(`cannot go on: Forbidden: ${said}`);
  });

  test('times out by the time of its request, and names the error', async () => {
    request();
    jobs.fail(keyOf(UPGRADE), TERMINATING);
    await pass(PATIENCE - 1);
    expect(stateOf()).toBe('PreparingToStart');
    await pass(1);
    expect([stateOf(), messageOf()]).toEqual(['BackupTimeout', `timed out: cannot go on: ${TERMINATING}`]);
    expect(hub.writes).toEqual([]);
  });
});

test('a spoke that an upgrade which has ended could not clean is given up by who waits for it, counted from that end', async () => {
  await begin();
  await runElsewhere();
  await untilCached(ManagedClusterView, 'view-backup-namespace', leader, worker);
  await begin(OTHER);
  await pass(PATIENCE - 20_000);
  expect(stateOf(OTHER)).toBe('PreparingToStart');
  const cluster = hub.put(ManagedCluster, {
    metadata: { name: SPOKE },
    status: { conditions: [agentCondition(CLUSTER_AVAILABLE, 'False', 'Test')] },
  });
  await vi.waitFor(() => expect(leader.caches.clusters.resourceVersion).toBe(cluster.metadata.resourceVersion));
  await pass(10_000);
  expect([stateOf(), stateOf(OTHER)]).toEqual(['BackupTimeout', 'PreparingToStart']);
  await pass(PATIENCE - 1);
  expect(stateOf(OTHER)).toBe('PreparingToStart');
  await pass(1);
  expect(stateOf(OTHER)).toBe('BackupTimeout');
  expect(messageOf(OTHER)).toMatch(/^timed out: waits for ClusterGroupUpgrade default\/upgrade, which has ended/);
});

test('an error of the reconcile itself is reported like that of a step', async () => {
  const broken = {
    ...job,
    workload: () => ({ ...job.workload({ image: '' }, { upgradeUid: '', managed: undefined, clusters: 1 }), manifests: refuse }),
  };
  const logger = createLogger({ name: 'test', level: 'silent' });
  jobs = new SpokeJobs(broken, { ...leader, now: () => now, clock, logger, onChange: () => {} });
  jobs.start({ enqueue: () => {}, forget: () => {}, holds: () => false }, stop.signal);
  const labels = workLabels(UPGRADE, 'backup');
  hub.put(ManagedClusterView, { metadata: { name: 'view-backup-namespace', namespace: SPOKE, labels } });
  await untilCached(ManagedClusterView, 'view-backup-namespace', leader);
  request(UPGRADE, { [SPOKE]: 'Starting' });
  await store('Starting');
  await vi.waitFor(() => expect(messageOf()).toBe('cannot go on: the template is broken'));
});

function refuse(): never {
  throw new Error('the template is broken');
}

/** Puts available clusters of an upgrade, all of which begin by its status. */
async function putFleet(count: number, work: 'backup' | 'precache') {
  const clusters = Array.from({ length: count }, (_, index) => `fleet-${index}`);
  const conditions = [agentCondition(CLUSTER_AVAILABLE, 'True', 'Test')];
  for (const name of clusters) hub.put(ManagedCluster, { metadata: { name }, status: { conditions } });
  await vi.waitFor(() => expect(leader.caches.clusters.get({ name: `fleet-${count - 1}` })).toBeDefined());
  const stored = Object.fromEntries(clusters.map((name) => [name, 'PreparingToStart' as const]));
  const spec = {};
  const status = work === 'backup' ? { backup: { status: stored } } : { precaching: { spec, status: stored } };
  const remediationStrategy = { maxConcurrency: 1, timeout: 240 };
  hub.put(ClusterGroupUpgrade, {
    metadata: { ...UPGRADE },
    spec: { clusters, remediationStrategy },
    status: { status: {}, ...status },
  });
  await untilCached(ClusterGroupUpgrade, UPGRADE.name, leader);
  return { clusters, stored, spec };
}
/** Counts the clusters with enqueued keys. */
const countBegun = () => new Set(wanted.map(({ cluster }) => cluster)).size;

test.each([
  { work: 'backup', transport: undefined },
  { work: 'precache', transport: 'actions' },
  { work: 'precache', transport: 'work' },
] as const)('$work by $transport: so many spokes begin at a time; silent ones keep the others back for twenty seconds', async (given) => {
  const { clusters, stored, spec } = await putFleet(150, given.work);
  const precache = createPrecacheJob(buildPrecacheSettings({ image: 'puller', transport: given.transport ?? 'actions' }));
  const deps = { ...leader, now: () => now, clock, logger: createLogger({ name: 'test', level: 'silent' }), onChange: () => {} };
  const inputs = { spec, image: 'puller', profile: 'least-privilege', jobSeconds: 14_400 } as const;
  if (given.work === 'backup') jobs.request({ upgrade: UPGRADE, clusters, stored, inputs: { image: 'recovery' } });
  else {
    const other = new SpokeJobs(precache, deps);
    other.start(queue, stop.signal);
    other.request({ upgrade: UPGRADE, clusters, stored, inputs });
  }
  await vi.waitFor(() => expect(countBegun()).toBe(125));
  await idle();
  expect(countBegun()).toBe(125);
  await pass(20_000);
  await vi.waitFor(() => expect(countBegun()).toBe(150));
});

test('a spoke that is about to get its job keeps its turn until the job is there', async () => {
  const { clusters, stored } = await putFleet(126, 'backup');
  jobs.request({ upgrade: UPGRADE, clusters, stored, inputs: { image: 'recovery' } });
  await vi.waitFor(() => expect(countBegun()).toBe(125));
  const labels = workLabels(UPGRADE, 'backup');
  const tell = (kind: Resource, name: string, status: unknown) =>
    hub.put(kind, { metadata: { namespace: 'fleet-0', name, labels, uid: name }, status });
  tell(ManagedClusterView, 'view-backup-namespace', NOT_FOUND);
  await vi.waitFor(() => expect(jobs.run(UPGRADE.uid)?.spokes.get('fleet-0')?.state).toBe('Starting'));
  await idle();
  expect(countBegun()).toBe(125);
  tell(ManagedClusterAction, job.names.actions.createJob, DONE);
  await vi.waitFor(() => expect(countBegun()).toBe(126));
});

test('a requested step is not enqueued again while its plan is the same, and at once when it differs', async () => {
  await begin();
  await untilWanted();
  await touch('one');
  expect(wanted).toEqual([]);
  await runElsewhere();
  await untilCached(ManagedClusterView, 'view-backup-namespace', leader, worker);
  await touch('two');
  expect(wanted).toEqual([]);
  hub.remove(ManagedClusterView, { namespace: SPOKE, name: 'view-backup-namespace' });
  await untilWanted();
});

test('a write is not requested again before its watch event: a slow server does not get the same work twice', async () => {
  await begin();
  await untilWanted();
  leader.hold('managedclusterviews');
  await jobs.apply(keyOf(UPGRADE), stop.signal);
  await pass(45_000);
  await idle();
  expect(wanted).toEqual([]);
  expect(hub.writes).toEqual(['create managedclusterviews view-backup-namespace']);
  await pass(15_000);
  await idle();
  expect(wanted).toEqual([]);
  hub.remove(ManagedClusterView, { namespace: SPOKE, name: 'view-backup-namespace' });
  leader.hold();
  await untilWanted();
});

test('a failed step is enqueued again as before', async () => {
  await begin();
  await untilWanted();
  hub.refuse = () => new ApiError('FLOTILLA_API', 'no', { status: 500, reason: 'InternalError', serverMessage: 'no' });
  await expect(jobs.apply(keyOf(UPGRADE), stop.signal)).rejects.toThrow('no');
  await pass(15_000);
  await untilWanted();
});

test('the end of a run waits for its steps under way, and takes no further one', async () => {
  const gate = Promise.withResolvers<void>();
  const create: typeof leader.client.create = async (...args) => {
    await gate.promise;
    return leader.client.create(...args);
  };
  const logger = createLogger({ name: 'test', level: 'silent' });
  const client = { ...leader.client, create };
  jobs = new SpokeJobs(job, { ...leader, client, now: () => now, clock, logger, onChange: () => {} });
  jobs.start(queue, stop.signal);
  await begin();
  const step = jobs.apply(keyOf(UPGRADE), stop.signal);
  const ends: string[] = [];
  const ended = jobs.end(UPGRADE.uid).then(() => ends.push(hub.writes.join()));
  await idle();
  expect([ends, await jobs.apply(keyOf(UPGRADE), stop.signal)]).toEqual([[], false]);
  gate.resolve();
  await Promise.all([step, ended]);
  expect(ends).toEqual(['create managedclusterviews view-backup-namespace']);
});

test('leftovers of another upgrade are part of the plan', async () => {
  const labels = workLabels(OTHER, 'precache');
  const left = { name: 'precache-work', namespace: 'fleet-0', labels, annotations: { 'flotilla.io/frozen': 'true' } };
  hub.put(ManifestWork, { metadata: left });
  await vi.waitFor(() => expect(leader.caches.works.size).toBe(1));
  const { clusters, stored, spec } = await putFleet(1, 'precache');
  const precache = createPrecacheJob(buildPrecacheSettings({ image: 'puller', transport: 'work' }));
  const other = new SpokeJobs(precache, {
    ...leader,
    now: () => now,
    clock,
    logger: createLogger({ name: 'test', level: 'silent' }),
    onChange: () => {},
  });
  other.start(queue, stop.signal);
  const inputs = { spec, image: 'puller', profile: 'least-privilege', jobSeconds: 14_400 } as const;
  other.request({ upgrade: UPGRADE, clusters, stored, inputs });
  const key = { kind: 'precache', upgrade: UPGRADE.uid, cluster: 'fleet-0' };
  await vi.waitFor(() => expect(wanted.splice(0)).toContainEqual(key));
  hub.remove(ManifestWork, left);
  await vi.waitFor(() => expect(leader.caches.works.size).toBe(0));
  await vi.waitFor(() => expect(wanted.splice(0)).toContainEqual(key));
});

test('the verdict comes with the nodes of the report that it came with', async () => {
  const precache = createPrecacheJob(buildPrecacheSettings({ image: 'puller', transport: 'actions' }));
  const logger = createLogger({ name: 'test', level: 'silent' });
  const other = new SpokeJobs(precache, { ...leader, now: () => now, clock, logger, onChange: () => {} });
  other.start(queue, stop.signal);
  const inputs = { spec: {}, image: 'puller', profile: 'least-privilege', jobSeconds: 14_400 } as const;
  other.request({ upgrade: UPGRADE, clusters: [SPOKE], stored: { [SPOKE]: 'Active' }, inputs });
  const report = async (done: number, status: unknown) => {
    const nodes = { total: 3, done, failed: 0, absent: 0 };
    const found = foundJob(status, progress(undefined, { phase: done === 3 ? 'done' : 'pulling', nodes }));
    const result = {
      conditions: [agentCondition('Processing', 'True', 'GetResourceProcessing')],
      result: found.kind === 'found' ? found.object : undefined,
    };
    const { job: view } = precache.names.views;
    const labels = workLabels(UPGRADE, 'precache');
    hub.put(ManagedClusterView, { ...viewObject(view.name, result, labels), metadata: { name: view.name, namespace: SPOKE, labels } });
    await untilCached(ManagedClusterView, view.name, leader);
    await idle();
    const record = other.run(UPGRADE.uid)?.spokes.get(SPOKE);
    return [record?.state, record?.nodes?.done];
  };
  expect(await report(0, { active: 1, ready: 1 })).toEqual(['Active', 0]);
  expect(await report(3, { succeeded: 1, conditions: [{ type: 'Complete', status: 'True' }] })).toEqual(['Succeeded', 3]);
});

describe('a pause', () => {
  const patienceMs = () => job.workload({ image: 'recovery' }, { upgradeUid: UPGRADE.uid, managed: undefined, clusters: 1 }).patienceMs;

  test('begins nothing and says why, its time does not count, and it goes on afterwards', async () => {
    request(UPGRADE, {}, { message: 'Paused: change freeze', stops: false });
    await pass(patienceMs() + 60_000);
    await touch('seen while paused');
    expect([stateOf(), messageOf(), wanted]).toEqual(['PreparingToStart', 'Paused: change freeze', []]);
    // Its steps wait for their turn: nothing is on the hub by which the agent could be judged.
    held.add(UPGRADE.uid);
    await begin();
    await untilWanted();
    await pass(patienceMs() - 60_000);
    expect([stateOf(), messageOf()]).toEqual(['PreparingToStart', undefined]);
  });

  test('lets a spoke that has begun go on', async () => {
    await untilStarting();
    request(UPGRADE, { [SPOKE]: 'Starting' }, { message: 'Paused', stops: false });
    await answer(ManagedClusterAction, 'backup-job-create', DONE, leader, worker);
    await untilWanted();
    expect(messageOf()).not.toBe('Paused');
  });
});
