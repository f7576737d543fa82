import { ConfigMap, Namespace, Pod } from '@flotilla/api/core';
import type { Json } from '../schema/schema.ts';
import { Boat } from './boats.ts';
import { type Question, question } from './question.ts';
import type { Transcript } from './transcript.ts';

const HOLD = 'test.flotilla.io/hold';
const OTHER_UID = '11111111-2222-3333-4444-555555555555';
const create = (to: Transcript, name: string, metadata = {}) =>
  to.silently((client) => client.create(ConfigMap, to.object(name, {}, metadata)));
const boat = (to: Transcript, metadata = {}) =>
  to.silently((client) => client.create(Boat, to.object('a', { spec: { sails: 1 } }, metadata)));
const path = (to: Transcript, name: string) => `/api/v1/namespaces/${to.namespace}/configmaps/${name}`;

/** Deletions, finalizers and preconditions. */
export const DELETIONS: readonly Question[] = [
  question('a deletion, and one of what is gone', async (to) => {
    await create(to, 'a');
    await to.delete(ConfigMap, to.ref('a'));
    await to.get(ConfigMap, to.ref('a'));
    await to.delete(ConfigMap, to.ref('a'));
    await to.request('DELETE', path(to, 'a'));
  }),
  question('the answer of a deletion', async (to) => {
    await create(to, 'a');
    await to.request('DELETE', path(to, 'a'));
    await boat(to);
    await to.request('DELETE', `/apis/test.flotilla.io/v1/namespaces/${to.namespace}/boats/a`);
  }),
  question('a name is free again, with another uid', async (to) => {
    await to.create(ConfigMap, to.object('a'));
    await to.delete(ConfigMap, to.ref('a'));
    await to.create(ConfigMap, to.object('a'));
  }),
  question('another uid is another object', async (to) => {
    await create(to, 'a');
    await to.delete(ConfigMap, to.ref('a'), { uid: OTHER_UID });
    await to.request('DELETE', path(to, 'a'), { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: OTHER_UID } });
    const found = await to.get(ConfigMap, to.ref('a'));
    await to.delete(ConfigMap, to.ref('a'), { uid: found?.metadata.uid ?? '' });
    await to.get(ConfigMap, to.ref('a'));
  }),
  question('another version is refused', async (to) => {
    await create(to, 'a');
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { resourceVersion: '1' } };
    const answer = await to.silently((client) =>
      client.request('DELETE', path(to, 'a'), { body }).catch(({ status, reason }) => ({ status, reason })),
    );
    to.answers.push({ answer });
  }),
  question('a finalizer holds an object, whose deletion counts as a generation', async (to) => {
    await boat(to, { finalizers: [HOLD] });
    await to.delete(Boat, to.ref('a'));
    await to.get(Boat, to.ref('a'));
    await to.delete(Boat, to.ref('a'));
    await to.get(Boat, to.ref('a'));
  }),
  question('the last finalizer lets it go', async (to) => {
    await boat(to, { finalizers: [HOLD, `${HOLD}-too`] });
    await to.delete(Boat, to.ref('a'));
    await to.merge(Boat, to.ref('a'), { metadata: { finalizers: [HOLD] } });
    await to.merge(Boat, to.ref('a'), { metadata: { finalizers: null } });
    await to.get(Boat, to.ref('a'));
  }),
  question('no finalizer comes to what is being deleted', async (to) => {
    await boat(to, { finalizers: [HOLD] });
    await to.delete(Boat, to.ref('a'));
    await to.merge(Boat, to.ref('a'), { metadata: { finalizers: [HOLD, 'test.flotilla.io/more'] } });
  }),
  question('what is being deleted can still be changed, and not be undeleted', async (to) => {
    await boat(to, { finalizers: [HOLD] });
    await to.delete(Boat, to.ref('a'));
    await to.merge(Boat, to.ref('a'), { metadata: { deletionTimestamp: null }, spec: { sails: 2 } });
    await to.merge(Boat, to.ref('a'), { status: { speed: 1 } }, 'status');
  }),
  question('a foreground deletion waits for the garbage collector', async (to) => {
    await create(to, 'a');
    await to.delete(ConfigMap, to.ref('a'), { propagationPolicy: 'Foreground' });
    await to.get(ConfigMap, to.ref('a'));
  }),
  question('so does one that leaves dependents behind', async (to) => {
    await create(to, 'a');
    await to.delete(ConfigMap, to.ref('a'), { propagationPolicy: 'Orphan' });
    await to.get(ConfigMap, to.ref('a'));
  }),
  question('a background deletion of what waits in the foreground', async (to) => {
    await create(to, 'a');
    await to.delete(ConfigMap, to.ref('a'), { propagationPolicy: 'Foreground' });
    await to.delete(ConfigMap, to.ref('a'), { propagationPolicy: 'Background' });
    await to.get(ConfigMap, to.ref('a'));
  }),
  question('a collection goes by its labels', async (to) => {
    for (const [name, team] of [
      ['a', 'x'],
      ['b', 'y'],
      ['c', 'x'],
    ] as const)
      await create(to, name, { labels: { team } });
    await create(to, 'd', { labels: { team: 'x' }, finalizers: [HOLD] });
    await to.deleteCollection(ConfigMap, 'team=x');
    await to.names(ConfigMap);
  }),
  question('a pod on a node has its time to end, a pod on none has not', async (to) => {
    const spec = { containers: [{ name: 'c', image: 'i' }] };
    const shown = async () => {
      const found = await to.silently((client) => client.get(Pod, to.ref('a')));
      const { deletionTimestamp, deletionGracePeriodSeconds }: Json = found?.metadata ?? {};
      to.answers.push({
        found: found !== undefined,
        isLeaving: deletionTimestamp !== undefined,
        seconds: deletionGracePeriodSeconds ?? 'none',
      });
    };
    await to.silently((client) => client.create(Pod, to.object('a', { spec: { ...spec, nodeName: 'n1' } })));
    await to.delete(Pod, to.ref('a'));
    await shown();
    await to.delete(Pod, to.ref('a'), { gracePeriodSeconds: 0 });
    await shown();
    await to.silently((client) => client.create(Pod, to.object('a', { spec })));
    await to.delete(Pod, to.ref('a'));
    await shown();
  }),
  question('a namespace waits for its content', async (to) => {
    const name = `${to.namespace}-end`;
    await to.create(Namespace, { metadata: { name } });
    await to.delete(Namespace, { name });
    const found = await to.silently((client) => client.get(Namespace, { name }));
    to.answers.push({
      phase: (found as { status?: { phase?: string } } | undefined)?.status?.phase,
      isLeaving: found?.metadata.deletionTimestamp !== undefined,
    });
  }),
  question('an owner is kept as it is written', async (to) => {
    const owner = await to.create(ConfigMap, to.object('owner'));
    const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner?.metadata.uid ?? '', controller: true };
    await to.create(ConfigMap, to.object('a', {}, { ownerReferences: [reference] }));
  }),
];
