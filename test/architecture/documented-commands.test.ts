import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { loadApp } from '../../tools/src/reference/load-app.ts';
import { cliCommands } from '../../tools/src/reference/options.ts';
import { advisedCommands, type CommandLine, commandLines, documentedCommands } from './documented-commands.ts';
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
/** Pages with shell blocks that nothing runs as they stand: why, and what plays their objects instead. */
const NOT_RUN: Readonly<Record<string, { readonly why: string; readonly plays: readonly string[] }>> = {
  'examples/README.md': {
    why: 'its images and clusters are the reader’s own',
    plays: ['test/e2e/rollout.ts', 'packages/rollout/src/examples.test.ts'],
  },
  'examples/k3s/README.md': {
    why: 'it takes a list of images from the page of a k3s release',
    plays: ['test/integration/plain-kubernetes.test.ts'],
  },
  'examples/kubeadm/README.md': {
    why: 'it builds an image with docker, from programs of a Kubernetes release',
    plays: ['test/integration/plain-kubernetes.test.ts', 'test/integration/kubeadm-script.test.ts'],
  },
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

/** Commander's own command, as far as it is told to parse and do nothing. */
interface Parser {
  readonly commands: readonly Parser[];
  action(run: () => void): unknown;
  exitOverride(end: (error: { readonly code: string; readonly message: string }) => never): unknown;
  configureOutput(to: { readonly writeErr: () => void; readonly writeOut: () => void }): unknown;
  parse(args: readonly string[], from: { readonly from: 'user' }): unknown;
}
const { createProgram } = await loadApp<{ createProgram: () => Parser }>('cli', 'program.ts');

/** Problems of a mention that is no whole line. */
const OPEN = new Set(['commander.missingArgument', 'commander.optionMissingArgument', 'commander.help', 'commander.invalidArgument']);
/** In a source a sentence may go on behind the command. */
const OPEN_IN_SOURCE = OPEN.union(new Set(['commander.excessArguments']));
const HELP = new Set(['commander.helpDisplayed', 'commander.version']);

/** The problem that the command line's own parser has with a line; undefined where it takes it. */
function problemOf({ args, isMention }: CommandLine, open = OPEN): string | undefined {
  const program = createProgram();
  const silence = (command: Parser): void => {
    if (command.commands.length === 0) command.action(() => undefined);
    command.exitOverride((error) => {
      throw Object.assign(new Error(error.message), { code: error.code });
    });
    command.configureOutput({ writeErr: () => undefined, writeOut: () => undefined });
    for (const each of command.commands) silence(each);
  };
  silence(program);
  try {
    program.parse(args, { from: 'user' });
    return undefined;
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return HELP.has(code) || (isMention && open.has(code)) ? undefined : message;
  }
}

test('every command that documents, charts and sources show is parsed by the command line', async () => {
  const programs = [...sources].filter(([file]) => /^(?:apps|packages)\/[^/]+\/src\/.*(?<!\.test)\.tsx?$/.test(file));
  const documents = [...texts, ...(await textsBeside())];
  const shown = [
    ...documents.flatMap(([file, text]) => commandLines(text).map((each) => ({ ...each, file, open: OPEN }))),
    ...programs.flatMap(([file, text]) => commandLines(text).map((each) => ({ ...each, file, open: OPEN_IN_SOURCE }))),
  ];
  expect(shown.length).toBeGreaterThan(150);
  const wrong = shown.flatMap((each) => {
    const problem = problemOf(each, each.open);
    return problem === undefined ? [] : [`${each.file}: flotilla ${each.line}: ${problem}`];
  });
  expect(wrong).toEqual([]);
});

/** Texts of users beside docs: charts with their alerts and notes, READMEs, examples. */
async function textsBeside(): Promise<[string, string][]> {
  const files = await Promise.all(
    ['charts', 'apps', 'packages', 'examples', 'demo', 'tools', 'test'].map(async (top) => {
      const found = await readdir(join(root, top), { recursive: true });
      return found.filter((file) => !file.includes('node_modules') && isText(top, file)).map((file) => join(top, file));
    }),
  );
  return Promise.all(
    ['CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', ...files.flat()].map(
      async (file): Promise<[string, string]> => [file, await readFile(join(root, file), 'utf8')],
    ),
  );
}

const isText = (top: string, file: string): boolean =>
  file.endsWith('.md') || ((top === 'charts' || top === 'examples') && /\.(?:ya?ml|tpl|txt|json)$/.test(file));

test('a command that its parser refuses is found, whole in a block and as far as it is named in a sentence', () => {
  const text = '```sh\nflotilla wait\n```\nTry `flotilla retry --cluster X`, `flotilla wait --for batch=N` or `flotilla mend`.';
  expect(commandLines(text).map((each) => problemOf(each))).toEqual([
    "error: missing required argument 'cgu'",
    "error: unknown option '--cluster'",
    undefined,
    "error: unknown command 'mend'",
  ]);
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

test('every shell block is of a page whose blocks a test runs, or has a reason why it cannot run here', async () => {
  const all = new Map([...texts, ...(await textsBeside())]);
  const withBlocks = [...all].filter(([file, text]) => file.endsWith('.md') && /^```sh$/m.test(text)).map(([file]) => file);
  const known = [...Object.keys(RUN_BY).map((page) => join('docs', page)), ...Object.keys(NOT_RUN)];
  expect(withBlocks.toSorted()).toEqual(known.toSorted());
  for (const [page, file] of Object.entries(RUN_BY))
    expect(await readFile(join(root, 'test', file), 'utf8'), page).toContain(page.replace('install/', ''));
  for (const { plays } of Object.values(NOT_RUN)) for (const file of plays) expect(await stat(join(root, file))).toBeTruthy();
});

test('a misspelt option of a command is found in a block, over continued lines, without comments', () => {
  const text = '```\nflotilla window set a \\\n  --stert 1 # --no\nflotilla wait a && echo --x\nflotilla gone\n```\n';
  expect(documentedCommands(text, ['window set', 'wait'])).toEqual([
    { line: 'flotilla window set a    --stert 1 # --no', words: 'window set', flags: ['--stert'] },
    { line: 'flotilla wait a && echo --x', words: 'wait', flags: [] },
    { line: 'flotilla gone', words: '', flags: [] },
  ]);
});
