import { randomBytes } from 'node:crypto';
import { PullerExit } from '@flotilla/api/ran';
import { currentPlatform, parseImageReference, pushImage, RegistryClient } from '@flotilla/registry';
import { MemoryBlobs, writeImage, writeLayer } from '@flotilla/registry/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canRunContainerd, startNode, VERSIONS } from './containerd-node.ts';
import { hostOf, type PullerWorld, REGISTRY_NAME, startPullerWorld } from './image-puller-fixture.ts';

/** A runtime asks for tags by itself, so that a tag may mean another image by then than when the puller listed it. */

let world: PullerWorld;
beforeAll(async () => {
  world = await startPullerWorld('puller-tags', [100_000]);
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** Pushes images of one layer each; `move` has the tag mean the next one. */
async function movingTag(repository: string, count: number) {
  const store = new MemoryBlobs();
  const reference = parseImageReference(`${hostOf(world.registry.url)}/${repository}:v1`);
  const images = await Promise.all(
    Array.from({ length: count }, async () => {
      const content = { files: [{ path: 'file', content: { bytes: randomBytes(200_000) } }] };
      const layer = await writeLayer(store, { content, compression: 'gzip', level: 1 });
      return { layer: layer.descriptor, image: await writeImage(store, { layers: [layer], platform: currentPlatform() }) };
    }),
  );
  const move = async (to: number): Promise<void> => {
    await using client = new RegistryClient({ insecureHosts: [reference.host] });
    const image = images[to]?.image ?? expect.fail(`no image ${to}`);
    await pushImage({ client, store, image, reference });
  };
  await move(0);
  return { images, move, pullSpec: `${REGISTRY_NAME}/${repository}:v1`, path: `/v2/${repository}/manifests/v1` };
}

describe.skipIf(!canRunContainerd).each(VERSIONS)('with containerd $version', ({ version, program, snapshotter }) => {
  const options = { program: '', snapshotter };
  beforeAll(async () => {
    options.program = await program();
  }, 600_000);

  test('a tag that moves before the runtime pulls it is pulled as it is then, each layer once', { timeout: 120_000 }, async () => {
    await using node = await startNode(world, options);
    const { images, move, pullSpec, path } = await movingTag(`moving/${version.length}`, 2);
    let moves = 0;
    node.registry.beforeRuntime = async (request) => {
      if (request.includes(path) && moves++ === 0) await move(1);
    };
    const run = await node.run({}, { additionalImages: pullSpec });
    expect(run.exitCode, run.log).toBe(PullerExit.done);
    expect(run.last).toMatchObject({ imagesDone: 1, imagesTotal: 1, failures: [] });
    expect(run.last.bytesDone).toBe(run.last.bytesTotal);
    expect(run.log).toContain('Listing images again: a tag has moved');
    expect(await node.ctr('images', 'ls', `name==${pullSpec}`)).toContain(images[1]?.image.digest);
    for (const { layer } of images) {
      const sent = node.registry.transfers.filter(({ digest }) => digest === layer.digest).reduce((sum, { bytes }) => sum + bytes, 0);
      expect(sent).toBe(layer.size);
    }
  });
});
