import { ConfigMap, Deployment, Namespace } from '@flotilla/api/core';
import type { Json } from '../schema/schema.ts';
import { Boat } from './boats.ts';
import { type Question, question } from './question.ts';
import type { Transcript } from './transcript.ts';

const managed = (name: string, ask: (to: Transcript) => Promise<unknown>): Question =>
  question(name, async (to) => {
    to.showsManagers = true;
    await ask(to);
  });
const data = (to: Transcript, fields: Json, metadata: Json = {}) => to.object('a', { data: fields }, metadata);
const boat = (to: Transcript, spec: Json) => to.object('a', { spec });

/** Server-side apply, and who owns what. */
export const APPLIES: readonly Question[] = [
  managed('an apply creates', async (to) => {
    await to.apply(ConfigMap, data(to, { k: 'v' }, { labels: { x: 'y' } }), 'one');
    await to.apply(
      Boat,
      boat(to, { sails: 1, crew: [{ name: 'x' }], ports: ['p'], route: { from: 'f' }, log: ['l'], cargo: { c: 1 } }),
      'one',
    );
  }),
  managed('an apply of the same gives no new version', async (to) => {
    await to.apply(ConfigMap, data(to, { k: 'v' }), 'one');
    await to.apply(ConfigMap, data(to, { k: 'v' }), 'one');
    await to.apply(Boat, boat(to, { sails: 1 }), 'one');
    await to.apply(Boat, boat(to, { sails: 1 }), 'one');
  }),
  managed('what is applied no more goes', async (to) => {
    await to.apply(ConfigMap, data(to, { k: 'v', l: 'w' }, { labels: { x: 'y' } }), 'one');
    await to.apply(ConfigMap, data(to, { k: 'v' }), 'one');
  }),
  managed('unless another applies it too', async (to) => {
    await to.apply(ConfigMap, data(to, { k: 'v', l: 'w' }), 'one');
    await to.apply(ConfigMap, data(to, { l: 'w' }), 'two');
    await to.apply(ConfigMap, data(to, { k: 'v' }), 'one');
  }),
  managed('a field of another is a conflict', async (to) => {
    await to.apply(ConfigMap, data(to, { k: 'v' }), 'one');
    await to.apply(ConfigMap, data(to, { k: 'w' }), 'two');
    await to.apply(ConfigMap, data(to, { k: 'w' }), 'two', { force: true });
    await to.apply(ConfigMap, data(to, { k: 'v' }), 'one');
  }),
  managed('several conflicts are told together', async (to) => {
    await to.apply(ConfigMap, data(to, { k: 'v', l: 'w' }), 'one');
    await to.apply(ConfigMap, data(to, { m: 'x' }), 'two');
    await to.apply(ConfigMap, data(to, { k: '1', l: '2', m: '3' }), 'three');
  }),
  managed('so is one that somebody has patched', async (to) => {
    await to.apply(ConfigMap, data(to, { k: 'v' }), 'one');
    await to.merge(ConfigMap, to.ref('a'), { data: { k: 'w' } });
    await to.apply(ConfigMap, data(to, { k: 'v' }), 'one');
    await to.apply(ConfigMap, data(to, { k: 'v' }), 'one', { force: true });
  }),
  managed('the same value is no conflict', async (to) => {
    await to.apply(ConfigMap, data(to, { k: 'v' }), 'one');
    await to.apply(ConfigMap, data(to, { k: 'v' }), 'two');
  }),
  managed('lists by key are merged, sets too, other lists are replaced', async (to) => {
    await to.apply(Boat, boat(to, { sails: 1, crew: [{ name: 'x', role: 'cook' }], ports: ['p'], log: ['l'] }), 'one');
    await to.apply(Boat, boat(to, { sails: 1, crew: [{ name: 'y', role: 'mate' }], ports: ['q'] }), 'two');
    await to.apply(Boat, boat(to, { sails: 1, log: ['m'] }), 'two', { force: true });
    await to.apply(Boat, boat(to, { sails: 1 }), 'one');
  }),
  managed('an atomic object is one field', async (to) => {
    await to.apply(Boat, boat(to, { sails: 1, route: { from: 'f' } }), 'one');
    await to.apply(Boat, boat(to, { sails: 1, route: { to: 't' } }), 'two');
    await to.apply(Boat, boat(to, { sails: 1, route: { to: 't' } }), 'two', { force: true });
  }),
  managed('an apply of the status owns the status', async (to) => {
    await to.apply(Boat, boat(to, { sails: 1 }), 'one');
    await to.apply(Boat, to.object('a', { status: { speed: 3 } }), 'two', { subresource: 'status' });
    await to.apply(Boat, to.object('a', { spec: { sails: 1 }, status: { speed: 9 } }), 'one');
  }),
  managed('creates and patches own what they write', async (to) => {
    await to.create(ConfigMap, data(to, { k: 'v' }, { labels: { x: 'y' }, annotations: { a: 'b' } }), { fieldManager: 'maker' });
    await to.merge(ConfigMap, to.ref('a'), { data: { l: 'w' } });
    await to.merge(ConfigMap, to.ref('a'), { data: { k: null } });
  }),
  managed('a status that is patched is owned as one', async (to) => {
    await to.create(Boat, boat(to, { sails: 1, crew: [{ name: 'x' }], notes: { a: { b: 1 } } }));
    await to.merge(Boat, to.ref('a'), { status: { speed: 3, seen: ['s'] } }, 'status');
  }),
  managed('managedFields with an empty entry clear them', async (to) => {
    await to.create(ConfigMap, data(to, { k: 'v' }));
    await to.merge(ConfigMap, to.ref('a'), { metadata: { managedFields: [{}] } });
    await to.get(ConfigMap, to.ref('a'));
  }),
  managed('an apply with managedFields is refused', async (to) => {
    await to.apply(ConfigMap, data(to, { k: 'v' }, { managedFields: [{ manager: 'x' }] }), 'one');
  }),
  managed('an apply of another version is a conflict', async (to) => {
    await to.apply(ConfigMap, data(to, { k: 'v' }), 'one');
    await to.apply(ConfigMap, data(to, { k: 'w' }, { resourceVersion: '1' }), 'one');
  }),
  managed('an apply that the schema refuses', async (to) => void (await to.apply(Boat, boat(to, { sails: 99 }), 'one'))),
  managed('an apply over what somebody created', async (to) => {
    await to.create(ConfigMap, data(to, { k: 'v' }));
    await to.apply(ConfigMap, data(to, { l: 'w' }), 'one');
    await to.apply(ConfigMap, data(to, { k: 'w' }), 'one');
  }),
  managed('a dry run of an apply stores nothing', async (to) => {
    await to.apply(ConfigMap, data(to, { k: 'v' }), 'one', { dryRun: true });
    await to.get(ConfigMap, to.ref('a'));
  }),
  question('an apply of a namespace', async (to) => {
    await to.apply(Namespace, { metadata: { name: `${to.namespace}-more` } }, 'one');
    await to.apply(Namespace, { metadata: { name: `${to.namespace}-more` } }, 'one');
  }),
  question('containers are merged by name', async (to) => {
    const labels = { app: 'a' };
    const apply = (manager: string, containers: Json[]) =>
      to.silently((client) =>
        client.apply(
          Deployment,
          to.object('a', { spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } } }),
          { fieldManager: manager },
        ),
      );
    await apply('one', [{ name: 'c', image: 'i' }]);
    await apply('two', [{ name: 'd', image: 'j' }]);
    const found = await to.silently((client) => client.get(Deployment, to.ref('a')));
    const { template } = (found as { spec?: { template: { spec: { containers: Json[] } } } } | undefined)?.spec ?? {};
    to.answers.push({ containers: template?.spec.containers.map(({ name, image }) => `${String(name)} ${String(image)}`) });
  }),
];
