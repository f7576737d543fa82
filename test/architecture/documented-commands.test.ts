import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { cliCommands } from '../../tools/src/reference/options.ts';
import { advisedCommands, documentedCommands } from './documented-commands.ts';
import { root, texts as sources } from './repository.ts';

/** Pages whose shell blocks a test runs one by one, and that test. */
const RUN_BY: Readonly<Record<string, string>> = {
  'from-talm.md': 'integration/from-talm.test.ts',
  'gitops.md': 'integration/gitops/automation.test.ts',
  'install/air-gapped.md': 'e2e/install.test.ts',
  'install/operators.md': 'e2e/install.test.ts',
  'install/rhacm.md': 'e2e/install.test.ts',
  'install/standalone.md': 'e2e/install.test.ts',
  'operations.md': 'integration/own-life/operations.test.ts',
  'uninstalling.md': 'integration/uninstalling.test.ts',
};
/** Options that every command has. */
const COMMON = ['--help'];

const pages = (await readdir(join(root, 'docs'), { recursive: true })).filter((file) => file.endsWith('.md'));
const texts = new Map(
  await Promise.all(
    [...pages.map((page) => join('docs', page)), 'README.md', 'examples/README.md'].map(
      async (file): Promise<[string, string]> => [file, await readFile(join(root, file), 'utf8')],
    ),
  ),
);
const Flags = z.array(z.looseObject({ flags: z.string() }));

const known = new Map(
  (await cliCommands()).map(({ words, command }) => [
    words.replace(/^flotilla /, ''),
    new Set([...COMMON, ...Flags.parse(command.options).flatMap(({ flags }) => flags.match(/(?<![\w-])--?[a-z][a-z-]*/g) ?? [])]),
  ]),
);

test('every command of flotilla is shown in docs, and every one that is shown has its options', () => {
  const shown = [...texts].flatMap(([file, text]) => documentedCommands(text, [...known.keys()]).map((each) => ({ ...each, file })));
  expect(shown.filter(({ words }) => words === '').map(({ file, line }) => `${file}: ${line}`)).toEqual([]);
  const wrong = shown.flatMap(({ file, line, words, flags }) =>
    flags.filter((flag) => !known.get(words)?.has(flag)).map((flag) => `${file}: ${flag} in ${line}`),
  );
  expect(wrong).toEqual([]);
  expect([...new Set(shown.map(({ words }) => words))].toSorted()).toEqual([...known.keys()].toSorted());
});

test('every command that a message or a reason advises has the options that it names', () => {
  const advised = [...sources].flatMap(([file, text]) =>
    /\.(?:test|cases)\.tsx?$/.test(file) ? [] : advisedCommands(text, [...known.keys()]).map((each) => ({ ...each, file })),
  );
  expect(advised.length).toBeGreaterThan(5);
  const wrong = advised.filter(({ words, flags }) => !flags.every((flag) => known.get(words)?.has(flag)));
  expect(wrong.map(({ file, line }) => `${file}: ${line}`)).toEqual([]);
});

test('advice in a sentence is found with its options and placeholders', () => {
  const [name, namespace] = ['name', 'namespace'].map((each) => `$\{${each}}`);
  const text = `fix: try flotilla retry --cluster {cluster}, or flotilla window set ${name} -n ${namespace}; flotilla runs`;
  expect(advisedCommands(text, ['retry', 'window set'])).toEqual([
    { line: 'flotilla retry --cluster {cluster}', words: 'retry', flags: ['--cluster'] },
    { line: `flotilla window set ${name} -n ${namespace}`, words: 'window set', flags: ['-n'] },
  ]);
});

test('every npm script that docs show is there', async () => {
  const { scripts } = z
    .looseObject({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')));
  const shown = [...texts].flatMap(([file, text]) =>
    [...text.matchAll(/npm run (?:-s )?([a-z][\w:-]*)/g)].map(([, name = '']) => ({ file, name })),
  );
  expect(shown.filter(({ name }) => !(name in scripts))).toEqual([]);
});

test('every shell block of docs is of a page whose blocks a test runs', async () => {
  const withBlocks = pages.filter((page) => /^```sh$/m.test(texts.get(join('docs', page)) ?? ''));
  expect(withBlocks.toSorted()).toEqual(Object.keys(RUN_BY));
  for (const [page, file] of Object.entries(RUN_BY))
    expect(await readFile(join(root, 'test', file), 'utf8'), page).toContain(page.replace('install/', ''));
});

test('a misspelt option of a command is found in a block, over continued lines, without comments', () => {
  const text = '```\nflotilla window set a \\\n  --stert 1 # --no\nflotilla wait a && echo --x\nflotilla gone\n```\n';
  expect(documentedCommands(text, ['window set', 'wait'])).toEqual([
    { line: 'flotilla window set a    --stert 1 # --no', words: 'window set', flags: ['--stert'] },
    { line: 'flotilla wait a && echo --x', words: 'wait', flags: [] },
    { line: 'flotilla gone', words: '', flags: [] },
  ]);
});
