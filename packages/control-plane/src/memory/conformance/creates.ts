import { ConfigMap, Namespace, Secret } from '@flotilla/api/core';
import { Boat, Buoy, Sea } from './boats.ts';
import { type Question, question } from './question.ts';

/** Creates and reads. */
export const CREATES: readonly Question[] = [
  question('a create gives uid, version and time, and a ConfigMap no generation', async (to) => {
    await to.create(ConfigMap, to.object('a', { data: { k: 'v' } }));
    await to.get(ConfigMap, to.ref('a'));
  }),
  question('a custom resource begins at generation 1, without the status it was created with', async (to) => {
    await to.create(Boat, to.object('a', { spec: { sails: 1 }, status: { speed: 4 } }));
  }),
  question('a kind without a status subresource keeps the status it is created with', async (to) => {
    await to.create(Buoy, to.object('a', { spec: { bell: true }, status: { speed: 4 } }));
  }),
  question('a name is taken once', async (to) => {
    await to.create(ConfigMap, to.object('a'));
    await to.create(ConfigMap, to.object('a'));
    await to.create(Boat, to.object('a', { spec: { sails: 1 } }));
    await to.create(Boat, to.object('a', { spec: { sails: 2 } }));
  }),
  question('a name that is being deleted is taken too', async (to) => {
    await to.create(ConfigMap, to.object('a', {}, { finalizers: ['test.flotilla.io/hold'] }));
    await to.delete(ConfigMap, to.ref('a'));
    await to.create(ConfigMap, to.object('a'));
  }),
  question('a dry run answers and stores nothing', async (to) => {
    await to.create(ConfigMap, to.object('a', { data: { k: 'v' } }), { dryRun: true });
    await to.get(ConfigMap, to.ref('a'));
  }),
  question('nothing comes into a namespace that is not there', async (to) => {
    await to.create(ConfigMap, { metadata: { name: 'a', namespace: 'nowhere' } });
    await to.create(Boat, { metadata: { name: 'a', namespace: 'nowhere' }, spec: { sails: 1 } });
  }),
  question('nothing comes into a namespace that is being deleted', async (to) => {
    const name = `${to.namespace}-end`;
    await to.create(Namespace, { metadata: { name } });
    await to.delete(Namespace, { name });
    await to.get(Namespace, { name });
    await to.create(ConfigMap, { metadata: { name: 'a', namespace: name } });
  }),
  question('a namespace is labelled with its name, and active', async (to) => {
    await to.create(Namespace, { metadata: { name: `${to.namespace}-more`, labels: { a: 'b' } } });
  }),
  question('an object without a name is refused', async (to) => {
    await to.create(ConfigMap, to.object(''));
    await to.create(Boat, to.object('', { spec: { sails: 1 } }));
  }),
  question('a name has to be one of a DNS subdomain', async (to) => {
    await to.create(ConfigMap, to.object('A_b'));
    await to.create(Boat, to.object('x/y', { spec: { sails: 1 } }));
    await to.create(Namespace, { metadata: { name: 'a.b' } });
  }),
  question('a body of another namespace is refused', async (to) => {
    await to.request('POST', `/api/v1/namespaces/${to.namespace}/configmaps`, { metadata: { name: 'a', namespace: 'other' } });
  }),
  question('a body of another kind or version is refused', async (to) => {
    const path = `/apis/test.flotilla.io/v1/namespaces/${to.namespace}/boats`;
    const body = { metadata: { name: 'a' }, spec: { sails: 1 } };
    await to.request('POST', path, { ...body, apiVersion: 'test.flotilla.io/v2', kind: 'Boat' });
    await to.request('POST', path, { ...body, apiVersion: 'test.flotilla.io/v1', kind: 'Ship' });
  }),
  question('an object of a version is not created', async (to) => {
    await to.create(ConfigMap, to.object('a', {}, { resourceVersion: '7' }));
  }),
  question('a uid, a generation and times of the client are the server’s own', async (to) => {
    const own = { uid: 'mine', generation: 7, creationTimestamp: '2001-01-01T00:00:00Z', deletionTimestamp: '2001-01-01T00:00:00Z' };
    await to.create(Boat, to.object('a', { spec: { sails: 1 } }, own));
  }),
  question('labels and annotations need valid keys and values', async (to) => {
    await to.create(ConfigMap, to.object('a', {}, { labels: { 'bad key': 'v' } }));
    await to.create(ConfigMap, to.object('a', {}, { labels: { k: 'bad value' } }));
    await to.create(Boat, to.object('a', { spec: { sails: 1 } }, { annotations: { 'bad key': 'any value' } }));
  }),
  question('a Secret takes its texts as data, and has a type', async (to) => {
    await to.create(Secret, to.object('a', { stringData: { k: 'text' }, data: { other: 'YQ==' } }));
  }),
  question('a cluster-scoped object has no namespace', async (to) => {
    await to.create(Sea, { metadata: { name: to.namespace }, spec: { salt: 3 } });
    await to.get(Sea, { name: to.namespace });
  }),
  question('what is not there is not found', async (to) => {
    await to.get(ConfigMap, to.ref('a'));
    await to.merge(ConfigMap, to.ref('a'), { data: { k: 'v' } });
    await to.merge(Boat, to.ref('a'), { spec: { sails: 1 } });
    await to.request('GET', `/api/v1/namespaces/${to.namespace}/configmaps/a`);
    await to.request('GET', `/apis/test.flotilla.io/v1/namespaces/${to.namespace}/boats/a`);
  }),
  question('kinds and paths that are not served', async (to) => {
    await to.request('GET', '/apis/none.flotilla.io/v1/things');
    await to.request('GET', '/apis/test.flotilla.io/v1/things');
    await to.request('GET', '/apis/test.flotilla.io/v7/boats');
    await to.request('GET', '/api/v1/things');
    await to.request('GET', `/api/v1/namespaces/${to.namespace}/configmaps/a/status`);
    await to.request('GET', `/apis/test.flotilla.io/v1/namespaces/${to.namespace}/buoys/a/status`);
  }),
];
