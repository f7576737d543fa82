import { Label, WaitingError } from '@flotilla/api';
import { ManagedCluster, ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import { settled } from '@flotilla/pace/testing';
import { workLabels } from '@flotilla/rollout';
import { ApiError } from '@flotilla/runtime';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type HubProcess, MemoryHub } from '../../testing/memory-hub.ts';
import { type ApplyDeps, applyWrites, describeWrites, type Ownership, type Write } from './apply.ts';

const labels = workLabels({ namespace: 'ns', name: 'u', uid: 'uid' }, 'precache');
const view = (name: string, more: object = {}) => ({ metadata: { name, namespace: 'spoke', labels, ...more } });
const refOf = (name: string) => ({ namespace: 'spoke', name });
const create = (name: string): Write => ({ verb: 'create', kind: ManagedClusterView, object: view(name) });

let hub: MemoryHub;
let process: HubProcess;
let stop: AbortController;

beforeEach(async () => {
  hub = new MemoryHub();
  stop = new AbortController();
  process = await hub.process();
});
afterEach(() => hub.stop());

const apply = (writes: readonly Write[], decideOwner: ApplyDeps['decideOwner'] = () => 'ours') =>
  applyWrites(writes, { client: process.client, caches: [process.caches.views, process.caches.actions], decideOwner, signal: stop.signal });
const shown = () => process.caches.views.list().map(({ metadata }) => metadata.name);
/** Puts a view, and waits for the cache. */
async function put(name: string, more: object = {}): Promise<string> {
  const { metadata } = hub.put(ManagedClusterView, view(name, more));
  await settled(() => expect(process.caches.views.get(refOf(name))?.metadata.resourceVersion).toBe(metadata.resourceVersion));
  return metadata.uid ?? '';
}

test('writes are applied in order, and the cache has them without a watch event', async () => {
  const uid = await put('old');
  process.hold('managedclusterviews');
  await apply([create('new'), { verb: 'delete', kind: ManagedClusterView, ref: refOf('old'), uid }]);
  expect(hub.writes).toEqual(['create managedclusterviews new', 'delete managedclusterviews old']);
  expect(shown()).toEqual(['new']);
});

test('a collection that is deleted is gone for the cache, as far as it was known', async () => {
  await put('a');
  await put('b');
  const objects = process.caches.views.list().filter(({ metadata }) => metadata.name === 'a');
  process.hold('managedclusterviews');
  const labelSelector = `${Label.work}=precache`;
  await apply([{ verb: 'deleteCollection', kind: ManagedClusterView, namespace: 'spoke', labelSelector, objects }]);
  expect([hub.names(ManagedClusterView), shown()]).toEqual([[], ['b']]);
});

test('a collection of a kind that is not served is empty, and the other writes follow', async () => {
  hub.refuse = (verb, kind) =>
    verb === 'delete' && kind === ManagedClusterAction
      ? new ApiError('FLOTILLA_API_NOT_FOUND', 'DELETE', { status: 404, reason: 'NotFound', serverMessage: 'the server could not find it' })
      : undefined;
  await put('a');
  const all = { verb: 'deleteCollection', namespace: 'spoke', labelSelector: `${Label.work}=precache`, objects: [] } as const;
  await apply([
    { ...all, kind: ManagedClusterAction },
    { ...all, kind: ManagedClusterView },
  ]);
  expect(hub.names(ManagedClusterView)).toEqual([]);
});

test('nothing more is written once it is stopped', async () => {
  hub.refuse = () => {
    stop.abort(new Error('the lease is lost'));
    return undefined;
  };
  await expect(apply([create('a'), create('b')])).rejects.toThrow('the lease is lost');
  expect(hub.names(ManagedClusterView)).toEqual(['a']);
});

test('an object that has changed since it was planned is a conflict, which has the step planned anew', async () => {
  await put('a');
  hub.refuse = () => new ApiError('FLOTILLA_API_CONFLICT', 'PATCH', { status: 409, reason: 'Conflict', serverMessage: 'has changed' });
  const patch: Write = { verb: 'patch', kind: ManagedClusterView, ref: refOf('a'), patch: { metadata: { resourceVersion: '1' } } };
  await expect(apply([patch, create('b')])).rejects.toMatchObject({ status: 409 });
  expect(hub.names(ManagedClusterView)).toEqual(['a']);
});

test('writes of a kind that no cache follows are sent too', async () => {
  const patch: Write = { verb: 'patch', kind: ManagedCluster, ref: { name: 'spoke' }, patch: { metadata: { annotations: { a: 'b' } } } };
  await apply([{ verb: 'create', kind: ManagedCluster, object: { metadata: { name: 'spoke' } } }, patch]);
  expect(hub.get(ManagedCluster, { name: 'spoke' })?.metadata.annotations).toEqual({ a: 'b' });
});

test('an object that is gone needs no patch', async () => {
  await apply([{ verb: 'patch', kind: ManagedClusterView, ref: refOf('gone'), patch: {} }, create('b')]);
  expect(hub.names(ManagedClusterView)).toEqual(['b']);
});

test.each<{ name: string; owner: Ownership; left: string | undefined; fails?: string }>([
  { name: 'ours stays', owner: 'ours', left: 'theirs' },
  { name: 'a leftover is replaced', owner: 'leftover', left: undefined },
  {
    name: "somebody's is left alone and named",
    owner: { takenBy: 'ClusterGroupUpgrade x' },
    left: 'theirs',
    fails: 'ManagedClusterView spoke/a belongs to ClusterGroupUpgrade x',
  },
])('where the name is taken, $name', async ({ owner, left, fails }) => {
  hub.put(ManagedClusterView, view('a', { annotations: { of: 'theirs' } }));
  const done = apply([create('a')], () => owner);
  if (fails === undefined) await done;
  else await expect(done).rejects.toThrow(fails);
  expect(hub.get(ManagedClusterView, refOf('a'))?.metadata.annotations?.of).toBe(left);
});

test('a name that is taken and free in turns is waited for, not tried for ever', async () => {
  hub.refuse = () => new ApiError('FLOTILLA_API_ALREADY_EXISTS', 'POST', { status: 409, reason: 'AlreadyExists', serverMessage: 'exists' });
  await expect(apply([create('a')])).rejects.toBeInstanceOf(WaitingError);
  expect(hub.writes.length).toBeLessThan(5);
});

test('a plan by a cache that is behind ends before it writes', async () => {
  hub.put(ManagedClusterAction, { metadata: { name: 'a', namespace: 'spoke' } });
  await expect(apply([{ verb: 'confirmAbsent', kind: ManagedClusterAction, ref: refOf('a') }, create('b')])).rejects.toBeInstanceOf(
    WaitingError,
  );
  expect(hub.names(ManagedClusterView)).toEqual([]);
  await apply([{ verb: 'confirmAbsent', kind: ManagedClusterAction, ref: refOf('other') }, create('b')]);
  expect(hub.names(ManagedClusterView)).toEqual(['b']);
});

test('descriptions of different writes differ', () => {
  const patch = (version: string): Write => ({
    verb: 'patch',
    kind: ManagedClusterView,
    ref: refOf('a'),
    patch: { metadata: { resourceVersion: version } },
  });
  const remove = (uid: string): Write => ({ verb: 'delete', kind: ManagedClusterView, ref: refOf('a'), uid });
  const plans = [[create('a')], [create('b')], [patch('1')], [patch('2')], [remove('1')], [remove('2')], [create('a'), remove('1')]];
  expect(new Set(plans.map(describeWrites)).size).toBe(plans.length);
});
