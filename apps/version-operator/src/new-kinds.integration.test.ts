/** Objects of kinds that the release itself brings: made as soon as the server takes them, and compared as exactly as all others. */
import { KubeObject, type Resource, untyped } from '@flotilla/api';
import { buildOpenDefinition } from '@flotilla/api/testing';
import { startApiServer } from '@flotilla/control-plane/servers';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countedCalls } from '../testing/counted-calls.ts';
import { type TestRelease, World } from '../testing/world-case.ts';

type Json = Readonly<Record<string, unknown>>;
const NS = 'openshift-cluster-version';
const GROUP = 'new.test';
const KINDS = ['Boat', 'Buoy'];

const definition = (kind: string) =>
  buildOpenDefinition({
    group: GROUP,
    kind,
    plural: `${kind.toLowerCase()}s`,
    scope: 'Namespaced',
    properties: { spec: { type: 'object', properties: { sails: { type: 'integer' }, oars: { type: 'integer' } } } },
  });
const object = (kind: string, name: string, spec: Json): Json => ({
  apiVersion: `${GROUP}/v1`,
  kind,
  metadata: { name, namespace: NS },
  spec,
});
/** Specs that somebody else makes Buoys with, by their names. */
const taken: Readonly<Record<string, Json>> = { extended: { oars: 2 }, other: { sails: 3, oars: 2 } };
const release: TestRelease = {
  version: '4.1.0',
  files: {
    // before their definitions, so that they wait
    '0000_10_a_00.json': [
      ...Array.from({ length: 20 }, (_, index) => object('Boat', `b${index}`, { sails: index })),
      ...Object.keys(taken).map((name) => object('Buoy', name, { sails: 1 })),
    ],
    '0000_20_a_00.json': KINDS.map((kind) => ({ ...definition(kind) })),
  },
};
const kindOf = (kind: string) => untyped(`${GROUP}/v1`, kind, `${kind.toLowerCase()}s`);

let world: World;
const calls: string[] = [];
beforeAll(async () => {
  world = await World.start(await startApiServer());
  const client = countedCalls(withSomebodyFaster(world.client), ({ verb, kind }) => calls.push(`${verb} ${kind}`));
  world.plays(world.run(release, [], { client }));
  await world.completed(release);
});
afterAll(async () => world?.[Symbol.asyncDispose]());

/** Has somebody else make each Buoy just before the operator does. */
function withSomebodyFaster(client: Client): Client {
  const before = async (kind: Resource, { metadata: { name } }: KubeObject): Promise<void> => {
    const spec = kind.kind === 'Buoy' && taken[name];
    if (spec) await client.apply(kind, KubeObject.parse(object('Buoy', name, spec)), { fieldManager: 'somebody' }).catch(() => undefined);
  };
  return new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name !== 'create' && name !== 'apply') return value.bind(target);
      return async (kind: Resource, made: KubeObject, ...rest: unknown[]) => {
        await before(kind, made);
        return Reflect.apply(value, target, [kind, made, ...rest]);
      };
    },
  });
}

const specOf = async (kind: string, name: string): Promise<unknown> => {
  const found = await world.client.get(kindOf(kind), { namespace: NS, name });
  return KubeObject.loose().parse(found ?? { metadata: { name } }).spec;
};

test('they are applied, because a server holds a POST of a new kind back for two seconds', () => {
  expect(calls.filter((call) => call.endsWith(' Boat') && !call.startsWith('list'))).toEqual(Array(20).fill('apply Boat'));
});

test.each(Object.keys(taken))('what somebody was faster with is as the release says, and has nothing more: %s', async (name) => {
  expect(calls.filter((call) => call === 'apply Buoy')).toHaveLength(2);
  expect(await specOf('Buoy', name)).toEqual({ sails: 1 });
});

test('nobody is asked why a kind is away whose definition is among the manifests', () => {
  expect(calls.filter((call) => call.includes('apiservices'))).toEqual([]);
});
