import { KubeObject } from '@flotilla/api';
import { ConfigMap, CustomResourceDefinition, Deployment } from '@flotilla/api/core';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import type { Json } from '../schema/schema.ts';
import { Boat, definition, Raft } from './boats.ts';
import { type Question, question } from './question.ts';
import type { Transcript } from './transcript.ts';

/** A server takes a moment to go by another schema. */
const MOST_TRIES = 5_000;

async function untilAnswered(to: Transcript, spec: Json, isAccepted: boolean): Promise<void> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const create = to.silently((client) => client.create(Raft, to.object('try', { spec }), { dryRun: true }));
    const found = await create.then(
      () => true,
      () => false,
    );
    if (found === isAccepted) return;
  }
  throw new RangeError(`the server still goes by the old schema after ${MOST_TRIES} tries`);
}

const refused = (name: string, spec: Json): Question =>
  question(name, async (to) => void (await to.create(Boat, to.object('a', { spec: { sails: 1, ...spec } }))));

/** Schemas of CRDs and of built-in kinds. */
export const SCHEMAS: readonly Question[] = [
  refused('unknown fields are left out', {
    unknown: 1,
    rig: { kind: 'sloop', other: 2 },
    notes: { any: { thing: 1 } },
    crew: [{ name: 'x', more: 1 }],
  }),
  question('unknown fields are refused where validation is strict', async (to) => {
    const path = `/apis/test.flotilla.io/v1/namespaces/${to.namespace}/boats?fieldValidation=Strict`;
    await to.request('POST', path, {
      ...to.object('a', { spec: { sails: 1, unknown: 1 } }),
      apiVersion: 'test.flotilla.io/v1',
      kind: 'Boat',
    });
  }),
  refused('defaults are filled in, where their object is', { crew: [{ name: 'x' }], rig: {} }),
  refused('a null stands for the default, or for null where that is allowed', { flag: null, owner: null }),
  refused('a null that is not allowed is left out', { color: null }),
  question('a required field', async (to) => {
    await to.create(Boat, to.object('a', { spec: { flag: 'red' } }));
    await to.create(Boat, to.object('a', { spec: { sails: 1, crew: [{ role: 'cook' }] } }));
  }),
  question('no spec at all', async (to) => void (await to.create(Boat, to.object('a')))),
  refused('a text for a number', { sails: 'many' }),
  refused('a number for a text', { flag: 7 }),
  refused('a list for an object', { rig: [] }),
  refused('a fraction for an integer', { sails: 1.5 }),
  refused('an unsupported value', { color: 'pink' }),
  refused('less than the minimum', { sails: -1 }),
  refused('more than the maximum', { sails: 10 }),
  refused('a text that is too short', { name: 'x' }),
  refused('a text that is too long', { name: 'abcdef' }),
  refused('a text of another pattern', { name: 'ABC' }),
  refused('a list that is too long', { crew: [{ name: 'a' }, { name: 'b' }, { name: 'c' }, { name: 'd' }] }),
  refused('a list that is too short', { log: [] }),
  refused('a map that is too large', { cargo: { a: 1, b: 2, c: 3 } }),
  refused('a value of a map of another type', { cargo: { a: 'x' } }),
  refused('two items of one key', { crew: [{ name: 'a' }, { name: 'a', role: 'cook' }] }),
  refused('a value twice in a set', { ports: ['x', 'x'] }),
  refused('a time that is none', { launched: 'yesterday' }),
  refused('a rule that is broken', { depth: -1 }),
  refused('an integer or a text', { load: '5' }),
  refused('neither an integer nor a text', { load: true }),
  refused('an embedded object', { pilot: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', other: 1 }, data: { k: 'v' } } }),
  refused('several refusals are told together', { sails: 99, color: 'pink', flag: 7 }),
  question('a value that has become invalid may stay while it is not changed', async (to) => {
    const rafts = (maxLength: number) =>
      definition(Raft, { spec: { type: 'object', properties: { name: { type: 'string', maxLength }, logs: { type: 'integer' } } } }, false);
    const apply = (crd: Json) =>
      to.silently((client) => client.apply(CustomResourceDefinition, KubeObject.parse(crd), { fieldManager: 'test', force: true }));
    await apply(rafts(9));
    await untilAnswered(to, { name: 'abcdef' }, true);
    await to.create(Raft, to.object('a', { spec: { name: 'abcdef' } }));
    await apply(rafts(3));
    await untilAnswered(to, { name: 'abcdef' }, false);
    await to.merge(Raft, to.ref('a'), { spec: { logs: 4 } });
    await to.merge(Raft, to.ref('a'), { spec: { name: 'ghijkl' } });
  }),
  question('an upgrade of the fleet has its defaults and its unseen status', async (to) => {
    await to.create(ClusterGroupUpgrade, to.object('a', { spec: { remediationStrategy: { maxConcurrency: 2 } } }));
    await to.merge(ClusterGroupUpgrade, to.ref('a'), { status: { observedGeneration: 1, computedMaxConcurrency: 2 } }, 'status');
    await to.merge(ClusterGroupUpgrade, to.ref('a'), { spec: { batchTimeoutAction: 'Perhaps' } });
  }),
  question('a ConfigMap keeps no unknown fields, and needs texts', async (to) => {
    await to.create(ConfigMap, to.object('a', { data: { k: 'v' }, other: 1 }));
    await to.create(ConfigMap, to.object('b', { data: { k: 1 } }));
    const answer = await to.silently((client) =>
      client.patch(ConfigMap, to.ref('a'), { data: { k: 2 } }, { type: 'merge' }).catch(({ status, reason }) => ({ status, reason })),
    );
    // Its words repeat the object with its version and times.
    to.answers.push({ answer });
  }),
  question('fields of containers that a Deployment does not know are left out', async (to) => {
    const labels = { app: 'a' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i', other: 1 }] } };
    const spec = { selector: { matchLabels: labels }, template, unknown: 1 };
    const created = await to.silently((client) => client.create(Deployment, to.object('a', { spec })));
    const { unknown, template: stored } = created.spec as { unknown?: unknown; template: { spec: { containers: Json[] } } };
    to.answers.push({
      unknown: unknown === undefined,
      other: stored.spec.containers[0]?.other === undefined,
      image: stored.spec.containers[0]?.image,
    });
  }),
];
