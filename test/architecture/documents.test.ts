import { readdir, readFile } from 'node:fs/promises';
import { join, posix, relative, resolve, sep } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { COLUMNS, MARKERS, rowOf, tableLine, withTable } from '../bench/sizing-table.ts';

/**
 * Paths that a document names and the repository does not have: TypeScript files, and whatever begins with one of the top folders.
 * A bare file name has to be that of some file; a path may begin at the root, at the document's folder or at any folder above a file.
 */
function missingPaths(document: string, text: string, files: readonly string[]): string[] {
  const folders = new Set(files.flatMap((file) => file.split('/').map((_, at, parts) => parts.slice(0, at + 1).join('/'))));
  const known = new Set([...folders].map((path) => `/${path}`));
  const exists = (path: string): boolean =>
    folders.has(path) || folders.has(posix.join(posix.dirname(document), path)) || [...known].some((each) => each.endsWith(`/${path}`));
  return [...new Set(pathsIn(text))].filter((path) => !exists(path));
}

/** Words in backquotes or links that are paths. Patterns and placeholders name nothing in particular. */
function pathsIn(text: string): string[] {
  const words = [...text.matchAll(/`([^`\s]+)`|\]\(([^)#\s]+)/g)].map(([, quoted = '', linked = '']) => quoted || linked);
  return words
    .filter((word) => !/[*<>{}$:…]/.test(word) && (/\w\.ts$/.test(word) || /^(apps|packages|tools|test|demo|charts)\/[\w./-]+$/.test(word)))
    .map((word) =>
      posix
        .normalize(word)
        .replace(/^(\.\.?\/)+/, '')
        .replace(/\/$/, ''),
    );
}

const root = resolve(import.meta.dirname, '../..');
const read = (file: string): Promise<string> => readFile(join(root, file), 'utf8');

/** Folders directly below, and files unless they are tests. */
async function below(folder: string): Promise<{ readonly folders: string[]; readonly files: string[] }> {
  const entries = (await readdir(join(root, folder), { withFileTypes: true })).filter(({ name }) => name !== 'node_modules');
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.ts'));
  return { folders: entries.filter((entry) => entry.isDirectory()).map(({ name }) => name), files: files.map(({ name }) => name) };
}

/** Those of the words that a text does not have. */
const missing = (text: string, words: readonly string[]): string[] => words.filter((word) => !text.includes(word));

test('what is not released yet stands in CHANGELOG.md by what a reader does about it, a line each', async () => {
  const [, unreleased = ''] = (await read('CHANGELOG.md')).split(/^## /m);
  const sections = unreleased.split(/^### /m).slice(1);
  expect(sections.map((section) => section.split('\n')[0])).toEqual(['Do first', 'Breaking', 'Added', 'Fixed']);
  const lines = sections.flatMap((section) => section.split('\n').slice(1).filter(Boolean));
  const others = lines.filter((line) => !line.startsWith('- '));
  expect(others).toEqual([expect.stringMatching(/^Before this version is installed, in this order/)]);
  expect(lines.filter((line) => line.includes('**Changed'))).toEqual([]);
});

test('CONTRIBUTING.md names every command', async () => {
  const { scripts } = z.looseObject({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(await read('package.json')));
  const commands = Object.keys(scripts).map((name) => (name === 'test' ? '`npm test`' : `npm run ${name}`));
  const named = (await read('CONTRIBUTING.md')).matchAll(/npm (?:test|run [\w:-]+)/g);
  const all = new Set([...named].map(([command]) => command));
  expect(commands.filter((command) => !all.has(command.replaceAll('`', '')))).toEqual([]);
  expect([...all].filter((command) => command !== 'npm test' && !(command.replace('npm run ', '') in scripts))).toEqual([]);
});

test('test/README.md names every folder of tests, and every benchmark', async () => {
  const text = await read('test/README.md');
  const { folders } = await below('test');
  const rooms = [...(await below('test/integration')).folders, ...(await below('test/system')).folders];
  expect(
    missing(
      text,
      [...folders, ...rooms].map((name) => `\`${name}/\``),
    ),
  ).toEqual([]);
  const { scripts } = z.looseObject({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(await read('package.json')));
  const benches = Object.keys(scripts).filter((name) => scripts[name]?.includes('test/bench/'));
  expect(
    missing(
      text,
      benches.map((name) => `npm run ${name}`),
    ),
  ).toEqual([]);
});

test("the table of docs/sizing.md is the bench's: its columns, a row for each size", async () => {
  const page = await read('docs/sizing.md');
  const table = page.slice(page.indexOf(MARKERS[0]), page.indexOf(MARKERS[1])).split('\n');
  const [heads, , ...rows] = table.filter((line) => line.startsWith('|'));
  expect(heads).toBe(tableLine(COLUMNS));
  expect(rows.length).toBeGreaterThan(1);
  expect(new Set(rows.map((row) => row.split('|').length))).toEqual(new Set([COLUMNS.length + 2]));

  const handOvers = [{ toFirst: 0.2 }, { toFirst: 0.9 }];
  const row = rowOf({
    spokes: 2000,
    precache: {
      lastJobSeconds: 50,
      verdictSeconds: { p99: 9.6 },
      hubPeakMiB: 316.4,
      cpuSeconds: { hub: 20, apiServer: 92 },
      statusKiB: 210.2,
    },
    rollout: { hubPeakMiB: 158.1, handOvers, requests: { counts: { 'patch managedclusters': 4000, 'create placements': 4480 } } },
    load: 1.5,
  });
  expect(row).toEqual(['2,000', '50 s', '9.6 s', '316 MiB', '10 ms', '46 ms', '210 KiB', '0.9 s', '4.24', '158 MiB', '1.5']);
  expect(withTable(`before\n${MARKERS.join('\nold\n')}\nafter\n`, ['new'])).toBe(`before\n${MARKERS.join('\n\nnew\n\n')}\nafter\n`);
  expect(() => withTable('no table', [])).toThrow(MARKERS[0]);
});

test('README.md names every app and every package, and each has a README of its own', async () => {
  const text = await read('README.md');
  for (const kind of ['apps', 'packages']) {
    const { folders } = await below(kind);
    expect(
      missing(
        text,
        folders.map((name) => `${kind}/${name}`),
      ),
    ).toEqual([]);
    for (const name of folders) expect(await read(join(kind, name, 'README.md'))).not.toBe('');
  }
});

/** Lines of a README that people who change a room still read. */
const MOST_LINES = 150;

test('a README of a room has few lines', async () => {
  const rooms = await Promise.all(
    ['apps', 'packages'].map(async (kind) => (await below(kind)).folders.map((name) => `${kind}/${name}/README.md`)),
  );
  const lengths = await Promise.all(rooms.flat().map(async (file) => [file, (await read(file)).trimEnd().split('\n').length] as const));
  expect(lengths.filter(([, lines]) => lines > MOST_LINES)).toEqual([]);
});

test('documents name files and folders that exist', async () => {
  const tops = (await readdir(root, { withFileTypes: true })).filter(({ name }) => name !== 'node_modules' && name !== '.git');
  const folders = tops.filter((entry) => entry.isDirectory()).map(({ name }) => join(root, name));
  const inside = await Promise.all(folders.map((folder) => readdir(folder, { recursive: true, withFileTypes: true })));
  const files = [...tops, ...inside.flat()]
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll(sep, '/'));
  // A change log tells of what was.
  const documents = files.filter((file) => file.endsWith('.md') && file !== 'CHANGELOG.md');
  expect(documents.length).toBeGreaterThan(15);
  const missing = await Promise.all(
    documents.map(async (each) => missingPaths(each, await read(each), files).map((path) => `${each}: ${path}`)),
  );
  expect(missing.flat()).toEqual([]);
});

test('a path that does not exist is found in a document', () => {
  const text =
    'See `one.ts`, `src/two.ts`, `apps/a/src`, [a](../b/README.md), `apps/*/x.ts` and `gone.ts`, `apps/a/gone`, [b](src/gone.ts), `npm test`.';
  const files = ['apps/a/README.md', 'apps/a/src/one.ts', 'apps/a/src/two.ts', 'apps/b/README.md'];
  expect(missingPaths('apps/a/README.md', text, files)).toEqual(['gone.ts', 'apps/a/gone', 'src/gone.ts']);
});
