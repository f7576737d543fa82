import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Registry, startRegistry } from '@flotilla/control-plane/servers';
import { parseImageReference, RegistryClient, readLayerFiles, resolveImage } from '@flotilla/registry';
import { IMAGE_REFERENCES_PATH, parseImageReferences, readCatalogue } from '@flotilla/release';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildReleaseFixture, distinctBytes, type ReleaseFixture } from '../support/release-fixture.ts';

const TOTAL = 8_000_000;
const NAME = 'registry.example.test';

let registry: Registry;
let pushHost: string;
let client: RegistryClient;
let cacheFolder: string;
let fixture: ReleaseFixture;

const build = (seed: number, folder = cacheFolder) =>
  buildReleaseFixture({ client, pushHost, registryName: NAME, seed, totalBytes: TOTAL, cacheFolder: folder });
/** The same image, by the address it is served at here. */
const local = (pullSpec: string) => parseImageReference(pullSpec.replace(NAME, pushHost));

beforeAll(async () => {
  registry = await startRegistry();
  pushHost = new URL(registry.url).host;
  client = new RegistryClient({ insecureHosts: [pushHost] });
  cacheFolder = await mkdtemp(join(tmpdir(), 'flotilla-fixture-'));
  fixture = await build(1);
});

afterAll(async () => {
  await client?.close();
  await registry?.stop();
  if (cacheFolder) await rm(cacheFolder, { recursive: true, force: true });
});

test('the release names its components by digest, and every one of them is there', async () => {
  const release = await resolveImage(client, local(fixture.release.pullSpec));
  const files = await readLayerFiles(client, release, { paths: [IMAGE_REFERENCES_PATH] });
  const references = parseImageReferences(files.get(IMAGE_REFERENCES_PATH) ?? Buffer.alloc(0), fixture.release.pullSpec);
  expect(references.images).toEqual(fixture.components.map(({ name, pullSpec }) => ({ name, pullSpec, kind: 'DockerImage' })));
  expect(references.version).toBe('4.99.0');
  for (const { pullSpec, layers } of fixture.components) {
    const { manifest } = await resolveImage(client, local(pullSpec));
    expect(manifest.layers.map(({ digest, size }) => ({ digest, size }))).toEqual(layers);
  }
});

test('fourteen images of different sizes share layers, and are together as large as asked for', () => {
  expect(fixture.components).toHaveLength(14);
  expect(new Set(fixture.components.map((image) => distinctBytes([image]))).size).toBe(14);
  expect(new Set(fixture.components.map(({ layers }) => layers[0]?.digest)).size).toBe(1);
  expect(Math.abs(fixture.releaseBytes - TOTAL) / TOTAL).toBeLessThan(0.15);
});

test('the index has the heads of its channels, without the images of older bundles', async () => {
  const index = await resolveImage(client, local(fixture.operators.index.pullSpec));
  const files = await readLayerFiles(client, index, { match: (path) => path.startsWith('configs/') });
  const wanted = fixture.operators.packagesAndChannels.map((text) => text.split(':'));
  const catalogue = await readCatalogue(
    [...files].map(([path, content]) => ({ path, content })),
    wanted.map(([name]) => name ?? ''),
  );
  const related = wanted.flatMap(([name = '', channel = '']) => catalogue.head({ package: name, channel })?.images ?? []);
  expect(related.map((image) => image.pullSpec).toSorted()).toEqual(fixture.operators.images.map((image) => image.pullSpec).toSorted());
  for (const { pullSpec } of [...fixture.operators.images, ...fixture.operators.unneeded]) await resolveImage(client, local(pullSpec));
  expect(fixture.operators.unneeded).toHaveLength(2);
});

test('the same seed gives the same images, another one others; nothing is sent twice', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-fixture-'));
  try {
    const again = await build(1, folder);
    expect(again).toEqual({ ...fixture, pushedBytes: 0 });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const other = await build(2);
  const [mine, theirs] = [fixture, other].map(
    (one) => new Set(one.components.flatMap((image) => image.layers.map((layer) => layer.digest))),
  );
  // The program that they all run is the one layer in common.
  expect([...(mine ?? [])].filter((digest) => theirs?.has(digest))).toHaveLength(1);
});
