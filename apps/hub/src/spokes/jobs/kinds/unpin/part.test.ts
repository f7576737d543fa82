import { Annotation, isSameJson, type KubeObject, Label } from '@flotilla/api';
import { ManagedCluster, ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import { ManualClock, settled } from '@flotilla/pace/testing';
import { workLabels } from '@flotilla/rollout';
import { createLogger, type EventToRecord } from '@flotilla/runtime';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type HubProcess, MemoryHub } from '../../../../../testing/memory-hub.ts';
import { agentCondition, buildPrecacheSettings, clusterObject } from '../../../../../testing/observation-builders.ts';
import { startParts } from '../../../../../testing/parts-world.ts';
import { there, workOf } from '../../../../../testing/work-builders.ts';
import { Claims } from '../../claims.ts';
import { owePins } from './mark.ts';
import { Unpinning } from './part.ts';

const UID = '11111111-aaaa-4bbb-8ccc-000000000001';
const SPOKE = 'spoke';
const WORK = { namespace: SPOKE, name: 'pins-work' };
const image = 'registry.test/puller:1';
const settings = buildPrecacheSettings({ image, imageAllow: ['registry.test/puller'], transport: 'work' });
/** Rounds of an agent share the machine. */
const PATIENCE = { timeout: 20_000 };
const now = Date.parse('2026-01-01T00:02:00Z');

let hub: MemoryHub;
let leader: HubProcess;
let stop: AbortController;
let claims: Claims;
let events: EventToRecord[];
let clock: ManualClock;

beforeEach(async () => {
  hub = new MemoryHub();
  leader = await hub.process();
  events = [];
  clock = new ManualClock(now);
  start();
});
afterEach(() => {
  stop.abort();
  hub.stop();
});

/** Starts what a hub process runs. */
function start(transport: 'work' | 'actions' = 'work'): void {
  stop = new AbortController();
  claims = new Claims('precache', leader.caches, () => undefined);
  const logger = createLogger({ name: 'test', level: 'silent' });
  const recorder = { record: (event: EventToRecord) => void events.push(event) };
  const part = new Unpinning({ ...leader, settings: { ...settings, transport }, now: () => now, logger, claims, recorder });
  startParts([part], { ...leader, clock, signal: stop.signal });
}

const setAvailable = (available: boolean) => {
  const { metadata } = hub.get(ManagedCluster, { name: SPOKE }) ?? { metadata: { name: SPOKE } };
  hub.put(ManagedCluster, { ...clusterObject(available), metadata });
};
const marks = () => Object.keys(hub.get(ManagedCluster, { name: SPOKE })?.metadata.annotations ?? {});
const work = () => hub.get(ManifestWork, WORK);
const owe = () => owePins([SPOKE, 'gone'], { uid: UID, image, way: 'runtime' }, { ...leader, signal: stop.signal });

/** Puts the spoke, and owes its pins. */
async function mark({ available = true } = {}): Promise<void> {
  setAvailable(available);
  await settled(() => expect(leader.caches.clusters.size).toBe(1));
  await owe();
}
/** Answers as the spoke's agent: the Job has ended like this. */
function end(verdict: Readonly<Record<string, string>>): void {
  const object = work() ?? expect.fail('no work');
  const id = object.metadata.annotations?.[Annotation.attempt] ?? '';
  const { status } = workOf({ namespace: there({ attempt: id }), job: there({ attempt: `${id}.0`, ...verdict }) });
  hub.put(ManifestWork, { ...object, status });
}

test('a marked spoke gets one work; its verdict takes the mark away, then the work goes', async () => {
  await mark();
  await settled(() => expect(work()).toBeDefined());
  expect(marks()).toEqual([`pins.flotilla.io/${UID}`]);
  expect(JSON.stringify(work()?.spec)).toContain('{"name":"MODE","value":"unpin"}');
  expect(claims.claim('another', SPOKE)).toMatchObject({ uid: UID });
  end({ verdict: 'Complete' });
  await settled(() => expect([marks(), work()]).toEqual([[], undefined]));
  await settled(() => expect(claims.claim('another', SPOKE)).toBeUndefined());
  expect(events).toEqual([]);
  const written = hub.writes.filter((write) => !write.startsWith('get'));
  expect(written).toEqual([
    `patch managedclusters ${SPOKE}`,
    'create manifestworks pins-work',
    `patch managedclusters ${SPOKE}`,
    'delete manifestworks pins-work',
  ]);
});

test('a spoke that is away waits with its mark, over a restart, and is nobody’s meanwhile', async () => {
  await mark({ available: false });
  await owe();
  expect(hub.writes).toEqual([`patch managedclusters ${SPOKE}`]);
  stop.abort();
  start();
  expect(claims.claim('another', SPOKE)).toBeUndefined();
  claims.release('another', SPOKE);
  setAvailable(true);
  await settled(() => expect(work()).toBeDefined());
});

test('a cluster that is held keeps its mark until it is let go', async () => {
  const annotations = { 'flotilla.io/hold': 'at work there', [`pins.flotilla.io/${UID}`]: image };
  hub.put(ManagedCluster, { ...clusterObject(true), metadata: { name: SPOKE, annotations } });
  await settled(() => expect(leader.caches.clusters.size).toBe(1));
  await settled(() => expect(claims.claim('another', SPOKE)).toBeUndefined());
  claims.release('another', SPOKE);
  hub.put(ManagedCluster, { ...clusterObject(true), metadata: { name: SPOKE, annotations: { [`pins.flotilla.io/${UID}`]: image } } });
  await settled(() => expect(work()).toBeDefined());
  expect(hub.writes).toEqual(['create manifestworks pins-work']);
});

test('a failed job is tried anew; the third failure is told once, and ends like a success', async () => {
  await mark();
  const made: string[] = [];
  for (const _ of [1, 2, 3]) {
    await settled(() => expect(work()?.metadata.uid).toBeDefined());
    made.push(work()?.metadata.uid ?? '');
    expect(events).toEqual([]);
    end({ verdict: 'Failed', reason: 'BackoffLimitExceeded', message: 'no luck' });
    await settled(() => expect(work()?.metadata.uid).not.toBe(made.at(-1)));
  }
  await settled(() => expect([marks(), work()]).toEqual([[], undefined]));
  expect(new Set(made).size).toBe(3);
  expect(events.map(({ reason, note }) => [reason, note])).toEqual([['PinsLeft', expect.stringContaining('no luck')]]);
});

test('pre-caching comes first, and its end is noticed', async () => {
  setAvailable(true);
  const labels = workLabels({ namespace: 'ns', name: 'u', uid: UID }, 'precache');
  const other = { namespace: SPOKE, name: 'precache-work' };
  hub.put(ManifestWork, { metadata: { ...other, labels } });
  await settled(() => expect(leader.caches.works.size).toBe(1));
  await mark();
  await settled(() => expect(leader.caches.clusters.get({ name: SPOKE })?.metadata.annotations).toBeDefined());
  hub.remove(ManifestWork, other);
  await settled(() => expect(leader.caches.works.size).toBe(0));
  expect(work()).toBeUndefined();
  await settled(async () => {
    await clock.advance(1_000);
    expect(work()).toBeDefined();
  });
});

test('the pins of another upgrade follow at once', async () => {
  const other = UID.replace(/1$/, '2');
  const ownersOf = () => hub.names(ManifestWork).map(() => work()?.metadata.labels?.[Label.upgradeUid]);
  await mark();
  await settled(() => expect(ownersOf()).toEqual([UID]));
  await owePins([SPOKE], { uid: other, image, way: 'runtime' }, { ...leader, signal: stop.signal });
  await settled(() => expect(marks()).toHaveLength(2));
  end({ verdict: 'Complete' });
  // An upgrade that is held looks again after half a minute.
  const soon = clock.now() + 10_000;
  await settled(async () => {
    await clock.advance(100);
    expect(ownersOf()).toEqual([other]);
  });
  expect(clock.now()).toBeLessThan(soon);
});

/** Carries actions out and answers views, as a spoke's agent does; its Jobs succeed at once. */
function actAsAgent(spoke: Map<string, KubeObject>): void {
  for (const name of hub.names(ManagedClusterAction)) {
    const action = ManagedClusterAction.schema.parse(hub.get(ManagedClusterAction, { namespace: SPOKE, name }));
    if (action.status) continue;
    const { template } = action.spec?.kube ?? {};
    if (action.spec?.actionType === 'Delete') spoke.clear();
    else if (template) spoke.set(String(Object(template).kind), template as unknown as KubeObject);
    hub.put(ManagedClusterAction, { ...action, status: { conditions: [agentCondition('Completed', 'True', 'ActionDone')] } });
  }
  for (const name of hub.names(ManagedClusterView)) {
    const view = hub.get(ManagedClusterView, { namespace: SPOKE, name });
    const kind = name === 'view-pins-job' ? 'Job' : 'Namespace';
    const object = spoke.get(kind);
    const status = object
      ? {
          conditions: [agentCondition('Processing', 'True', 'GetResourceProcessing')],
          result: { ...object, ...(kind === 'Job' && { status: { succeeded: 1 } }) },
        }
      : { conditions: [agentCondition('Processing', 'False', 'GetResourceFailed', `${kind} not found`)] };
    if (view && !isSameJson(Object(view).status, status)) hub.put(ManagedClusterView, { ...view, status } as KubeObject);
  }
}

test('by actions too: all of it is made and removed, on the spoke and on the hub', async () => {
  stop.abort();
  start('actions');
  const spoke = new Map<string, KubeObject>();
  const made = new Set<string>();
  await mark();
  await settled(async () => {
    actAsAgent(spoke);
    for (const kind of spoke.keys()) made.add(kind);
    await clock.advance(1_000);
    expect(marks()).toEqual([]);
  }, PATIENCE);
  expect([...made]).toEqual(expect.arrayContaining(['Namespace', 'ConfigMap', 'Job']));
  await settled(() => {
    actAsAgent(spoke);
    expect([spoke.size, hub.names(ManagedClusterAction), hub.names(ManagedClusterView)]).toEqual([0, [], []]);
  }, PATIENCE);
  await settled(() => expect(claims.claim('another', SPOKE)).toBeUndefined());
  expect(events).toEqual([]);
});
