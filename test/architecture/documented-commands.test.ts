import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { loadApp } from '../../tools/src/reference/load-app.ts';
import { cliCommands } from '../../tools/src/reference/options.ts';
import { type CommandLine, commandLines } from './documented-commands.ts';
import { root, texts as sources } from './repository.ts';

/** Pages whose shell blocks a test runs one by one, and that test. */
const RUN_BY: Readonly<Record<string, string>> = {
  'charts/hub/README.md': 'system/charts-documented.test.ts',
  'charts/spoke/README.md': 'system/charts-documented.test.ts',
  'docs/cli.md': 'system/cli/documented-blocks.test.ts',
  'docs/console.md': 'system/charts-documented.test.ts',
  'docs/from-talm.md': 'system/from-talm.test.ts',
  'docs/gitops.md': 'system/gitops/automation.test.ts',
  'docs/install/air-gapped.md': 'e2e/install.test.ts',
  'docs/install/operators.md': 'e2e/install.test.ts',
  'docs/install/rhacm.md': 'e2e/install.test.ts',
  'docs/install/standalone.md': 'e2e/install.test.ts',
  'docs/operations.md': 'system/own-life/operations.test.ts',
  'docs/release.md': 'system/charts-documented.test.ts',
  'docs/troubleshooting.md': 'system/cli/documented-blocks.test.ts',
  'docs/uninstalling.md': 'system/uninstalling.test.ts',
  'docs/windows.md': 'system/cli/documented-blocks.test.ts',
};
const SYNOPSIS = 'it has brackets and words in capitals, which stand for what its reader gives';
/** Pages with commands in blocks that are not marked as shell, which nothing runs: how many, and why. Their commands are parsed. */
const PARSED: Readonly<Record<string, readonly (readonly [blocks: number, why: string])[]>> = {
  'README.md': [
    [1, 'the demo and the tests themselves'],
    [1, SYNOPSIS],
  ],
  'docs/cli.md': [[5, SYNOPSIS]],
  'docs/console.md': [[1, 'a program that runs until it is stopped, test/system/console starts it']],
  'docs/hub.md': [[1, SYNOPSIS]],
  'docs/release.md': [
    [1, 'a release takes minutes; test/system/release.test.ts makes one'],
    [1, 'it wants cosign; test/system/release.test.ts verifies the same signatures'],
  ],
  'docs/upgrade-operator.md': [[1, SYNOPSIS]],
  'docs/version-operator.md': [[1, SYNOPSIS]],
};
/** Pages with shell blocks that nothing runs as they stand: why, and what plays their objects instead. */
const NOT_RUN: Readonly<Record<string, { readonly why: string; readonly plays: readonly string[] }>> = {
  'examples/README.md': {
    why: 'its images and clusters are the reader’s own',
    plays: ['test/e2e/rollout.ts', 'packages/rollout/src/examples.test.ts'],
  },
  'examples/k3s/README.md': {
    why: 'it takes a list of images from the page of a k3s release',
    plays: ['test/system/plain-kubernetes.test.ts'],
  },
  'examples/kubeadm/README.md': {
    why: 'it builds an image with docker, from programs of a Kubernetes release',
    plays: ['test/system/plain-kubernetes.test.ts', 'test/system/kubeadm-script.test.ts'],
  },
};
const pages = (await readdir(join(root, 'docs'), { recursive: true })).filter((file) => file.endsWith('.md'));
const texts = new Map(
  await Promise.all(
    [...pages.map((page) => join('docs', page)), 'README.md', 'examples/README.md'].map(
      async (file): Promise<[string, string]> => [file, await readFile(join(root, file), 'utf8')],
    ),
  ),
);
/** Commander's own command, as far as it is told to parse and do nothing. */
interface Parser {
  name(): string;
  readonly commands: readonly Parser[];
  action(run: () => void): unknown;
  exitOverride(end: (error: { readonly code: string; readonly message: string }) => never): unknown;
  configureOutput(to: { readonly writeErr: () => void; readonly writeOut: () => void }): unknown;
  parse(args: readonly string[], from: { readonly from: 'user' }): unknown;
}
const { createProgram } = await loadApp<{ createProgram: (typed: readonly string[]) => Promise<Parser> }>('cli', 'program.ts');

/** Problems of a mention that is no whole line. */
const OPEN = new Set(['commander.missingArgument', 'commander.optionMissingArgument', 'commander.help', 'commander.invalidArgument']);
/** In a source a sentence may go on behind the command. */
const OPEN_IN_SOURCE = OPEN.union(new Set(['commander.excessArguments']));
const HELP = new Set(['commander.helpDisplayed', 'commander.version']);

/** The command that the command line's own parser takes a line for, or the problem that it has with it; neither for help. */
async function parsed({ args, isMention }: CommandLine, open = OPEN): Promise<{ readonly command?: string; readonly problem?: string }> {
  const program = await createProgram(args);
  let found: string | undefined;
  const silence = (command: Parser, words: string): void => {
    if (command.commands.length === 0)
      command.action(() => {
        found = words;
      });
    command.exitOverride((error) => {
      throw Object.assign(new Error(error.message), { code: error.code });
    });
    command.configureOutput({ writeErr: () => undefined, writeOut: () => undefined });
    for (const each of command.commands) silence(each, `${words} ${each.name()}`);
  };
  silence(program, program.name());
  try {
    program.parse(args, { from: 'user' });
    return { command: found };
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return HELP.has(code) || (isMention && open.has(code)) ? {} : { problem: message };
  }
}

test('documents show every command of flotilla in a block', async () => {
  const shown = [...texts.values()].flatMap((text) => commandLines(text).filter(({ isMention }) => !isMention));
  const commands = (await cliCommands()).map(({ words }) => words);
  const found = await Promise.all(shown.map((each) => parsed(each)));
  expect([...new Set(found.flatMap(({ command }) => command ?? []))].toSorted()).toEqual(commands.toSorted());
});

test('every command that documents, charts and sources show is parsed by the command line', async () => {
  const programs = [...sources].filter(([file]) => /^(?:(?:apps|packages)\/[^/]+|demo)\/src\/.*(?<!\.(?:test|cases))\.tsx?$/.test(file));
  const documents = [...texts, ...(await textsBeside())];
  const shown = [
    ...documents.flatMap(([file, text]) => commandLines(text).map((each) => ({ ...each, file, open: OPEN }))),
    ...programs.flatMap(([file, text]) => commandLines(text).map((each) => ({ ...each, file, open: OPEN_IN_SOURCE }))),
  ];
  expect(shown.length).toBeGreaterThan(150);
  const wrong = await Promise.all(
    shown.map(async (each) => {
      const { problem } = await parsed(each, each.open);
      return problem === undefined ? [] : [`${each.file}: flotilla ${each.line}: ${problem}`];
    }),
  );
  expect(wrong.flat()).toEqual([]);
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

test('a command that its parser refuses is found, whole in a block and as far as it is named in a sentence', async () => {
  const text = '```sh\nflotilla wait\n```\nTry `flotilla retry --cluster X`, `flotilla wait --for batch=N` or `flotilla mend`.';
  expect(await Promise.all(commandLines(text).map((each) => parsed(each)))).toEqual([
    { problem: "error: missing required argument 'cgu'" },
    { problem: "error: unknown option '--cluster'" },
    {},
    { problem: "error: unknown command 'mend'" },
  ]);
});

test('advice in a sentence is found with its options and placeholders', () => {
  const [name, namespace] = ['name', 'namespace'].map((each) => `$\{${each}}`);
  const text = `fix: try flotilla retry --cluster {cluster}, or flotilla window set ${name} -n ${namespace}; flotilla runs`;
  expect(commandLines(text).map(({ line, args }) => ({ line, args }))).toEqual([
    { line: 'retry --cluster {cluster}', args: ['retry', '--cluster', '{cluster}'] },
    { line: `window set ${name} -n ${namespace}`, args: ['window', 'set', 'X', '-n', 'X'] },
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
  const known = [...Object.keys(RUN_BY), ...Object.keys(NOT_RUN)];
  expect(withBlocks.toSorted()).toEqual(known.toSorted());
  for (const [page, file] of Object.entries(RUN_BY))
    expect(await readFile(join(root, 'test', file), 'utf8'), page).toContain(page.replace(/^(?:docs\/(?:install\/)?|charts\/\w+\/)/, ''));
  for (const { plays } of Object.values(NOT_RUN)) for (const file of plays) expect(await stat(join(root, file))).toBeTruthy();
});

test('every other block with commands is of a page that says why nothing runs it', async () => {
  const all = new Map([...texts, ...(await textsBeside())]);
  const found = [...all].flatMap(([file, text]) => {
    const count = file.endsWith('.md') ? unmarkedCommands(text) : 0;
    return count === 0 ? [] : [[file, count] as const];
  });
  const known = Object.entries(PARSED).map(([file, rows]) => [file, rows.reduce((sum, [blocks]) => sum + blocks, 0)] as const);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(known));
});

/** Blocks without a language in which a line begins with a command. */
const unmarkedCommands = (text: string): number =>
  [...text.matchAll(/^ *```(\w*)\n([\s\S]*?)^ *```$/gm)].filter(
    ([, language, block = '']) => language === '' && /^ *(?:(?:flotilla|kubectl|helm|oc|cosign) [a-z-]|npm (?:run|test) )/m.test(block),
  ).length;

test('a misspelt option of a command is found in a block, over continued lines, without comments', async () => {
  const text = '```\nflotilla window set a \\\n  --stert 1 # --no\nflotilla wait a && echo --x\nflotilla gone\n```\n';
  expect(await Promise.all(commandLines(text).map((each) => parsed(each)))).toEqual([
    { problem: "error: unknown option '--stert'\n(Did you mean --start?)" },
    { command: 'flotilla wait' },
    { problem: "error: unknown command 'gone'" },
  ]);
});
