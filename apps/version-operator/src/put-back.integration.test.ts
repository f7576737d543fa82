import { Event } from '@flotilla/api/core';
import { startApiServer } from '@flotilla/control-plane/servers';
import { createLogger } from '@flotilla/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { configMap, imageOf, kinds, type RunningOperator, type TestRelease, World } from '../testing/world-case.ts';

type Json = Readonly<Record<string, unknown>>;

const NAMESPACE = 'openshift-twice';
const namespace = (name: string, labels: Json = {}): Json => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });
const gone = (object: Json): Json => ({
  ...object,
  metadata: { ...Object(object.metadata), annotations: { 'release.openshift.io/delete': 'true' } },
});
const releaseOf = (version: string): TestRelease => ({
  version,
  files: {
    // The files between need the namespace, and the last file decides its final content.
    '0000_10_first_00_namespace.json': [namespace(NAMESPACE, { from: 'first' })],
    '0000_20_first_00_config.json': [configMap('twice', { from: 'first' }, {}, NAMESPACE), configMap('ended', {}, {}, NAMESPACE)],
    '0000_30_second_00_config.json': [configMap('twice', { from: 'second' }, {}, NAMESPACE), gone(configMap('ended', {}, {}, NAMESPACE))],
    '0000_40_second_00_namespace.json': [namespace(NAMESPACE, { from: 'second' })],
  },
});
const [first, second] = [releaseOf('4.1.0'), releaseOf('4.1.1')];
const ref = { namespace: NAMESPACE, name: 'twice' };
const Line = z.looseObject({ msg: z.string(), object: z.string().optional() });

let world: World;
let operator: RunningOperator;
const said: z.output<typeof Line>[] = [];
const told = (text: string) => said.filter(({ msg }) => msg.includes(text));
const events = async () =>
  (await world.client.list(Event, { namespace: 'openshift-cluster-version' })).items.filter(({ reason }) => reason === 'ObjectPutBack');
const data = async () => (await world.client.get(kinds.configMap, ref))?.data;
const putBack = () => world.until(async () => Object(await data()).from === 'second');

beforeAll(async () => {
  world = await World.start(await startApiServer());
  const logger = createLogger({
    name: 'test',
    level: 'debug',
    destination: { write: (line) => void said.push(Line.parse(JSON.parse(line))) },
  });
  operator = world.run(first, [second], { logger, passEveryMs: 100 });
  await world.completed(first);
});
afterAll(async () => {
  await operator?.stop();
  await world?.[Symbol.asyncDispose]();
});

test('an object that is in several files is as the last of them says, is told of once and written no more', {
  timeout: 90_000,
}, async () => {
  await world.ask({ desiredUpdate: { version: second.version, image: imageOf(second) } });
  await world.completed(second);
  await putBack();
  const before = (await world.client.get(kinds.configMap, ref))?.metadata.resourceVersion;
  const passes = told('Applied the release').length;
  await world.until(async () => told('Applied the release').length >= passes + 10);
  expect((await world.client.get(kinds.configMap, ref))?.metadata.resourceVersion).toBe(before);
  expect((await world.client.get(kinds.namespace, { name: NAMESPACE }))?.metadata.labels).toMatchObject({ from: 'second' });
  expect(await world.client.get(kinds.configMap, { ...ref, name: 'ended' })).toBeUndefined();
  const doubled = told('in several files');
  expect(doubled).toHaveLength(6);
  expect(doubled).toContainEqual(
    expect.objectContaining({
      object: `Group: "" Kind: "ConfigMap" Namespace: "${NAMESPACE}" Name: "twice"`,
      files: ['release-manifests/0000_20_first_00_config.json:1', 'release-manifests/0000_30_second_00_config.json:1'],
    }),
  );
});

test('what somebody changes is put back, and told once with the field and who wrote it', async () => {
  said.length = 0;
  const change = () =>
    world.client.request('PATCH', `/api/v1/namespaces/${NAMESPACE}/configmaps/twice?fieldManager=by-hand`, {
      body: { data: { from: 'hand' } },
      contentType: 'application/merge-patch+json',
    });
  for (let times = 0; times < 3; times++) {
    await change();
    await putBack();
  }
  const [line, ...others] = told('Putting back');
  expect(line).toMatchObject({ kind: 'ConfigMap', object: `${NAMESPACE}/twice`, fields: ['data.from changed'], managers: ['by-hand'] });
  expect(others).toEqual([]);
  const note = `configmap "${NAMESPACE}/twice" is put back as the release has it: data.from changed (written by by-hand)`;
  await world.until(async () => (await events()).length > 0);
  expect((await events()).map((event) => event.note)).toEqual([note]);
});

test('what somebody deletes is made anew, and told', async () => {
  said.length = 0;
  await world.client.delete(kinds.configMap, ref);
  await putBack();
  expect(told('Putting back')).toMatchObject([{ kind: 'ConfigMap', object: `${NAMESPACE}/twice`, deleted: true }]);
});
