import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { UpgradeCondition } from '@flotilla/api/managed';
import { ClusterGroupUpgradeCondition, reasons } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { keysOf, partsOf } from '../../tools/src/reference/by-hand.ts';
import { loadApp } from '../../tools/src/reference/load-app.ts';
import { METRIC_FILES, metricRows } from '../../tools/src/reference/metrics.ts';
import { cliCommands, optionsOf, PROGRAMS } from '../../tools/src/reference/options.ts';
import { programSources, reasonsIn } from './source-words.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (page: string): Promise<string> => readFile(join(root, 'docs/reference', page), 'utf8');
/** Words in the first column of a page's tables, without anchors. */
const firstColumn = (page: string): string[] =>
  [...page.matchAll(/^\| (?:<a id="[^"]*"><\/a>)?`([^`]+)` \|/gm)].map(([, word = '']) => word);
const sorted = (words: Iterable<string>): string[] => [...new Set(words)].toSorted();
const sources = await programSources();

/** Reasons that are part of the code, but of no condition or event that a user sees. */
const NOT_FOR_USERS = new Set(['NotFound', 'NoMatch', 'Conflict', 'ClusterVersionNotFound', 'NoAvailableCondition']);
/** Reasons that code composes, or takes from another program's object, so that no literal has them. */
const COMPOSED = [
  /^Cgu(Precaching|Backup)(Started|Completed|PartiallyDone|Failed|Impeded)$/,
  /^Upgrade(Started|Delayed|ScaleSkipped|Skipped|Completed|Failed|ControlPlaneStarted|ControlPlaneFinished|WorkerPlaneFinished|HealthCheck|PreHealthCheck|Cancelled)$/,
  /^(Minor|Major)VersionClusterUpdateInProgress$/,
];

test('every reason that code gives has an entry, and every entry is a reason of the code', { timeout: 60_000 }, async () => {
  const found = sorted(sources.flatMap(reasonsIn).filter((reason) => !NOT_FOR_USERS.has(reason)));
  const documented = sorted(firstColumn(await read('reasons.md')));
  expect(found.filter((reason) => !documented.includes(reason) && !['CguPrecaching', 'CguBackup'].includes(reason))).toEqual([]);
  const everything = sources.map(({ text }) => text).join('\n');
  const unknown = documented.filter((reason) => /^\w+$/.test(reason) && !COMPOSED.some((pattern) => pattern.test(reason)));
  expect(unknown.filter((reason) => !new RegExp(`\\b${reason}\\b`).test(everything))).toEqual([]);
});

test('every entry has a meaning, an anchor of its name where it stands first, and no fix that ends like a sentence', () => {
  const seen = new Set<string>();
  for (const [reason = '', meaning, fix] of [...partsOf('reasons').values()].flat()) {
    const name = /`([^`]+)`$/.exec(reason)?.[1] ?? '';
    expect(reason).toBe(/^\w+$/.test(name) && !seen.has(name) ? `<a id="${name.toLowerCase()}"></a>\`${name}\`` : `\`${name}\``);
    seen.add(name);
    expect(meaning, reason).toMatch(/[.]$/);
    expect(fix, reason).not.toMatch(/[.;]$/);
  }
});

test('the fixes that the hub says are those of the page', () => {
  const rows = partsOf('reasons').get('ClusterGroupUpgrade: conditions and messages') ?? [];
  const onPage = rows.map(([reason = '', , fix]) => [/`(\w+)`$/.exec(reason)?.[1], fix?.replaceAll('\\|', '|')]);
  expect(onPage).toEqual(Object.entries(reasons).map(([reason, row]) => [reason, 'fix' in row ? row.fix : '']));
});

test('the options in code and on the page are the same', { timeout: 60_000 }, async () => {
  const page = await read('options.md');
  const parts = new Map(
    page
      .split(/^## /m)
      .slice(1)
      .map((part): [string, string[]] => [part.slice(0, part.indexOf('\n')), firstColumn(part)]),
  );
  for (const app of PROGRAMS) {
    // The rows that the program reads, by the names they have in its file.
    const keys = (await optionsOf(app)).map(({ flag }) => flag);
    expect(sorted(parts.get(app) ?? []), app).toEqual(sorted(keys));
  }
  const commands = await cliCommands();
  expect(sorted(parts.keys())).toEqual(sorted([...PROGRAMS, ...commands.map(({ words }) => words)]));
  for (const { words, command } of commands) {
    const flags = z.array(z.looseObject({ flags: z.string() })).parse(command.options);
    expect(sorted((parts.get(words) ?? []).filter((option) => option.startsWith('-'))), words).toEqual(
      sorted(flags.map(({ flags: flag }) => flag)),
    );
  }
});

test('the exit codes of the command line are those of the page, and every recorded line ends with one of them', async () => {
  const [, part = ''] = /^## flotilla\n([\s\S]*?)^## /m.exec(await read('exit-codes.md')) ?? [];
  const listed = [...part.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
  const { Exit } = await loadApp<{ Exit: Readonly<Record<string, number>> }>('cli', 'run.ts');
  expect(listed).toEqual(Object.values(Exit));
  const recorded = join(root, 'test/integration/cli');
  const files = (await readdir(recorded, { recursive: true })).filter((file) => file.endsWith('.txt'));
  const texts = await Promise.all(files.map((file) => readFile(join(recorded, file), 'utf8')));
  const ends = texts.flatMap((text) => [...text.matchAll(/^\[exit (.*)\]$/gm)].map(([, code]) => Number(code)));
  expect(sorted(ends.map(String))).toEqual(listed.map(String));
});

test('the metrics in code and on the page are the same', async () => {
  const makers = sources.filter(({ text }) => /new (Counter|Gauge|Histogram|Summary)[(<]/.test(text)).map(({ path }) => path);
  expect(sorted(makers)).toEqual(sorted(Object.values(METRIC_FILES)));
  const names = Object.values(await metricRows()).flatMap((rows) => rows.map(({ name }) => name));
  expect(sorted(firstColumn(await read('metrics.md')))).toEqual(sorted(names));
  const written = sources.flatMap(({ text }) => [...text.matchAll(/'((?:flotilla|upgradeoperator|managed_upgrade)_[a-z_]+[a-z])'/g)]);
  expect(written.map(([, name = '']) => name).filter((name) => !names.includes(name))).toEqual([]);
});

test('the annotations and labels in code and on the page are the same', async () => {
  const charts = await Promise.all(['upgrade-operator'].map((name) => readFile(join(root, `charts/spoke/templates/${name}.yaml`), 'utf8')));
  const texts = [...sources.map(({ text }) => text), ...charts];
  const found = texts.flatMap((text) =>
    [...text.matchAll(/['" ](flotilla\.io\/[\w.-]*\w\.?|pins\.flotilla\.io\/)['":]/g)].map(([, key = '']) => key),
  );
  const named: Readonly<Record<string, string>> = {
    'flotilla.io/work.': 'flotilla.io/work.<work>',
    'pins.flotilla.io/': 'pins.flotilla.io/<uid>',
  };
  const onPage = firstColumn(await read('annotations.md')).filter((key) => /^(pins\.)?flotilla\.io\//.test(key));
  expect(sorted(found.map((key) => named[key] ?? key))).toEqual(sorted(onPage));
});

test("a kind's page has every annotation that a user writes on its objects", async () => {
  for (const kind of ['ClusterGroupUpgrade', 'PreCachingConfig', 'ManagedCluster']) {
    const written = firstColumn(keysOf(kind));
    expect(written.length).toBeGreaterThan(4);
    expect(firstColumn(await read(`kinds/${kind.toLowerCase()}.md`))).toEqual(expect.arrayContaining(written));
  }
});

test("a kind's page has every condition that a program of ours writes there", async () => {
  const shown = async (kind: string) => firstColumn(await read(`kinds/${kind}.md`));
  expect(await shown('clustergroupupgrade')).toEqual(expect.arrayContaining(Object.values(ClusterGroupUpgradeCondition)));
  expect(await shown('upgradeconfig')).toEqual(expect.arrayContaining(Object.values(UpgradeCondition)));
});
