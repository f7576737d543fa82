/** The definition of ClusterVersion that a cluster serves is older than the operator, or changes during an update: its status is written. */
import { KubeObject } from '@flotilla/api';
import type { ClusterVersion } from '@flotilla/api/config';
import { Event } from '@flotilla/api/core';
import { startApiServer } from '@flotilla/control-plane/servers';
import { expect, test } from 'vitest';
import { capabilitiesOf, clusterVersionDefinition, definitionsOf } from '../testing/served-definitions.ts';
import { configMap, imageOf, kinds, type TestRelease, World } from '../testing/world-case.ts';

type Json = Readonly<Record<string, unknown>>;

const release = (version: string, files: Readonly<Record<string, readonly Json[]>> = {}): TestRelease => ({
  version,
  files: { '0000_10_a_00_config.json': [configMap('release', { version })], ...files },
});
const [first, second] = [release('4.20.1'), release('4.20.2')];

const ask = async (world: World, { version, ...files }: TestRelease): Promise<ClusterVersion> => {
  await world.ask({ desiredUpdate: { version, image: imageOf({ version, ...files }) } });
  return world.completed({ version, ...files });
};
const historyOf = ({ status }: ClusterVersion) => status?.history?.map(({ version, state }) => `${version} ${state}`);
const serve = (world: World, minor: number) =>
  world.client.apply(kinds.definition, KubeObject.parse(clusterVersionDefinition(minor)), { fieldManager: 'test', force: true });

/** Conditions of a cluster that is as it should be. */
async function isWell(world: World, { version }: TestRelease): Promise<boolean> {
  const said = await Promise.all(['Available', 'Failing', 'Progressing'].map((type) => world.condition(type)));
  return said.join('\n') === `True : Done applying ${version}\nFalse : \nFalse : Cluster version is ${version}`;
}

const minors = process.env.FLOTILLA_ALL_DEFINITIONS ? Array.from({ length: 13 }, (_, index) => index + 11) : [12, 16, 23];

test.each(minors)('with the definition of 4.%i an install, an update and the way back are told to their ends', async (minor) => {
  await using world = await World.start(await startApiServer(), definitionsOf(minor));
  await using _operator = world.run(first, [first, second]);
  await world.completed(first);
  await world.until(() => isWell(world, first));
  await ask(world, second);
  await world.until(() => isWell(world, second));
  const ended = await ask(world, first);
  await world.until(() => isWell(world, first));
  expect(historyOf(ended)).toEqual(['4.20.1 Completed', '4.20.2 Completed', '4.20.1 Completed']);
  const taken = new Set(capabilitiesOf(minor));
  const known = new Set(capabilitiesOf(18));
  expect(new Set(ended.status?.capabilities?.knownCapabilities)).toEqual(taken.intersection(known));
  expect(new Set(ended.status?.capabilities?.enabledCapabilities)).toEqual(taken.intersection(known));
});

test('a value that the server does not take is told in one event, and tried again when a definition takes it', async () => {
  await using world = await World.start(await startApiServer(), definitionsOf(16));
  await using _operator = world.run(first, [second]);
  await world.completed(first);
  const notes = async () => {
    const { items } = await world.client.list(Event, { namespace: 'openshift-cluster-version' });
    return items.filter(({ reason }) => reason === 'StatusValueRefused').map(({ note }) => note);
  };
  await world.until(async () => (await notes()).length > 0);
  const [note, ...others] = await notes();
  expect(others.length).toBeLessThanOrEqual(1);
  expect(note).toContain('OperatorLifecycleManagerV1');
  expect(note).toContain('status.capabilities.');
  await serve(world, 18);
  const ended = await ask(world, second);
  expect(ended.status?.capabilities?.knownCapabilities).toContain('OperatorLifecycleManagerV1');
});

test('an update that replaces the definition by a narrower one ends, and so does the way back', async () => {
  const [wide, narrow] = [18, 12].map((minor) => ({ '0000_20_b_00_definition.json': [{ ...clusterVersionDefinition(minor) }] }));
  const [newer, older] = [release('4.18.1', wide), release('4.18.2', narrow)];
  await using world = await World.start(await startApiServer(), definitionsOf(18));
  await using _operator = world.run(newer, [newer, older]);
  await world.completed(newer);
  await ask(world, older);
  await world.until(() => isWell(world, older));
  const ended = await ask(world, newer);
  await world.until(() => isWell(world, newer));
  expect(historyOf(ended)).toEqual(['4.18.1 Completed', '4.18.2 Completed', '4.18.1 Completed']);
});
