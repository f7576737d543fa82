import { ManagedCluster, ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import { expect, test } from 'vitest';
import {
  buildAction,
  buildPrecacheSettings,
  buildSpoke,
  buildView,
  clusterObject,
  foundJob,
  reachBuilt,
} from '../../../../../testing/observation-builders.ts';
import type { ActionsSpoke } from '../../../transports/actions/observe.ts';
import { createUnpinJob, pinsNames } from './job.ts';
import { markOf, type OwedPins, owedPins } from './mark.ts';
import { type ObservedPins, planPins } from './part.ts';

const UID = '11111111-aaaa-4bbb-8ccc-000000000001';
const settings = buildPrecacheSettings({ image: 'registry.test/puller:1', imageAllow: ['registry.test/puller'], graceMs: 60_000 });
const job = createUnpinJob(settings);
const now = 10_000_000;
/** Time after which the hub gives the job up. */
const PATIENCE_MS = 360_000;

const OWED: OwedPins = { image: 'registry.test/puller:2', way: 'runtime', failures: 0, isCleaning: false };

const SETS: OwedPins = { ...OWED, way: 'pinned-image-set' };

/** A marked, available spoke without objects, but for what is given. */
function observedFor(owed: OwedPins | undefined, { spoke = {}, ...observed }: SpokeParts = {}): ObservedPins {
  return {
    upgrade: { namespace: 'default', name: 'u', uid: UID },
    cluster: 'spoke',
    managed: clusterObject(true),
    owed,
    reach: reachBuilt(pinsNames, buildSpoke(spoke)),
    hasBegun: Object.keys(spoke).some((key) => key !== 'available'),
    isThere: spoke.available ?? true,
    thereSince: 0,
    isPrecached: false,
    ...observed,
  };
}
type SpokeParts = Partial<ObservedPins> & { readonly spoke?: Partial<ActionsSpoke> };

function plan({ isFree = true, ...parts }: SpokeParts & { readonly isFree?: boolean } = {}) {
  const all = observedFor(OWED, parts);
  const { writes, ...rest } = planPins(all, job, { isFree, now });
  return { ...rest, writes, said: writes.map(({ verb, kind }) => `${verb} ${kind.kind}`) };
}
const view = (answer: Parameters<typeof buildView>[0], createdAt = now - 10_000) => buildView(answer, { createdAt, digest: 'unpin' });
const begun = (job: unknown, createdAt?: number): Partial<ActionsSpoke> => ({
  namespaceView: view({ kind: 'absent' }, createdAt),
  jobView: view(foundJob(job), createdAt),
  actions: new Map([[pinsNames.actions.createJob, buildAction({ digest: 'unpin' })]]),
});
const manifestsOf = (owed: OwedPins): string =>
  JSON.stringify(job.workload(owed, { upgradeUid: UID, managed: clusterObject(true), clusters: 1 }).manifests());
const unmarked = { metadata: { annotations: { [`pins.flotilla.io/${UID}`]: null } } };

test('a marked spoke that is there is looked at, and held for as long as the job takes', () => {
  expect(plan()).toMatchObject({ said: ['create ManagedClusterView'], holds: true });
});

test('sets are removed by a job that knows of them', () => {
  expect(manifestsOf(SETS)).toContain('{"name":"PIN_BY","value":"pinned-image-set"}');
  expect(manifestsOf(OWED)).not.toContain('PIN_BY');
});

test('a spoke that is away keeps its mark and is nobody’s meanwhile', () => {
  const away = plan({ spoke: { available: false } });
  expect([away.writes, away.holds, away.at]).toEqual([[], false, undefined]);
});

test.each([{ isFree: false }, { isPrecached: true }])('a spoke where pre-caching is not over is left alone: %j', (parts) => {
  expect(plan(parts)).toMatchObject({ writes: [], holds: false, at: now + 30_000 });
});

test('a verdict takes the mark away; a failure is told', () => {
  const done = plan({ spoke: begun({ succeeded: 1 }) });
  expect([done.said, done.failure]).toEqual([['patch ManagedCluster'], undefined]);
  expect(done.writes[0]).toMatchObject({ kind: ManagedCluster, ref: { name: 'spoke' }, patch: unmarked });
  const conditions = [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded', message: 'no luck' }];
  const failed = plan({ owed: { ...OWED, failures: 2 }, spoke: begun({ failed: 1, conditions }) });
  expect([failed.said, failed.failure]).toEqual([['patch ManagedCluster'], 'no luck']);
  expect(failed.writes[0]).toMatchObject({ patch: unmarked });
});

test('a failure that is not the third keeps the mark: what it left goes, and the job begins anew', () => {
  const marked = (value: string) => ({ metadata: { annotations: { [`pins.flotilla.io/${UID}`]: value } } });
  const left = begun({ failed: 1, conditions: [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded', message: 'no luck' }] });
  const failed = plan({ owed: { ...OWED, failures: 1 }, spoke: left });
  expect([failed.failure, failed.writes[0]]).toMatchObject([undefined, { patch: marked('registry.test/puller:2 2!') }]);
  const cleaning = { ...OWED, failures: 2, isCleaning: true };
  expect(plan({ owed: cleaning, spoke: left })).toMatchObject({
    said: ['create ManagedClusterAction', 'deleteCollection ManagedClusterView'],
    holds: true,
  });
  const again = plan({ owed: cleaning });
  expect([again.said, again.writes[0]]).toMatchObject([['patch ManagedCluster'], { patch: marked('registry.test/puller:2 2') }]);
  expect(plan({ owed: { ...cleaning, isCleaning: false } }).said).toEqual(['create ManagedClusterView']);
});

test('a job without a verdict is given up after its time, of which an absence is no part', () => {
  const owed = { ...OWED, failures: 2 };
  const since = now - PATIENCE_MS;
  expect(plan({ owed, spoke: begun({ active: 1, ready: 1 }, since) }).failure).toMatch(/^timed out/);
  expect(plan({ owed, spoke: begun({ active: 1, ready: 1 }, since + 1) })).toMatchObject({ holds: true, at: now + 1 });
  expect(plan({ spoke: begun({ active: 1, ready: 1 }, since), thereSince: now - 1_000 }).failure).toBeUndefined();
  expect(plan({ spoke: { ...begun({ active: 1, ready: 1 }, since), available: false } }).failure).toBeUndefined();
});

test('what the job left goes when the mark is gone, first on the spoke, then on the hub', () => {
  const left = begun({ succeeded: 1 });
  expect(plan({ owed: undefined, spoke: left })).toMatchObject({
    said: ['create ManagedClusterAction', 'deleteCollection ManagedClusterView'],
    holds: true,
  });
  const removed = buildAction({ deletes: 'after', digest: 'unpin' });
  const cleaned = plan({ owed: undefined, spoke: { ...left, actions: new Map([[pinsNames.actions.deleteNamespace, removed]]) } });
  expect(cleaned.writes.map(({ verb, kind }) => [verb, kind])).toEqual([
    ['deleteCollection', ManagedClusterView],
    ['deleteCollection', ManagedClusterAction],
  ]);
});

test('of a cluster that is gone the hub’s objects go at once', () => {
  expect(plan({ managed: undefined, owed: undefined, isThere: false, spoke: begun({ active: 1 }) })).toMatchObject({
    said: ['deleteCollection ManagedClusterAction', 'deleteCollection ManagedClusterView'],
    holds: false,
  });
});

test('the Job removes the pins of that upgrade on every node, with an image that the hub allows', () => {
  const manifests = (image: string): string => manifestsOf({ ...OWED, image });
  const text = manifests('registry.test/puller:2');
  for (const part of ['{"name":"MODE","value":"unpin"}', `{"name":"PIN_FOR","value":"${UID}"}`, 'registry.test/puller:2'])
    expect(text).toContain(part);
  expect(text).toContain('"tolerations":[{"operator":"Exists"}]');
  expect(text).not.toMatch(/"action":"precache-/);
  expect(manifests('elsewhere.test/shell')).toContain('"image":"registry.test/puller:1"');
});

test('marks are read by uid; what is none, or too long, is nobody’s', () => {
  const cluster = clusterObject(true);
  const annotations = {
    [`pins.flotilla.io/${UID}`]: 'image',
    'pins.flotilla.io/Not-A-Uid': 'image',
    'pins.flotilla.io/a1': 'x'.repeat(513),
    'flotilla.io/hold': 'why',
  };
  const found = (more: Record<string, string>) => [
    ...owedPins({ ...cluster, metadata: { ...cluster.metadata, annotations: { ...annotations, ...more } } }),
  ];
  expect(found({})).toEqual([[UID, { image: 'image', way: 'runtime', failures: 0, isCleaning: false }]]);
  for (const owed of [
    OWED,
    { ...OWED, failures: 1 },
    { ...OWED, failures: 2, isCleaning: true },
    SETS,
    { ...SETS, failures: 2, isCleaning: true },
  ])
    expect(found({ [`pins.flotilla.io/${UID}`]: markOf(owed) })).toEqual([[UID, owed]]);
  expect(found({ [`pins.flotilla.io/${UID}`]: 'image what' })).toEqual([]);
  expect(owedPins(undefined).size).toBe(0);
});
