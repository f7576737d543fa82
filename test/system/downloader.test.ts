import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { REGISTRY_LOGIN, startRegistry } from '@flotilla/control-plane/servers';
import { OciLayout, parseImageReference, pushImage, RegistryClient, readLayerFiles, resolveImage } from '@flotilla/registry';
import { writeImage, writeIndex, writeLayer } from '@flotilla/registry/testing';
import { expect, test } from 'vitest';
import { runSeeds, type SeededRun, startDownloaderFixture } from '../bench/downloader-run.ts';

test('four seeded runs with cuts and kills end with every digest right and at most 2 % served in vain', async () => {
  await using fixture = await startDownloaderFixture();
  const { runs, failed } = await runSeeds(fixture, { seeds: 4, parallel: 4 });
  expect(failed).toEqual([]);
  const total = (pick: (run: SeededRun) => number) => runs.reduce((sum, run) => sum + pick(run), 0);
  expect(total((run) => run.kills)).toBeGreaterThan(1);
  expect(total((run) => run.cuts)).toBeGreaterThan(3);
  expect(total((run) => run.served) / total((run) => run.needed)).toBeLessThanOrEqual(1.02);
});

test('an image goes into a registry with a login once, is mounted into a second repository, and comes back file by file', async () => {
  await using registry = await startRegistry({ auth: true });
  const directory = await mkdtemp(join(tmpdir(), 'flotilla-push-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const host = new URL(registry.url).host;
  const client = stack.use(new RegistryClient({ insecureHosts: [host], credentials: { auths: { [host]: { ...REGISTRY_LOGIN } } } }));
  const layout = await OciLayout.open(join(directory, 'layout'));
  const files = [
    { path: 'bin/tool', mode: 0o755, content: { bytes: 'hello' } },
    { path: 'link', content: { symlink: 'bin/tool' } },
  ];
  const layer = await writeLayer(layout, { content: { files }, compression: 'zstd' });
  const images = [];
  for (const architecture of ['amd64', 'arm64'])
    images.push(await writeImage(layout, { layers: [layer], platform: { os: 'linux', architecture } }));
  const image = await writeIndex(layout, images);
  await layout.addImage(image, 'example.com/team/tool:1');

  const [first, second] = [parseImageReference(`${host}/one/tool:1`), parseImageReference(`${host}/two/tool:1`)];
  const push = { client, store: layout, image };
  expect(await pushImage({ ...push, reference: first })).toMatchObject({ uploaded: 3, mounted: 0 });
  expect(await pushImage({ ...push, reference: first })).toMatchObject({ uploaded: 0, mounted: 0 });
  expect(await pushImage({ ...push, reference: second, mountFrom: ['one/tool'] })).toMatchObject({ uploaded: 0, mounted: 3 });

  const resolved = await resolveImage(client, second, { platform: { os: 'linux', architecture: 'arm64' } });
  expect([resolved.digest, resolved.top.digest]).toEqual([images[1]?.digest, image.digest]);
  const read = await readLayerFiles(client, resolved, { match: () => true });
  expect([...read].map(([path, bytes]) => [path, bytes.toString()])).toEqual([
    ['bin/tool', 'hello'],
    ['link', 'hello'],
  ]);
  await using anonymous = new RegistryClient({ insecureHosts: [host] });
  await expect(anonymous.fetchManifest(second)).rejects.toMatchObject({ code: 'FLOTILLA_REGISTRY_UNAUTHORIZED', status: 401 });
});
