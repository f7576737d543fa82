import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readStorage } from './stored-content.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flotilla-storage-'));
  await mkdir(join(folder, 'overlay-layers'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const put = (text: string) => writeFile(join(folder, 'overlay-layers/layers.json'), text);
const read = () => readStorage(join(folder, 'overlay-images'));

test('layers of a storage are there by both their digests, but for one that is being written', async () => {
  const layers = [
    { id: '1', 'compressed-diff-digest': 'sha256:a', 'diff-digest': 'sha256:b' },
    { id: '2', 'compressed-diff-digest': 'sha256:c', flags: { incomplete: true } },
    { id: '3', flags: null },
  ];
  await put(JSON.stringify(layers));
  const { blobs, snapshots, unsure } = await read();
  expect([...blobs]).toEqual(['sha256:a', 'sha256:b']);
  expect({ snapshots, unsure }).toEqual({ snapshots: undefined, unsure: undefined });
});

test.each([
  ['is not there', async () => undefined],
  ['is being written', () => put('[{"id":')],
  ['is another file', () => put('{"layers":1}')],
])('where the list %s more may be there than is seen', async (_, prepare) => {
  await prepare();
  expect(await read()).toMatchObject({ blobs: new Set(), unsure: expect.stringContaining('flotilla.io/runtime-storage') });
});

test.each([undefined, '/var/lib/docker', ''])('so it is with a runtime of images in %j', async (place) => {
  expect((await readStorage(place)).unsure).toBeDefined();
});
