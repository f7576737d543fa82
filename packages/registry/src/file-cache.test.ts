import { mkdir, mkdtemp, readdir, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FileCache } from './file-cache.ts';

let root = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'flotilla-files-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const digest = (digit: string): string => `sha256:${digit.repeat(64)}`;
const files = new Map([
  ['manifests/a.yaml', Buffer.from('a')],
  ['release-manifests/b.yaml', Buffer.from('')],
]);

describe('files of images, kept by digest', () => {
  test('are read back as they were written', async () => {
    const cache = new FileCache({ folder: join(root, 'deep/cache') });
    expect(await cache.read(digest('a'))).toBeUndefined();
    await cache.write(digest('a'), files);
    expect(await cache.read(digest('a'))).toEqual(files);
    expect(await cache.read(digest('b'))).toBeUndefined();
  });

  test.each<{ name: string; harm: (entry: string) => Promise<void> }>([
    { name: 'a file has changed', harm: (entry) => writeFile(join(entry, 'files/manifests/a.yaml'), 'b') },
    { name: 'a file is cut', harm: (entry) => truncate(join(entry, 'files/manifests/a.yaml'), 0) },
    { name: 'a file is gone', harm: (entry) => rm(join(entry, 'files/manifests/a.yaml')) },
    { name: 'the list is gone', harm: (entry) => rm(join(entry, 'files.json')) },
    {
      name: 'the list is of another image',
      harm: (entry) => writeFile(join(entry, 'files.json'), `{"digest":"${digest('b')}","files":[]}`),
    },
    { name: 'the list is no list', harm: (entry) => writeFile(join(entry, 'files.json'), '[') },
  ])('count as not there when $name, and may be written again', async ({ harm }) => {
    const cache = new FileCache({ folder: root });
    await cache.write(digest('a'), files);
    await harm(join(root, 'a'.repeat(64)));
    expect(await cache.read(digest('a'))).toBeUndefined();
    await cache.write(digest('a'), files);
    expect(await cache.read(digest('a'))).toEqual(files);
  });

  test('a list that leads out of its folder is refused', async () => {
    const cache = new FileCache({ folder: root });
    await cache.write(digest('a'), files);
    const list = { digest: digest('a'), files: [{ path: '../../secret', size: 1, sha256: '' }] };
    await writeFile(join(root, 'a'.repeat(64), 'files.json'), JSON.stringify(list));
    await expect(cache.read(digest('a'))).rejects.toMatchObject({ code: 'FLOTILLA_REGISTRY_BAD_LAYER' });
  });

  test('are dropped when those of other images were used later', async () => {
    const cache = new FileCache({ folder: root, keep: 2 });
    for (const digit of ['a', 'b']) await cache.write(digest(digit), files);
    const long = new Date(Date.now() - 100_000);
    for (const digit of ['a', 'b']) await utimes(join(root, digit.repeat(64)), long, long);
    await cache.read(digest('a'));
    await cache.write(digest('c'), files);
    expect((await readdir(root)).sort()).toEqual(['a', 'c'].map((digit) => digit.repeat(64)));
  });

  test('pinned images stay, however many others are kept after them', async () => {
    const cache = new FileCache({ folder: root, keep: 2 });
    const pinned = new Set([digest('a')]);
    await cache.write(digest('a'), files, pinned);
    await utimes(join(root, 'a'.repeat(64)), new Date(0), new Date(0));
    for (const digit of ['b', 'c', 'd', 'e', 'f']) await cache.write(digest(digit), files, pinned);
    expect((await readdir(root)).sort()).toEqual(['a', 'f'].map((digit) => digit.repeat(64)));
  });

  test('all together stay below the bound of bytes, and what was used longest ago goes first', async () => {
    const cache = new FileCache({ folder: root, keep: 9, maxBytes: 250 });
    const large = new Map([['manifests/a.yaml', Buffer.alloc(100)]]);
    for (const [index, digit] of ['a', 'b', 'c'].entries()) {
      await cache.write(digest(digit), large);
      await utimes(join(root, digit.repeat(64)), new Date(index), new Date(index));
    }
    expect((await readdir(root)).sort()).toEqual(['b', 'c'].map((digit) => digit.repeat(64)));
  });

  test('files that do not fit beside pinned images are refused, and push nothing out', async () => {
    const cache = new FileCache({ folder: root, keep: 9, maxBytes: 250 });
    const large = new Map([['manifests/a.yaml', Buffer.alloc(100)]]);
    const pinned = new Set([digest('a'), digest('b')]);
    for (const digit of ['a', 'b']) await cache.write(digest(digit), large, pinned);
    await expect(cache.write(digest('c'), large, pinned)).rejects.toMatchObject({ code: 'FLOTILLA_REGISTRY_TOO_LARGE' });
    expect((await readdir(root)).sort()).toEqual(['a', 'b'].map((digit) => digit.repeat(64)));
    await cache.write(digest('c'), large, new Set([...pinned, digest('c')]));
    expect(await cache.read(digest('a'))).toEqual(large);
  });

  test('an entry that cannot be read back makes room', async () => {
    const cache = new FileCache({ folder: root, keep: 9 });
    await cache.write(digest('a'), files);
    await rm(join(root, 'a'.repeat(64), 'files.json'));
    await cache.write(digest('b'), files);
    expect(await readdir(root)).toEqual(['b'.repeat(64)]);
  });

  test('nothing else in the folder is touched, but what a killed writer left behind is', async () => {
    const abandoned = `.${crypto.randomUUID()}.tmp`;
    for (const name of [abandoned, 'other', '.hidden.tmp']) {
      await mkdir(join(root, name));
      await utimes(join(root, name), new Date(0), new Date(0));
    }
    await new FileCache({ folder: root, keep: 1 }).write(digest('a'), files);
    expect((await readdir(root)).sort()).toEqual(['.hidden.tmp', 'a'.repeat(64), 'other']);
  });

  test.each([
    { name: 'a path that leaves its folder', path: '../x', code: 'FLOTILLA_REGISTRY_BAD_LAYER' },
    { name: 'a file in place of a folder', path: 'manifests', code: 'FLOTILLA_REGISTRY_STORE_FAILED' },
  ])('$name is refused, and nothing stays', async ({ path, code }) => {
    const cache = new FileCache({ folder: root });
    await expect(cache.write(digest('a'), new Map([...files, [path, Buffer.from('x')]]))).rejects.toMatchObject({ code });
    expect(await readdir(root)).toEqual([]);
  });

  test('a name that is no digest is refused', async () => {
    await expect(new FileCache({ folder: root }).read('sha256:../../x')).rejects.toMatchObject({ code: 'FLOTILLA_REGISTRY_BAD_REFERENCE' });
  });
});
