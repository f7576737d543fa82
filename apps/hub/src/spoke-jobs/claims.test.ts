import { CLUSTER_AVAILABLE, ManagedCluster, ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, type PrecacheState } from '@flotilla/api/ran';
import { ManualClock } from '@flotilla/pace/testing';
import type { UpgradeIdentity } from '@flotilla/rollout';
import { workLabels } from '@flotilla/rollout';
import { createLogger } from '@flotilla/runtime';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type HubProcess, MemoryHub } from '../../testing/memory-hub.ts';
import { agentCondition, buildPrecacheSettings, UPGRADE } from '../../testing/observation-builders.ts';
import { parseStepKey } from '../steps/step-key.ts';
import { createPrecacheJob, type PrecacheJobs } from './kinds/precache/job.ts';
import { SpokeJobs } from './reconciler.ts';
import type { RunRequest } from './run.ts';
import { watchSpokes } from './watches.ts';

const SPOKE = 'spoke';
const OTHER: UpgradeIdentity = { namespace: 'default', name: 'other', uid: 'uid-2' };
const THIRD: UpgradeIdentity = { namespace: 'default', name: 'third', uid: 'uid-3' };
const job = createPrecacheJob(buildPrecacheSettings({ image: 'registry.test/puller:1' }));
const spec = { platformImage: 'registry.test/release:1' };
const logger = createLogger({ name: 'test', level: 'silent' });

let hub: MemoryHub;
let leader: HubProcess;
let clock: ManualClock;
let jobs: PrecacheJobs;
let stop: AbortController;
/** Upgrades delete what they made when they end. */
let deleteObjects: boolean;
/** Plans of the steps that the leader requested. */
let steps: Set<string>;

beforeEach(async () => {
  hub = new MemoryHub();
  deleteObjects = true;
  clock = new ManualClock(Date.parse('2026-01-01T00:00:10Z'));
  putCluster();
  leader = await hub.process();
  lead();
});
afterEach(() => {
  stop.abort();
  hub.stop();
});

function putCluster(annotations: Record<string, string> = {}, available: 'True' | 'False' = 'True'): void {
  const conditions = [agentCondition(CLUSTER_AVAILABLE, available, 'Test')];
  hub.put(ManagedCluster, { metadata: { name: SPOKE, annotations }, status: { conditions } });
}

/** Becomes the leader, which knows nothing yet. Its steps wait in the queue. */
function lead(): void {
  stop?.abort();
  stop = new AbortController();
  jobs = new SpokeJobs(job, { ...leader, now: () => clock.now(), clock, logger, onChange: () => {} });
  steps = new Set();
  jobs.start({ enqueue: (key) => void steps.add(key), forget: () => {}, holds: () => true }, stop.signal);
}

/** Stores a state of the spoke in an upgrade's status; undefined: the status does not name it. */
async function store(upgrade: UpgradeIdentity, state: PrecacheState | undefined, parts: Record<string, unknown> = {}): Promise<void> {
  const status: Record<string, PrecacheState> = state === undefined ? {} : { [SPOKE]: state };
  const put = hub.put(ClusterGroupUpgrade, {
    metadata: { ...upgrade },
    spec: { remediationStrategy: { maxConcurrency: 1, timeout: 240 }, preCaching: true, actions: { afterCompletion: { deleteObjects } } },
    status: { status: {}, precaching: { spec, status }, ...parts },
  } as never);
  await vi.waitFor(() => expect(leader.caches.upgrades.get(upgrade)?.metadata.resourceVersion).toBe(put.metadata.resourceVersion));
}

type Request = Partial<RunRequest<PrecacheState, never>> & { readonly retries?: Record<string, number> };
const request = (upgrade: UpgradeIdentity, { clusters = [SPOKE], stored = {}, paused, retries = {} }: Request = {}) =>
  jobs.request({
    upgrade,
    clusters,
    stored,
    inputs: { spec, image: 'registry.test/puller:1', profile: 'least-privilege', jobSeconds: 14_400, retries },
    paused,
  });
const recordOf = ({ uid }: UpgradeIdentity) => jobs.run(uid)?.spokes.get(SPOKE);
const stateOf = (upgrade: UpgradeIdentity) => recordOf(upgrade)?.state;

/** Requests a job, and stores its state. */
async function begin(upgrade: UpgradeIdentity): Promise<void> {
  request(upgrade);
  await store(upgrade, stateOf(upgrade));
}

/** Runs the steps that the leader has requested. */
async function runSteps(): Promise<void> {
  for (const text of steps) {
    steps.delete(text);
    const key = parseStepKey(text);
    if (key) await jobs.apply(key, stop.signal);
  }
}
const names = () => [...hub.names(ManagedClusterView), ...hub.names(ManagedClusterAction)];
/** Runs steps, and executes every action, until the hub has no objects of jobs. */
const untilClean = () =>
  vi.waitFor(async () => {
    await runSteps();
    for (const name of hub.names(ManagedClusterAction)) {
      const action = hub.get(ManagedClusterAction, { namespace: SPOKE, name });
      if (action && !action.status) hub.put(ManagedClusterAction, { ...action, status: DONE } as never);
    }
    expect(names()).toEqual([]);
  });
const DONE = { conditions: [agentCondition('Completed', 'True', 'ActionDone')] };
const RUNNING = { conditions: [agentCondition('Progressing', 'True', 'InProgress')] };
const FAILED = { conditions: [agentCondition('Succeeded', 'False', 'TimedOut')] };

describe('a spoke that left the plan before its job began', () => {
  test('does not begin for that upgrade when the spoke is let go', async () => {
    await begin(UPGRADE);
    await begin(OTHER);
    expect([stateOf(UPGRADE), stateOf(OTHER)]).toEqual(['PreparingToStart', 'NotStarted']);
    request(OTHER, { clusters: [], stored: { [SPOKE]: 'NotStarted' } });
    await store(OTHER, undefined);
    await jobs.end(UPGRADE.uid);
    await store(UPGRADE, 'Succeeded');
    request(THIRD);
    expect([recordOf(OTHER), stateOf(THIRD)]).toEqual([undefined, 'PreparingToStart']);
  });

  test('is free for others, if it was held by its annotation or had not stored that it begins', async () => {
    putCluster({ 'flotilla.io/hold': 'a change freeze' });
    await vi.waitFor(() => expect(leader.caches.clusters.get({ name: SPOKE })?.metadata.annotations).toHaveProperty('flotilla.io/hold'));
    await begin(UPGRADE);
    expect([stateOf(UPGRADE), jobs.claim(OTHER.uid, SPOKE)?.uid]).toEqual(['NotStarted', UPGRADE.uid]);
    putCluster();
    await vi.waitFor(() => expect(stateOf(UPGRADE)).toBe('PreparingToStart'));
    request(OTHER);
    expect(recordOf(OTHER)?.message).toMatch(/^waits for ClusterGroupUpgrade default\/upgrade/);
    request(UPGRADE, { clusters: [], stored: { [SPOKE]: 'NotStarted' } });
    expect([recordOf(UPGRADE), stateOf(OTHER)]).toEqual([undefined, 'PreparingToStart']);
    await clock.advance(14_400_000);
    expect(recordOf(UPGRADE)).toBeUndefined();
  });

  test('comes again as a new one', async () => {
    await begin(UPGRADE);
    request(OTHER);
    await clock.advance(60_000);
    request(OTHER, { clusters: [] });
    request(OTHER);
    expect(recordOf(OTHER)).toMatchObject({ state: 'NotStarted', since: clock.now() });
  });

  test('keeps its record while the status says that the job has begun', async () => {
    await begin(UPGRADE);
    request(UPGRADE, { clusters: [], stored: { [SPOKE]: 'PreparingToStart' } });
    expect([stateOf(UPGRADE), jobs.claim(OTHER.uid, SPOKE)?.uid]).toEqual(['PreparingToStart', UPGRADE.uid]);
  });
});

describe('a new leader', () => {
  test('lets nobody begin where another upgrade has begun by its status, whichever it looks at first', async () => {
    await store(UPGRADE, 'PreparingToStart');
    await store(OTHER, 'NotStarted');
    putCluster({}, 'False');
    await vi.waitFor(() => expect(leader.caches.clusters.get({ name: SPOKE })?.status?.conditions?.[0]?.status).toBe('False'));
    lead();
    request(OTHER, { stored: { [SPOKE]: 'NotStarted' } });
    request(UPGRADE, { stored: { [SPOKE]: 'PreparingToStart' } });
    await clock.advance(14_000_000);
    expect([stateOf(UPGRADE), stateOf(OTHER)]).toEqual(['PreparingToStart', 'NotStarted']);
    expect(recordOf(OTHER)?.message).toBe('waits for ClusterGroupUpgrade default/upgrade, which is pre-caching this cluster');
    await clock.advance(400_000);
    expect([stateOf(UPGRADE), stateOf(OTHER)]).toEqual(['PrecacheTimeout', 'NotStarted']);
    await store(UPGRADE, 'PrecacheTimeout');
    expect(stateOf(OTHER)).toBe('PreparingToStart');
  });

  test('notices the end of a job that it never saw', async () => {
    await store(UPGRADE, 'Starting');
    lead();
    request(OTHER);
    await clock.advance(60_000);
    expect(stateOf(OTHER)).toBe('NotStarted');
    await store(UPGRADE, undefined);
    await vi.waitFor(() => expect(stateOf(OTHER)).toBe('PreparingToStart'));
  });

  test.each([
    { name: 'ends', after: () => store(UPGRADE, 'Starting', FAILED) },
    { name: 'is gone', after: async () => hub.remove(ClusterGroupUpgrade, UPGRADE) },
  ])('lets the next one begin when an upgrade $name that has begun by its status alone', async ({ after }) => {
    await store(UPGRADE, 'Starting');
    lead();
    request(OTHER);
    expect(stateOf(OTHER)).toBe('NotStarted');
    await after();
    await vi.waitFor(() => expect(stateOf(OTHER)).toBe('PreparingToStart'));
  });

  test('cleans a spoke of a rollout that runs after its stored verdict, with the inputs that are stored', async () => {
    await begin(UPGRADE);
    await runSteps();
    await vi.waitFor(() => expect(leader.caches.views.size).toBe(1));
    stop.abort();
    await store(UPGRADE, 'Succeeded', { ...RUNNING, precaching: { spec, status: { [SPOKE]: 'Succeeded' }, retries: { [SPOKE]: 1 } } });
    lead();
    await untilClean();
  });

  test('leaves a spoke free that an upgrade had not finished when it ended', async () => {
    await store(UPGRADE, 'Active', FAILED);
    lead();
    request(OTHER);
    expect(stateOf(OTHER)).toBe('PreparingToStart');
  });
});

describe('an upgrade that has ended and keeps its objects', () => {
  /** Puts a job on its way, and ends its upgrade with this state of the spoke. */
  async function end(state: PrecacheState): Promise<void> {
    deleteObjects = false;
    await begin(UPGRADE);
    await vi.waitFor(async () => {
      await runSteps();
      expect(names()).toEqual(['view-precache-namespace']);
    });
    await vi.waitFor(() => expect(leader.caches.views.size).toBe(1));
    await begin(OTHER);
    await store(UPGRADE, state, FAILED);
    await jobs.end(UPGRADE.uid);
  }

  test.each([false, true])('stops a job that has no verdict, and lets the spoke go; by a new leader: %j', async (isNew) => {
    await end('PreparingToStart');
    if (isNew) {
      lead();
      request(OTHER, { stored: { [SPOKE]: 'NotStarted' } });
    }
    expect(stateOf(OTHER)).toBe('NotStarted');
    await vi.waitFor(async () => {
      await untilClean();
      expect(stateOf(OTHER)).toBe('PreparingToStart');
    });
    expect(recordOf(UPGRADE)).toBeUndefined();
  });

  test('leaves a failed job on its spoke', async () => {
    await end('PrecacheTimeout');
    lead();
    await untilClean();
    expect(hub.writes).not.toContain('create managedclusteractions precache-ns-delete');
  });

  test('lets a spoke go on which it had begun nothing', async () => {
    deleteObjects = false;
    await begin(UPGRADE);
    await begin(OTHER);
    await store(UPGRADE, 'PreparingToStart', FAILED);
    await jobs.end(UPGRADE.uid);
    expect([recordOf(UPGRADE), stateOf(OTHER)]).toEqual([undefined, 'PreparingToStart']);
  });

  test('lets a spoke go that was to have another job', async () => {
    deleteObjects = false;
    await store(UPGRADE, 'Succeeded');
    request(UPGRADE, { stored: { [SPOKE]: 'Succeeded' } });
    request(UPGRADE, { retries: { [SPOKE]: 1 } });
    request(OTHER);
    expect([stateOf(UPGRADE), stateOf(OTHER)]).toEqual(['PreparingToStart', 'NotStarted']);
    await store(UPGRADE, 'Succeeded', FAILED);
    await jobs.end(UPGRADE.uid);
    expect([recordOf(UPGRADE), stateOf(OTHER)]).toEqual([undefined, 'PreparingToStart']);
  });

  test('is waited for only so long where the spoke is away', async () => {
    await end('PreparingToStart');
    putCluster({}, 'False');
    await vi.waitFor(() => expect(recordOf(OTHER)?.message).toMatch(/which has ended and could not yet remove from this cluster/));
    await clock.advance(14_400_000);
    expect(stateOf(OTHER)).toBe('PrecacheTimeout');
  });
});

describe('a spoke that no run has, with objects on the hub', () => {
  const LEFT = ['view-precache-namespace'];
  const available = async (status: 'True' | 'False') => {
    putCluster({}, status);
    await vi.waitFor(() => expect(leader.caches.clusters.get({ name: SPOKE })?.status?.conditions?.[0]?.status).toBe(status));
  };
  async function beginWithView(): Promise<void> {
    await begin(UPGRADE);
    await vi.waitFor(async () => {
      await runSteps();
      expect(names()).toEqual(LEFT);
    });
    await vi.waitFor(() => expect(leader.caches.views.size).toBe(1));
  }
  /** Lets time pass after which the spoke still has its objects. */
  async function untilNothingIsLeftToDo(): Promise<void> {
    await clock.advance(60_000);
    await runSteps();
    expect(names()).toEqual(LEFT);
  }

  test('is cleaned when it comes back after the end of an upgrade that keeps its objects', async () => {
    deleteObjects = false;
    await beginWithView();
    await available('False');
    await store(UPGRADE, 'PreparingToStart', FAILED);
    await jobs.end(UPGRADE.uid);
    await untilNothingIsLeftToDo();
    await available('True');
    await untilClean();
  });

  test('is cleaned when it comes back in a rollout that another leader leads', async () => {
    await beginWithView();
    await available('False');
    stop.abort();
    await store(UPGRADE, 'Succeeded', RUNNING);
    lead();
    await untilNothingIsLeftToDo();
    await available('True');
    await untilClean();
  });

  test('is cleaned once its ended upgrade is told to keep its objects, so that its teardown ends', async () => {
    await beginWithView();
    await store(UPGRADE, 'Succeeded', FAILED);
    await jobs.end(UPGRADE.uid);
    await untilNothingIsLeftToDo();
    deleteObjects = false;
    await store(UPGRADE, 'Succeeded', FAILED);
    await untilClean();
  });

  test('is cleaned once the rollout runs', async () => {
    await beginWithView();
    stop.abort();
    await store(UPGRADE, 'Succeeded');
    lead();
    await untilNothingIsLeftToDo();
    await store(UPGRADE, 'Succeeded', RUNNING);
    await untilClean();
  });

  test('is cleaned of what was written late, once another upgrade has left', async () => {
    deleteObjects = false;
    await begin(UPGRADE);
    await store(UPGRADE, 'PreparingToStart', FAILED);
    await jobs.end(UPGRADE.uid);
    await begin(OTHER);
    await vi.waitFor(async () => {
      await runSteps();
      expect(names()).toEqual(LEFT);
    });
    const labels = workLabels(UPGRADE, 'precache');
    hub.put(ManagedClusterAction, { metadata: { name: 'precache-late', namespace: SPOKE, labels } });
    await vi.waitFor(() => expect(leader.caches.actions.size).toBe(1));
    deleteObjects = true;
    await store(OTHER, 'Succeeded', FAILED);
    await jobs.end(OTHER.uid);
    hub.remove(ManagedClusterView, { namespace: SPOKE, name: 'view-precache-namespace' });
    await untilClean();
  });
});

test('the claim by which pins are removed lasts over the deletion of their upgrade', async () => {
  await store(UPGRADE, 'Succeeded', FAILED);
  expect(jobs.claim(UPGRADE.uid, SPOKE, 'pins')).toBeUndefined();
  request(OTHER);
  await store(OTHER, 'NotStarted');
  hub.remove(ClusterGroupUpgrade, UPGRADE);
  await vi.waitFor(() => expect(leader.caches.upgrades.size).toBe(1));
  await clock.advance(60_000);
  expect(stateOf(OTHER)).toBe('NotStarted');
  jobs.release(UPGRADE.uid, SPOKE, 'pins');
  expect(stateOf(OTHER)).toBe('PreparingToStart');
});

test('an upgrade that ends lets go of a spoke that its status names and its run does not', async () => {
  await store(UPGRADE, 'Active', RUNNING);
  lead();
  request(UPGRADE, { clusters: ['elsewhere'] });
  request(OTHER);
  expect(stateOf(OTHER)).toBe('NotStarted');
  await store(UPGRADE, 'Active', FAILED);
  await jobs.end(UPGRADE.uid);
  await vi.waitFor(() => expect(stateOf(OTHER)).toBe('PreparingToStart'));
});

test('a leader that begins looks at no spoke of ended upgrades that has no objects', async () => {
  const enqueued: string[] = [];
  const states = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`spoke-${index}`, 'Succeeded']));
  hub.put(ClusterGroupUpgrade, {
    metadata: { ...UPGRADE },
    spec: { remediationStrategy: { maxConcurrency: 1, timeout: 240 }, preCaching: true },
    status: { status: {}, precaching: { spec, status: states }, ...FAILED },
  } as never);
  await vi.waitFor(() => expect(leader.caches.upgrades.size).toBe(1));
  for (const watch of watchSpokes(job, leader.caches, new Map())) watch.attach((key) => enqueued.push(key));
  expect(enqueued).toEqual([]);
});
