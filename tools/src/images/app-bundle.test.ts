import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { bundleApp, licenceTexts } from './app-bundle.ts';

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'flotilla-bundle-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function write(sources: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(sources)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}

/** Writes a small program and bundles it; resolves to path and text of every file. */
async function bundle(sources: Record<string, string>): Promise<Record<string, string>> {
  await write(sources);
  const { files } = await bundleApp(root, { entry: 'main.ts', user: '0:0', description: '' });
  return Object.fromEntries(
    files.map(({ path, content }) => [path, typeof content === 'object' && 'bytes' in content ? String(content.bytes) : '']),
  );
}

const locating = (file: string) => `console.log(new URL('${file}', import.meta.url));`;

test('a program becomes one module without paths of this machine', async () => {
  const files = await bundle({ 'main.ts': "import { x } from './lib/x.ts'; console.log(x);", 'lib/x.ts': 'export const x: number = 42;' });
  expect(Object.keys(files)).toEqual(['app/main.mjs']);
  expect(files['app/main.mjs']).toContain('42');
  expect(files['app/main.mjs']).not.toContain(root);
});

test('the licence texts of packages stand under their names, and a package without one is named with its licence', async () => {
  await write({
    'node_modules/a/package.json': '{ "name": "a", "version": "1.2.3", "license": "MIT" }',
    'node_modules/a/LICENSE.md': 'Permission is granted',
    'node_modules/a/NOTICE': 'made by a',
    'node_modules/a/license-checker.js': 'no text',
    'node_modules/b/package.json': '{ "name": "b", "version": "4.5.6", "license": "LGPL-3.0+" }',
  });
  const text = await licenceTexts(root, ['node_modules/a', 'node_modules/b']);
  expect(text).toBe('==== a 1.2.3 (MIT)\n\nPermission is granted\n\nmade by a\n\n==== b 4.5.6 (LGPL-3.0+)\n');
});

test('what is imported later lies beside the program', async () => {
  const files = await bundle({ 'main.ts': "console.log((await import('./late.ts')).x);", 'late.ts': 'export const x = 42;' });
  expect(Object.keys(files)).toEqual(['app/main.mjs', expect.stringMatching(/^app\/late-\w+\.mjs$/)]);
  expect(files['app/main.mjs']).not.toContain('42');
});

test('a file that a module finds by path lies beside the bundle under the same words', async () => {
  const files = await bundle({
    'main.ts': "import './store/cri.ts';",
    'store/cri.ts': locating('./cri.proto'),
    'store/cri.proto': 'syntax',
  });
  expect(files['app/cri.proto']).toBe('syntax');
});

test.each([
  { name: 'two files of one name', second: './data.bin', why: /another file has its place/ },
  { name: 'a file above its module', second: '../data.bin', why: /outside \/app/ },
])('$name are refused', async ({ second, why }) => {
  const sources = { 'main.ts': "import './a/a.ts'; import './b/b.ts';", 'a/a.ts': locating('./data.bin'), 'b/b.ts': locating(second) };
  await expect(bundle({ ...sources, 'a/data.bin': 'a', 'b/data.bin': 'b', 'data.bin': 'c' })).rejects.toThrow(why);
});

test('a bundle knows the packages whose code it holds, each in its own folder, and none that was shaken off', async () => {
  const module = (name: string) => ({ [`${name}/package.json`]: '{"type":"module","sideEffects":false,"main":"i.js"}' });
  const sources = {
    'main.ts': "import { a } from '@x/a'; import { b } from 'b'; import { c } from 'c'; console.log(a, c);",
    ...module('node_modules/@x/a'),
    'node_modules/@x/a/i.js': "export { b as a } from 'b';",
    ...module('node_modules/@x/a/node_modules/b'),
    'node_modules/@x/a/node_modules/b/i.js': 'export const b = () => process.pid;',
    ...module('node_modules/b'),
    'node_modules/b/i.js': 'export const b = () => process.ppid;',
    ...module('node_modules/c'),
    'node_modules/c/i.js': 'export const c = () => process.title;',
  };
  await write(sources);
  const { packageFolders } = await bundleApp(root, { entry: 'main.ts', user: '0:0', description: '' });
  expect(packageFolders).toEqual(['node_modules/@x/a/node_modules/b', 'node_modules/c']);
});

test('a bundle has one of the languages of zod', async () => {
  const root = join(import.meta.dirname, '../../..');
  const { files } = await bundleApp(root, { entry: 'packages/api/src/kubernetes.ts' });
  const text = files.map(({ content }) => (typeof content === 'object' && 'bytes' in content ? String(content.bytes) : '')).join('');
  expect(text).toContain('Invalid input: expected');
  expect(text).not.toContain('Ongeldige invoer');
});

test('a missing module and a missing program are named', async () => {
  await expect(bundle({ 'main.ts': "import './gone.ts';" })).rejects.toMatchObject({
    code: 'FLOTILLA_IMAGES_BUNDLE',
    cause: { message: expect.stringContaining('gone.ts') },
  });
  await expect(bundleApp(root, { entry: 'apps/none/main.ts', user: '0:0', description: '' })).rejects.toThrow(
    'apps/none/main.ts does not exist',
  );
});
