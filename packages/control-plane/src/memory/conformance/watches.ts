import { ConfigMap } from '@flotilla/api/core';
import { Boat } from './boats.ts';
import { type Question, question } from './question.ts';
import type { Transcript } from './transcript.ts';

const create = (to: Transcript, name: string, labels = {}) =>
  to.silently((client) => client.create(ConfigMap, to.object(name, { data: { k: 'v' } }, { labels })));
const patch = (to: Transcript, name: string, body: object) =>
  to.silently((client) => client.patch(ConfigMap, to.ref(name), body, { type: 'merge' }));

/** Watches. */
export const WATCHES: readonly Question[] = [
  question('a watch tells of everything after its version, in order', async (to) => {
    await create(to, 'before');
    const resourceVersion = await to.version(ConfigMap);
    await create(to, 'a');
    await patch(to, 'a', { data: { k: 'w' } });
    await to.silently((client) => client.delete(ConfigMap, to.ref('a')));
    await create(to, 'b');
    await to.watch(ConfigMap, 4, { resourceVersion });
  }),
  question('a watch without a version begins with what is there', async (to) => {
    await create(to, 'a');
    await create(to, 'b');
    await to.watch(ConfigMap, 2, { resourceVersion: '0', fieldSelector: 'metadata.name!=kube-root-ca.crt' });
  }),
  question('a write that changes nothing is not told', async (to) => {
    await create(to, 'a');
    const resourceVersion = await to.version(ConfigMap);
    await patch(to, 'a', { data: { k: 'v' } });
    await create(to, 'b');
    await to.watch(ConfigMap, 1, { resourceVersion });
  }),
  question('an object that is selected no more is deleted for a watch, and comes back as new', async (to) => {
    await create(to, 'a', { team: 'x' });
    const resourceVersion = await to.version(ConfigMap);
    await patch(to, 'a', { metadata: { labels: { team: 'y' } } });
    await patch(to, 'a', { data: { k: 'w' } });
    await patch(to, 'a', { metadata: { labels: { team: 'x' } } });
    await patch(to, 'a', { data: { k: 'z' } });
    await to.watch(ConfigMap, 3, { resourceVersion, labelSelector: 'team=x' });
  }),
  question('a watch of one name', async (to) => {
    const resourceVersion = await to.version(ConfigMap);
    await create(to, 'a');
    await create(to, 'b');
    await to.watch(ConfigMap, 1, { resourceVersion, fieldSelector: 'metadata.name=b' });
  }),
  question('a deletion that waits for a finalizer is a change, and its end a deletion', async (to) => {
    await to.silently((client) => client.create(Boat, to.object('a', { spec: { sails: 1 } }, { finalizers: ['test.flotilla.io/hold'] })));
    const resourceVersion = await to.version(Boat);
    await to.silently((client) => client.delete(Boat, to.ref('a')));
    await to.silently((client) => client.patch(Boat, to.ref('a'), { metadata: { finalizers: null } }, { type: 'merge' }));
    await to.watch(Boat, 2, { resourceVersion });
  }),
  question('a status is a change', async (to) => {
    await to.silently((client) => client.create(Boat, to.object('a', { spec: { sails: 1 } })));
    const resourceVersion = await to.version(Boat);
    await to.silently((client) => client.patch(Boat, to.ref('a'), { status: { speed: 1 } }, { type: 'merge', subresource: 'status' }));
    await to.watch(Boat, 1, { resourceVersion });
  }),
  question('a version that is no longer kept', async (to) => {
    await to.watch(Boat, 1, { resourceVersion: '1' });
  }),
  question('a version that is none', (to) => to.watch(ConfigMap, 1, { resourceVersion: 'x' })),
  question('a watch of a kind that is not served', async (to) => {
    await to.watch({ ...Boat, plural: 'ships' }, 1, { resourceVersion: '0' });
  }),
];
