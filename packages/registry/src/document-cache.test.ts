import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DocumentCache } from './document-cache.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flotilla-documents-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const bytes = Buffer.from('{"a":1}');
const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const file = () => join(folder, digest.slice(7));

test('what was put is there for the next one, and only that', async () => {
  expect(await new DocumentCache({ folder }).putBlob(bytes)).toEqual({ digest, size: bytes.length });
  const next = new DocumentCache({ folder });
  expect(await next.has(digest)).toBe(true);
  expect(await next.readBlob(digest, 100)).toEqual(bytes);
  expect(await next.has(`sha256:${'0'.repeat(64)}`)).toBe(false);
  await expect(next.readBlob(digest, 3)).rejects.toMatchObject({ code: 'FLOTILLA_REGISTRY_BAD_LAYOUT' });
});

test.each([
  ['another content', () => writeFile(file(), '{"a":2}')],
  ['a cut one', () => truncate(file(), 3)],
  ['nothing', () => rm(file())],
])('with %s on disk it is not there, and may be put again', async (_, damage) => {
  const cache = new DocumentCache({ folder });
  await cache.putBlob(bytes);
  await damage();
  expect(await cache.has(digest)).toBe(false);
  await cache.putBlob(bytes);
  expect(await cache.has(digest)).toBe(true);
});

test('a folder that cannot be written costs nothing but the cache', async () => {
  const blocked = join(folder, 'file');
  await writeFile(blocked, '');
  await using cache = new DocumentCache({ folder: blocked });
  expect(await cache.putBlob(bytes)).toEqual({ digest, size: bytes.length });
  expect(await cache.has(digest)).toBe(false);
});

test('beyond the bound the least recently used go, with what killed writers left', async () => {
  const contents = ['one', 'two', 'six'].map((text) => Buffer.from(text));
  {
    await using cache = new DocumentCache({ folder, maxBytes: 6 });
    for (const [at, content] of contents.entries()) {
      const put = await cache.putBlob(content);
      await utimes(join(folder, put.digest.slice(7)), at, at);
    }
    await writeFile(join(folder, '.00000000-0000-0000-0000-000000000000.tmp'), 'x');
    await utimes(join(folder, '.00000000-0000-0000-0000-000000000000.tmp'), 1, 1);
  }
  const kept = contents.slice(1).map((content) => createHash('sha256').update(content).digest('hex'));
  expect((await readdir(folder)).toSorted()).toEqual(kept.toSorted());
});
