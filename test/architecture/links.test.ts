import { readdir, readFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { anchorsOf, brokenLinks } from './links.ts';

const root = resolve(import.meta.dirname, '../..');

test('every link of every document leads to a file, and to an anchor that the file has', async () => {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((file) => !/(^|\/)(node_modules|\.git)\//.test(file));
  const documents = files.filter((file) => file.endsWith('.md'));
  expect(documents.length).toBeGreaterThan(40);
  const texts = await Promise.all(
    documents.map(async (file): Promise<[string, string]> => [file, await readFile(join(root, file), 'utf8')]),
  );
  expect(brokenLinks(new Map(texts), new Set(files))).toEqual([]);
});

test('broken links are found, and links in code are none', () => {
  const documents = new Map([
    [
      'a/one.md',
      '# One thing\n\n[good](../two.md#b-c) [here](#one-thing) [gone](three.md) [no anchor](../two.md#d) `[x](y)`\n\n```\n[x](y)\n```\n',
    ],
    ['two.md', '# B, `c`!\n\n## B c\n\n<a id="named"></a>'],
  ]);
  expect(brokenLinks(documents, new Set(documents.keys()))).toEqual(['a/one.md: three.md', 'a/one.md: ../two.md#d']);
  expect([...anchorsOf('# B, `c`!\n\n## B c\n\n<a id="named"></a>')]).toEqual(['named', 'b-c', 'b-c-1']);
});
