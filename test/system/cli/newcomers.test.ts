/** Two hundred command lines of people who type it for the first time: each answer is short, names a next step, and shows no inside. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CommandRow, commands } from '@flotilla/cli/commands';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { mapConcurrently } from '@flotilla/pace';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hubCrds } from '../../fixtures/crds.ts';
import { flotilla } from '../../integration/cli/flotilla.ts';

let server: ApiServer;
let folder: string;
let stranger: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flotilla-newcomers-'));
  server = await startApiServer({ crds: hubCrds(), users: [{ name: 'newcomer', groups: [] }] });
  stranger = await server.kubeconfigFor('newcomer');
});
afterAll(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** A command with the words that lead to it. */
interface Named {
  readonly words: readonly string[];
  readonly row: CommandRow;
}
const flatten = (rows: readonly CommandRow[], above: readonly string[] = []): Named[] =>
  rows.flatMap((row) => [
    ...(row.load ? [{ words: [...above, row.name], row }] : []),
    ...flatten(row.commands ?? [], [...above, row.name]),
  ]);
const all = flatten(commands);
/** Commands that speak to a hub. */
const ofHubs = all.filter(({ words: [first = ''] }) =>
  ['status', 'plan', 'wait', 'why', 'pause', 'resume', 'retry', 'hold', 'unhold', 'window', 'check'].includes(first),
);
/** Commands that speak to a cluster that is upgraded. */
const ofClusters = all.filter(
  ({ words: [first, second = ''] }) => first === 'upgrade' || (first === 'payload' && ['status', 'diff'].includes(second)),
);
const ofServers = [...ofHubs, ...ofClusters];
/** Arguments that make a line whole. */
const filled = ({ row: { name, takes = [] } }: Named): string[] => [
  ...(takes.length > 0 ? ['site-upgrade'] : []),
  ...(name === 'set' ? ['--start', '2099-01-01T00:00:00Z'] : []),
  ...(['pause', 'resume', 'retry', 'hold', 'unhold', 'set', 'clear'].includes(name) ? ['--yes'] : []),
];

/** Lines by the mistake that is made in them. */
function mistakes(): Record<string, string[][]> {
  const swap = (word: string) => `${word.slice(0, 1)}${word.slice(2, 3)}${word.slice(1, 2)}${word.slice(3)}`;
  const file = (text: string) => join(folder, text);
  return {
    'a command with two letters swapped': commands.map(({ name }) => [swap(name)]),
    'a command of kubectl': ['get', 'apply', 'describe', 'logs', 'upgrade-all', 'rollout'].map((word) => [word, 'site-upgrade']),
    'a word that a group does not have': all
      .filter(({ words }) => words.length > 1)
      .map(({ words }) => [words[0] ?? '', swap(words[1] ?? '')]),
    'a missing argument': all.filter(({ row }) => row.takes?.some(([argument]) => argument.startsWith('<'))).map(({ words }) => [...words]),
    'an option that is not there': all.map((named) => [...named.words, ...filled(named), '--forse']),
    'an argument too many': all
      .filter(({ row }) => !row.takes?.some(([argument]) => argument.includes('...')))
      .map((named) => [...named.words, ...filled(named), 'site-1', 'site-2']),
    'an option without its value': ofHubs.map((named) => [...named.words, ...filled(named), '--kubeconfig']),
    'a kubeconfig that is not there': ofServers.map((named) => [...named.words, ...filled(named), '--kubeconfig', file('missing')]),
    'a kubeconfig that is no YAML': ofServers.map((named) => [...named.words, ...filled(named), '--kubeconfig', file('broken')]),
    'a kubeconfig without a server': ofServers.map((named) => [...named.words, ...filled(named), '--kubeconfig', file('dead')]),
    'a context that is not there': ofServers.map((named) => [...named.words, ...filled(named), '--context', 'prod']),
    'a name that is not there': ofHubs.filter(({ row }) => row.takes?.length).map((named) => [...named.words, ...filled(named)]),
    'a cluster that has none of it': ofClusters.map((named) => [...named.words, ...filled(named)]),
    'no rights': ofServers.map((named) => [...named.words, ...filled(named), '--kubeconfig', stranger]),
    'a value without sense': [
      ['status', '-o', 'yaml'],
      ['status', 'site-upgrade', '-A'],
      ['status', '-n', 'Not_A_Namespace'],
      ['status', '--watch'],
      ['wait', 'site-upgrade', '--for', 'ready'],
      ['wait', 'site-upgrade', '--timeout', 'soon'],
      ['plan'],
      ['plan', 'site-upgrade', '-f', file('missing')],
      ['plan', '-f', file('missing')],
      ['plan', '-f', file('broken')],
      ['plan', 'site-upgrade', '--rate', 'fast'],
      ['plan', 'site-upgrade', '--batch-minutes', '0'],
      ['pause', 'site-upgrade', '--reason', ''],
      ['retry', 'site-upgrade', 'site-1', '--failed'],
      ['window', 'set', 'site-upgrade'],
      ['payload', 'included', file('missing')],
      ['payload', 'graph', file('missing'), '--format', 'png'],
      ['payload', 'diff', file('missing')],
      ['upgrade', 'plan', '-f', file('missing')],
      ['upgrade', 'plan', '-f', file('broken')],
      ['mirror'],
      ['mirror', '--from', file('missing'), '--to', 'mirror.example/flotilla'],
      ['join'],
      ['join', '--hub-kubeconfig', file('missing'), '--name', 'site-1', '--image', 'r.example/a:1', '--print'],
      ['join', '--hub-kubeconfig', file('dead'), '--name', 'site-1', '--image', 'r.example/a:1', '--print'],
      ['join', '--hub-kubeconfig', server.kubeconfig, '--hub-context', 'prod', '--name', 'site-1', '--image', 'r.example/a:1', '--print'],
      ['join', '--hub-kubeconfig', stranger, '--name', 'site-1', '--image', 'r.example/a:1', '--print'],
      ['payload', 'status', '-o', 'yaml'],
      ['upgrade', 'status', '-o', 'wide'],
      ['version', '--kubeconfig', file('missing')],
    ],
  };
}

/** Words of a sentence that says what to do. */
const STEP =
  /\b(name|named|give|write|leave|install|ask for|log in|create|add|see that|see what|lists?|help|Did you mean|must|needs|choose|correct|there is no|goes with|say|make|use|copy|is required)\b/i;

test('each line is answered by a sentence that says what to do', async () => {
  await writeFile(join(folder, 'broken'), 'kind: {\n  - [');
  const cluster = { name: 'c', cluster: { server: 'https://127.0.0.1:1' } };
  const context = { name: 'c', context: { cluster: 'c', user: 'u' } };
  await writeFile(
    join(folder, 'dead'),
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [cluster],
      contexts: [context],
      users: [{ name: 'u', user: {} }],
      'current-context': 'c',
    }),
  );
  const lines = Object.entries(mistakes()).flatMap(([mistake, of]) => of.map((line) => ({ mistake, line })));
  expect(lines.length).toBeGreaterThanOrEqual(200);
  const bad: string[] = [];
  await mapConcurrently(lines, 4, async ({ mistake, line }) => {
    const { code, out, err } = await flotilla(server.kubeconfig, ...line);
    const problems = [
      ...(code === 1 || code === 2 || code === 3 ? [] : [`ends with ${code}`]),
      ...(out === '' ? [] : ['writes to standard output']),
      ...(STEP.test(err) ? [] : ['names no next step']),
      ...(/^\s+at |\bnode:|TypeError|undefined|\[object|ZodError/m.test(err) ? ['shows its inside'] : []),
      ...(err.trim().split('\n').length <= 4 ? [] : [`says ${err.trim().split('\n').length} lines`]),
    ];
    if (problems.length > 0)
      bad.push(`${mistake}: flotilla ${line.join(' ').replaceAll(folder, '')}: ${problems.join(', ')}: ${err.trim().slice(0, 300)}`);
  });
  expect(bad.toSorted()).toEqual([]);
});
