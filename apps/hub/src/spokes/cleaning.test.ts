import { Annotation } from '@flotilla/api';
import { ManagedCluster, ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import { type BackupState, ClusterGroupUpgrade } from '@flotilla/api/ran';
import { ManualClock, settled } from '@flotilla/pace/testing';
import { workLabels } from '@flotilla/rollout';
import { ApiError } from '@flotilla/runtime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type HubProcess, MemoryHub } from '../../testing/memory-hub.ts';
import { agentCondition, clusterObject, UPGRADE } from '../../testing/observation-builders.ts';
import { startParts } from '../../testing/parts-world.ts';
import { Cleaning } from './cleaning.ts';
import { Claims } from './jobs/claims.ts';
import { backupCleaning, createBackupJob } from './jobs/kinds/backup/job.ts';
import { subjectOfLeftover } from './leftovers.ts';
import type { Problems } from './problems.ts';

const SPOKE = 'spoke';
const MARK = 'view-backup-namespace-leftover';
const OTHER = { namespace: 'default', name: 'other', uid: 'uid-2' };
const T0 = Date.parse('2026-01-01T00:00:10Z');
const job = createBackupJob({ jobViewSeconds: 4 });

let hub: MemoryHub;
let leader: HubProcess;
let clock: ManualClock;
let claims: Claims;
let cleaning: Cleaning;
let problems: Problems;
let stop: AbortController;

beforeEach(async () => {
  clock = new ManualClock(T0);
  hub = new MemoryHub();
  leader = await hub.process();
  lead();
});
afterEach(() => {
  stop.abort();
  hub.stop();
});

/** A hub whose objects are as old as they are by the clock of the test. */
async function startDatedHub(): Promise<void> {
  hub.stop();
  hub = new MemoryHub(clock);
  leader = await hub.process();
  lead();
}

/** Becomes the leader, which knows nothing yet. */
function lead(talmStrict = false): void {
  stop?.abort();
  stop = new AbortController();
  claims = new Claims('backup', leader.caches, () => undefined);
  let enqueue: (key: string) => void = () => {};
  cleaning = new Cleaning({
    ...leader,
    job: backupCleaning({ talmStrict }),
    claims,
    now: () => clock.now(),
    enqueue: (key) => enqueue(key),
    onClean: () => {},
  });
  const world = startParts([cleaning], { ...leader, clock, signal: stop.signal });
  enqueue = world.spokes.enqueue;
  problems = world.problems;
}

const setAvailable = (available: boolean) => hub.put(ManagedCluster, clusterObject(available));
const views = () => hub.names(ManagedClusterView);
const actions = () => hub.names(ManagedClusterAction);
const untilCached = () =>
  settled(() => expect([leader.caches.views.size, leader.caches.actions.size]).toEqual([views().length, actions().length]));

/** Puts an upgrade that has its verdict, and this state of the spoke. */
async function putEnded(state: BackupState | undefined, named: readonly string[] = []): Promise<ClusterGroupUpgrade> {
  const status = state === undefined ? {} : { [SPOKE]: state };
  const put = hub.put(ClusterGroupUpgrade, {
    metadata: { ...UPGRADE },
    spec: { clusters: named, remediationStrategy: { maxConcurrency: 1, timeout: 240 } },
    status: { status: {}, conditions: [agentCondition('Succeeded', 'False', 'TimedOut')], backup: { status } },
  } as never);
  await settled(() => expect(leader.caches.upgrades.get(UPGRADE)?.metadata.resourceVersion).toBe(put.metadata.resourceVersion));
  return leader.caches.upgrades.get(UPGRADE) ?? expect.fail('no upgrade');
}
/** Waits until nothing delays the end of the upgrade, which then is gone. */
async function untilClean(upgrade: ClusterGroupUpgrade, { force = false } = {}): Promise<void> {
  await settled(() => expect(cleaning.isClean(upgrade, force)).toBe(true));
  hub.remove(ClusterGroupUpgrade, UPGRADE);
  await settled(() => expect(leader.caches.upgrades.get(UPGRADE)).toBeUndefined());
}

/** Puts the hub objects of a running job, and ends its upgrade. */
async function end(state: BackupState, { force = false } = {}): Promise<void> {
  const labels = workLabels(UPGRADE, 'backup');
  hub.put(ManagedClusterView, { metadata: { name: 'view-backup-namespace', namespace: SPOKE, labels } });
  hub.put(ManagedClusterView, { metadata: { name: 'view-backup-job', namespace: SPOKE, labels } });
  hub.put(ManagedClusterAction, { metadata: { name: 'backup-job-create', namespace: SPOKE, labels } });
  await settled(() => expect(leader.caches.clusters.size).toBe(1));
  await untilCached();
  await untilClean(await putEnded(state), { force });
}

/** Answers as the spoke's agent. */
function answer(kind: typeof ManagedClusterView | typeof ManagedClusterAction, name: string, status: unknown): void {
  const object = hub.get(kind, { namespace: SPOKE, name });
  if (!object) throw new Error(`${name} is not there`);
  hub.put(kind, { ...object, status });
}
const seesNamespace = (uid: string): void =>
  answer(ManagedClusterView, MARK, {
    conditions: [agentCondition('Processing', 'True', 'GetResourceProcessing')],
    result: { kind: 'Namespace', metadata: { name: 'openshift-talo-backup', annotations: { [Annotation.upgradeUid]: uid } } },
  });
const carriesOut = (name: string): void =>
  answer(ManagedClusterAction, name, { conditions: [agentCondition('Completed', 'True', 'ActionDone')] });
const untilAsked = () => settled(() => expect(actions().toSorted()).toEqual(['backup-crb-delete', 'backup-ns-delete']));
/** The agent shows the namespace of this upgrade, and carries the deletions out. */
async function untilCleanedBy(uid: string): Promise<void> {
  seesNamespace(uid);
  await untilAsked();
  carriesOut('backup-ns-delete');
  carriesOut('backup-crb-delete');
  await settled(() => expect([views(), actions()]).toEqual([[], []]));
}

test('strict mode requests the deletions and keeps them, waits for none, and blocks no other upgrade', async () => {
  lead(true);
  setAvailable(true);
  await end('UnrecoverableError');
  expect([views(), actions().toSorted()]).toEqual([[], ['backup-crb-delete', 'backup-ns-delete']]);
  await untilCached();
  hub.put(ClusterGroupUpgrade, { metadata: { ...UPGRADE } });
  await settled(() => expect(leader.caches.upgrades.size).toBe(1));
  expect(claims.claim('another', SPOKE)).toBeUndefined();
});

describe('an upgrade that ends while a spoke is away', () => {
  test('is remembered by one view, and its binding goes once the spoke is back', async () => {
    setAvailable(false);
    await end('Active');
    expect([views(), actions()]).toEqual([[MARK], []]);
    setAvailable(true);
    await untilCleanedBy(UPGRADE.uid);
  });

  test('requests its deletion once, although the cache has the view longer than the actions', async () => {
    setAvailable(false);
    await end('Active');
    setAvailable(true);
    seesNamespace(UPGRADE.uid);
    await untilAsked();
    await untilCached();
    carriesOut('backup-ns-delete');
    carriesOut('backup-crb-delete');
    leader.hold('managedclusterviews');
    await settled(() => expect(leader.caches.actions.size).toBe(0));
    leader.hold();
    await untilCached();
    expect(hub.writes.filter((write) => write.startsWith('create managedclusteractions'))).toHaveLength(2);
    expect([views(), actions()]).toEqual([[], []]);
  });

  test('also by a hub that was started meanwhile, when the upgrade is gone', async () => {
    setAvailable(false);
    await end('Active');
    lead();
    setAvailable(true);
    seesNamespace(UPGRADE.uid);
    await untilAsked();
  });

  test('a refused deletion is requested again, not given up', async () => {
    setAvailable(true);
    await end('UnrecoverableError', { force: true });
    seesNamespace(UPGRADE.uid);
    await untilAsked();
    const refused = { conditions: [agentCondition('Completed', 'False', 'DeleteResourceFailed', 'is forbidden')] };
    const first = hub.get(ManagedClusterAction, { namespace: SPOKE, name: 'backup-crb-delete' })?.metadata.uid;
    carriesOut('backup-ns-delete');
    answer(ManagedClusterAction, 'backup-crb-delete', refused);
    await settled(() => {
      const again = hub.get(ManagedClusterAction, { namespace: SPOKE, name: 'backup-crb-delete' });
      expect(again?.metadata.uid).toBeDefined();
      expect(again?.metadata.uid).not.toBe(first);
    });
    expect(views()).toEqual([MARK]);
  });

  test('leaves nothing where nothing was put', async () => {
    setAvailable(false);
    await end('PreparingToStart');
    expect([views(), actions()]).toEqual([[], []]);
  });

  test('is remembered while a hub that is restored has no ManagedCluster yet, for a day', async () => {
    await startDatedHub();
    setAvailable(false);
    await end('Active');
    hub.remove(ManagedCluster, { name: SPOKE });
    await settled(() => expect(leader.caches.clusters.size).toBe(0));
    lead();
    await clock.advance(23 * 3_600_000);
    expect([views(), actions()]).toEqual([[MARK], []]);
    setAvailable(true);
    await untilCleanedBy(UPGRADE.uid);
  });

  test('is forgotten of a cluster that has been detached for a day', async () => {
    await startDatedHub();
    setAvailable(false);
    await end('Active');
    hub.remove(ManagedCluster, { name: SPOKE });
    await settled(() => expect(leader.caches.clusters.size).toBe(0));
    await clock.advance(25 * 3_600_000);
    await settled(() => expect(views()).toEqual([]));
  });

  test('is remembered of a cluster whose ManagedCluster is not there yet when it ends', async () => {
    await startDatedHub();
    const labels = workLabels(UPGRADE, 'backup');
    hub.put(ManagedClusterView, { metadata: { name: 'view-backup-job', namespace: SPOKE, labels } });
    await untilCached();
    await untilClean(await putEnded('Active', [SPOKE]));
    expect([views(), actions()]).toEqual([[MARK], []]);
    setAvailable(true);
    await untilCleanedBy(UPGRADE.uid);
  });
});

describe('what a late step wrote for an upgrade that has ended', () => {
  const late = { name: 'backup-ns-delete', namespace: SPOKE, labels: workLabels(UPGRADE, 'backup') };

  const completed = { status: { completedAt: '2026-01-01T00:00:00Z' } };

  test.each([
    { name: 'is gone', after: () => hub.remove(ClusterGroupUpgrade, UPGRADE) },
    { name: 'was cleaned up', after: () => hub.put(ClusterGroupUpgrade, { metadata: { ...UPGRADE }, status: completed }) },
  ])('is removed once the upgrade $name for a while, from its spoke too, and is left to the upgrade before', async ({ after }) => {
    setAvailable(true);
    hub.put(ClusterGroupUpgrade, { metadata: { ...UPGRADE } });
    await settled(() => expect(leader.caches.upgrades.size).toBe(1));
    hub.put(ManagedClusterAction, { metadata: late });
    await untilCached();
    await clock.advance(60_000);
    carriesOut(late.name);
    await untilCached();
    after();
    await settled(() => expect(leader.caches.upgrades.list().every(({ status }) => status?.status.completedAt)).toBe(true));
    await clock.advance(5_000);
    carriesOut(late.name);
    await untilCached();
    expect(hub.writes).toEqual([]);
    await clock.advance(5_000);
    await settled(() => expect([views(), actions()]).toEqual([[MARK], []]));
    await untilCleanedBy(UPGRADE.uid);
  });

  test('stays with an upgrade that keeps its objects', async () => {
    setAvailable(true);
    const remediationStrategy = { maxConcurrency: 1, timeout: 240 };
    const spec = { remediationStrategy, actions: { afterCompletion: { deleteObjects: false } } };
    hub.put(ClusterGroupUpgrade, { metadata: { ...UPGRADE }, spec, status: completed });
    await settled(() => expect(leader.caches.upgrades.size).toBe(1));
    for (let look = 0; look < 3; look += 1) {
      hub.put(ManagedClusterAction, { metadata: late });
      carriesOut(late.name);
      await untilCached();
      await clock.advance(60_000);
    }
    expect([hub.writes, actions()]).toEqual([[], [late.name]]);
  });

  test('is removed as a work too, whose agent removes the rest, and where no cluster is known, as a mark', async () => {
    await startDatedHub();
    const labels = workLabels(UPGRADE, 'backup');
    setAvailable(true);
    await settled(() => expect(leader.caches.clusters.size).toBe(1));
    hub.put(ManifestWork, { metadata: { name: job.names.manifestWork, namespace: SPOKE, labels } });
    hub.put(ManagedClusterAction, { metadata: { ...late, namespace: 'detached' } });
    await settled(() => expect([leader.caches.works.size, leader.caches.actions.size]).toEqual([1, 1]));
    await settled(async () => {
      await clock.advance(1_000);
      for (const [kind, namespace, name] of [
        [ManifestWork, SPOKE, job.names.manifestWork],
        [ManagedClusterAction, 'detached', late.name],
      ] as const) {
        const object = hub.get(kind, { namespace, name });
        if (object) hub.put(kind, object);
      }
      expect([hub.names(ManifestWork), views(), actions()]).toEqual([[], [MARK], []]);
    });
  });
});

describe('another upgrade on such a spoke', () => {
  beforeEach(async () => {
    hub.put(ClusterGroupUpgrade, { metadata: { ...OTHER } });
    setAvailable(false);
    await end('Active');
    await untilCached();
  });

  test('may begin, and what it put there is left alone', async () => {
    expect(claims.claim(OTHER.uid, SPOKE)).toBeUndefined();
    setAvailable(true);
    seesNamespace(OTHER.uid);
    await settled(() => expect(views()).toEqual([]));
    expect(hub.writes.filter((write) => write.includes('delete managedclusteractions') || write.includes('-delete'))).toEqual([]);
  });

  test('waits while the deletion is under way', async () => {
    setAvailable(true);
    seesNamespace(UPGRADE.uid);
    await untilAsked();
    expect(claims.claim(OTHER.uid, SPOKE)?.uid).toBe(UPGRADE.uid);
    carriesOut('backup-ns-delete');
    carriesOut('backup-crb-delete');
    await settled(() => expect(claims.claim(OTHER.uid, SPOKE)).toBeUndefined());
  });

  test('waits no longer when somebody takes the mark away', async () => {
    setAvailable(true);
    seesNamespace(UPGRADE.uid);
    await untilAsked();
    expect(claims.claim(OTHER.uid, SPOKE)?.uid).toBe(UPGRADE.uid);
    for (const name of views()) hub.remove(ManagedClusterView, { namespace: SPOKE, name });
    await settled(() => expect(claims.claim(OTHER.uid, SPOKE)).toBeUndefined());
  });

  test('waits also for a hub that was started in the midst of it', async () => {
    setAvailable(true);
    seesNamespace(UPGRADE.uid);
    await untilAsked();
    await untilCached();
    lead();
    expect(claims.claim(OTHER.uid, SPOKE)?.uid).toBe(UPGRADE.uid);
  });
});

test("objects with an upgrade's labels in a cluster that it never named delay nothing, even when they cannot be removed", async () => {
  setAvailable(true);
  const labels = workLabels(UPGRADE, 'backup');
  hub.put(ManagedClusterAction, { metadata: { name: 'backup-job-create', namespace: SPOKE, labels } });
  await settled(() => expect(leader.caches.clusters.size).toBe(1));
  await untilCached();
  hub.refuse = () => new ApiError('FLOTILLA_API_REFUSED', 'DELETE', { status: 500, reason: '', serverMessage: 'request is too large' });
  await untilClean(await putEnded(undefined, ['another']));
});

test('objects of a cluster that it named delay its end, and their error is known while it lasts', async () => {
  setAvailable(true);
  const labels = workLabels(UPGRADE, 'backup');
  hub.put(ManagedClusterAction, { metadata: { name: 'backup-job-create', namespace: SPOKE, labels } });
  await settled(() => expect(leader.caches.clusters.size).toBe(1));
  await untilCached();
  hub.refuse = () => new ApiError('FLOTILLA_API_REFUSED', 'DELETE', { status: 500, reason: '', serverMessage: 'request is too large' });
  const upgrade = await putEnded(undefined, [SPOKE]);
  await settled(async () => {
    await clock.advance(1_000);
    expect(problems.ofAll(UPGRADE.uid).get(SPOKE)?.message).toContain('request is too large');
  });
  expect(cleaning.isClean(upgrade, true)).toBe(false);
});

test('a named cluster without a namespace, as one that was never accepted, keeps no upgrade', async () => {
  hub.put(ManagedCluster, { metadata: { name: SPOKE } });
  await settled(() => expect(leader.caches.clusters.size).toBe(1));
  const serverMessage = `namespaces "${SPOKE}" not found`;
  hub.refuse = (verb) =>
    verb === 'create' ? new ApiError('FLOTILLA_API_NOT_FOUND', 'POST', { status: 404, reason: 'NotFound', serverMessage }) : undefined;
  await untilClean(await putEnded('BackupTimeout'));
});

test('a deletion that failed is tried again at its time, not only when the patience with the spoke ends', async () => {
  setAvailable(true);
  await settled(() => expect(leader.caches.clusters.size).toBe(1));
  const upgrade = await putEnded('BackupTimeout');
  await untilAsked();
  expect(cleaning.isClean(upgrade, false)).toBe(false);
  const first = hub.get(ManagedClusterAction, { namespace: SPOKE, name: 'backup-ns-delete' })?.metadata.uid;
  answer(ManagedClusterAction, 'backup-ns-delete', {
    conditions: [{ ...agentCondition('Completed', 'False', 'ActionFailed'), message: 'no answer' }],
  });
  await settled(async () => {
    await clock.advance(1_000);
    const again = hub.get(ManagedClusterAction, { namespace: SPOKE, name: 'backup-ns-delete' });
    expect([again?.metadata.uid === first, again?.status]).toEqual([false, undefined]);
  });
});

test.each([
  { name: 'was cleaned at its end asks no spoke again', deleteObjects: undefined, completedAt: '2026-01-01T00:00:00Z', want: false },
  { name: 'kept its objects asks its spokes', deleteObjects: false, completedAt: '2026-01-01T00:00:00Z', want: true },
  { name: 'is deleted before its end asks its spokes', deleteObjects: undefined, completedAt: undefined, want: true },
])('the deletion of an upgrade that $name', async ({ deleteObjects, completedAt, want }) => {
  setAvailable(true);
  const remediationStrategy = { maxConcurrency: 1, timeout: 240 };
  const metadata = { ...UPGRADE, deletionTimestamp: '2026-01-02T00:00:00Z', finalizers: ['flotilla.io/test'] };
  hub.put(ClusterGroupUpgrade, {
    metadata,
    spec: { clusters: [SPOKE], remediationStrategy, actions: { afterCompletion: { deleteObjects } } },
    status: { status: { completedAt }, backup: { status: { [SPOKE]: 'UnrecoverableError' } } },
  } as never);
  await settled(() => expect(leader.caches.upgrades.get(UPGRADE)).toBeDefined());
  const upgrade = leader.caches.upgrades.get(UPGRADE) ?? expect.fail('no upgrade');
  expect(cleaning.isClean(upgrade, false)).toBe(!want);
  if (want) await untilAsked();
  else expect(hub.writes).toEqual([]);
});

test('a spoke that its job never touched is asked nothing, whatever else the upgrade had there', async () => {
  setAvailable(true);
  await settled(() => expect(leader.caches.clusters.size).toBe(1));
  const upgrade = await putEnded('Succeeded', [SPOKE]);
  expect(cleaning.plan({ upgrade: UPGRADE.uid, cluster: SPOKE })).toMatchObject({ writes: '' });
  expect(cleaning.isClean(upgrade, false)).toBe(true);
});

test('what fails there is told of its cluster once the upgrade has no status for it', async () => {
  setAvailable(true);
  await settled(() => expect(leader.caches.clusters.size).toBe(1));
  await putEnded('Succeeded', [SPOKE]);
  const subject = () => subjectOfLeftover(leader.caches, `${UPGRADE.uid}/${SPOKE}`)?.name;
  expect([subject(), subjectOfLeftover(leader.caches, 'no key')]).toEqual([undefined, undefined]);
  hub.remove(ClusterGroupUpgrade, UPGRADE);
  await settled(() => expect(subject()).toBe(SPOKE));
});
