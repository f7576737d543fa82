import { KubeObject } from '@flotilla/api';
import { startApiServer } from '@flotilla/control-plane/servers';
import { expect, test } from 'vitest';
import { configMap, imageOf, kinds, type TestRelease, World } from '../testing/world-case.ts';

const own = { namespace: 'openshift-cluster-version' };
const mark = { ...own, name: 'mark' };
/** The second release deletes what the first brings. */
const releaseOf = (version: string, more = {}): TestRelease => ({
  version,
  files: { '0000_40_late_00_config.json': [configMap('old', { a: '1' }, more), configMap('mark', { version })] },
});
const first = releaseOf('4.1.0');
const second = releaseOf('4.2.0', { annotations: { 'release.openshift.io/delete': 'true' } });

const ask = (world: World, release: TestRelease, force = false) =>
  world.ask({ desiredUpdate: { version: release.version, image: imageOf(release), force } });
const isRefused = async (world: World) => (await world.condition('ReleaseAccepted')).startsWith('False PreconditionChecks: ');
const versions = async (world: World) => (await world.version())?.status?.history?.map(({ version }) => version);
const drift = (world: World) => world.client.patch(kinds.configMap, mark, { data: { version: 'drifted' } }, { type: 'merge' });
/** The release that an operator which was just started applies. */
const mended = (world: World) =>
  world.until(async () => {
    const { data } = Object(await world.client.get(kinds.configMap, mark));
    return data.version !== 'drifted' && String(data.version);
  });

test('goes back to the release it began with by force alone, also after a restart, and deletes again afterwards', async () => {
  await using world = await World.start(await startApiServer());
  const old = () => world.client.get(kinds.configMap, { ...own, name: 'old' });
  await using before = world.run(first, [first, second]);
  await world.completed(first);
  await ask(world, second);
  await world.completed(second);
  await ask(world, first);
  await world.until(() => isRefused(world));
  await before.stop();
  await drift(world);
  await using _after = world.run(first, [first, second]);
  expect(await mended(world)).toBe('4.2.0');
  await world.until(() => isRefused(world));
  expect(await versions(world)).toEqual(['4.2.0', '4.1.0']);
  await ask(world, first, true);
  const [newest] = (await world.completed(first)).status?.history ?? [];
  expect(newest?.acceptedRisks).toContain('Forced through blocking failures');
  expect(await old()).toBeDefined();
  await ask(world, second);
  await world.completed(second);
  expect(await old()).toBeUndefined();
});

test.each([
  { name: 'the release that the cluster runs', given: first },
  { name: 'the release that is asked for', given: second },
])('an operator that is started with $name knows what came to speak against an update while none ran', async ({ given }) => {
  await using world = await World.start(await startApiServer());
  await using before = world.run(first);
  await world.completed(first);
  await before.stop();
  await drift(world);
  await world.client.create(kinds.namespace, { metadata: { name: 'openshift-config-managed' } });
  await world.client.create(
    kinds.configMap,
    KubeObject.parse(configMap('admin-gates', { 'ack-4.1-apis': 'Look at your APIs.' }, {}, 'openshift-config-managed')),
  );
  await ask(world, second);
  await using _after = world.run(given, [first, second]);
  expect(await mended(world)).toBe('4.1.0');
  await world.until(() => isRefused(world));
  expect(await world.condition('ReleaseAccepted')).toContain('Look at your APIs.');
  expect(await versions(world)).toEqual(['4.1.0']);
});
