/** `observedGeneration` is that of the spec which has taken effect: an edit whose release is on its way, refused or not found has not. */
import { startApiServer } from '@flotilla/control-plane/servers';
import { UpdateError } from '@flotilla/release';
import { expect, test } from 'vitest';
import { configMap, filesOf, imageOf, type TestRelease, World } from '../testing/world-case.ts';

const release = (version: string): TestRelease => ({ version, files: { '0000_10_a_00_config.json': [configMap('release', { version })] } });
const [first, second] = [release('4.1.0'), release('4.1.1')];

const ask = (world: World, { version, ...more }: TestRelease) =>
  world.ask({ desiredUpdate: { version, image: imageOf({ version, ...more }) } });
/** Distance of the observed generation behind the one asked for. */
async function behind(world: World): Promise<number> {
  const { metadata, status } = (await world.version()) ?? {};
  return (metadata?.generation ?? 0) - (status?.observedGeneration ?? 0);
}
const says = (world: World, type: string, text: string) => world.until(async () => (await world.condition(type)).startsWith(text));

test('an edit is observed when the release that it asks for is applied, and not while that is fetched', async () => {
  const fetched = Promise.withResolvers<void>();
  const source = () => ({
    retrieve: async () => {
      await fetched.promise;
      return { files: filesOf(second), verified: true, acceptedRisks: '' };
    },
    prefetch: async () => undefined,
  });
  await using world = await World.start(await startApiServer());
  await using _operator = world.run(first, [], { source });
  await world.completed(first);
  await world.until(async () => (await behind(world)) === 0);
  await ask(world, second);
  await says(world, 'ReleaseAccepted', 'Unknown RetrievePayload');
  expect(await behind(world)).toBe(1);
  fetched.resolve();
  await world.completed(second);
  await world.until(async () => (await behind(world)) === 0);
});

test('an edit that is refused is not observed, and one that takes it back is', async () => {
  const source = () => ({
    retrieve: async () => {
      throw new UpdateError({ reason: 'UpdatePayloadRetrievalFailed', message: 'nobody has it' });
    },
    prefetch: async () => undefined,
  });
  await using world = await World.start(await startApiServer());
  await using _operator = world.run(first, [], { source });
  await world.completed(first);
  await ask(world, second);
  await says(world, 'ReleaseAccepted', 'False RetrievePayload');
  expect(await behind(world)).toBe(1);
  await world.ask({ desiredUpdate: null });
  await world.until(async () => (await behind(world)) === 0);
});

test('a version that no update has any more is told, with the image that it had', async () => {
  await using world = await World.start(await startApiServer());
  await using _operator = world.run(first, [second]);
  await world.completed(first);
  await ask(world, second);
  await world.completed(second);
  await world.ask({ desiredUpdate: { version: '4.1.0', image: null } });
  await says(world, 'ReleaseAccepted', 'False RetrievePayload');
  const said = await world.condition('ReleaseAccepted');
  expect(said).toContain('no available update has version "4.1.0", which this cluster ran before');
  expect(said).toContain(`set spec.desiredUpdate.image to "${imageOf(first)}"`);
  expect(await behind(world)).toBe(1);
});
