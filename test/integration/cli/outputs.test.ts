/** What every command says, on a terminal of four widths and in a pipe, of one hub that stands still and whose spokes are hostile. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { configCrds } from '@flotilla/api/config';
import { managedCrds } from '@flotilla/api/managed';
import { type CommandRow, commands } from '@flotilla/cli/commands';
import { childEnvironment } from '@flotilla/control-plane/processes';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { buildReleaseHead } from '@flotilla/release/testing';
import { expect, test } from 'vitest';
import { hubCrds } from '../../fixtures/crds.ts';
import { eachAttempt } from '../world.ts';
import { HOSTILE, seedHub } from './seeded-hub.ts';

const MANY = join(import.meta.dirname, 'many-commands.ts');
const WIDTHS = [60, 80, 120, 200] as const;

let server: ApiServer;
let folder: string;
eachAttempt(
  async () => {
    folder = await mkdtemp(join(tmpdir(), 'flotilla-outputs-'));
    await writePayload(join(folder, 'payload'));
    server = await startApiServer({ crds: [...hubCrds(), ...configCrds(), ...managedCrds()] });
    await seedHub(await server.client());
    await writeFile(join(folder, 'lines.json'), JSON.stringify(lines.map((line) => line.split(' '))));
    await writeFile(join(folder, 'json.json'), JSON.stringify(jsonLines.map((line) => `${line} -o json`.split(' '))));
  },
  async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  },
);

/** A release whose objects are as hostile as its names may be. */
async function writePayload(root: string): Promise<void> {
  const include = { 'include.release.openshift.io/self-managed-high-availability': 'true' };
  const files = {
    ...buildReleaseHead('4.18.10'),
    'manifests/0000_00_cluster-version-operator_00.json': {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'fleet', annotations: include },
    },
    'release-manifests/0000_30_crew_00_a.json': {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'fleet', annotations: include },
      data: { text: HOSTILE },
    },
    'release-manifests/0000_30_crew_01_b.json': {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: HOSTILE.slice(0, 60), namespace: 'fleet', annotations: include },
    },
    'release-manifests/0000_30_crew_02_c.json': { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: 'fleet' } },
  };
  for (const [path, object] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), JSON.stringify(object));
  }
}

/** Commands whose answers are read as JSON, too. */
const jsonLines = [
  'status',
  'status rolling',
  'plan pulling --no-images',
  'wait pulling --for cached --timeout 0',
  'why pulling',
  'why pulling site-3',
  'why rolling site-4',
  'pause rolling --now --dry-run',
  'resume rolling --dry-run',
  'retry rolling --dry-run',
  'hold site-1 --dry-run',
  'unhold site-4 --dry-run',
  'window show rolling',
  'window set rolling --start 2098-01-01T00:00:00Z --dry-run',
  'window clear rolling --dry-run',
  'payload included payload',
  'payload graph payload',
  'payload lint payload',
  'payload status',
  'payload diff payload',
  'upgrade plan',
  'upgrade status',
  'check talm',
];
const lines = [
  ...jsonLines,
  'status -o wide',
  'why ended site-2',
  'pause ended --dry-run',
  'payload included payload --why',
  'completion bash --nothing',
  // What a hub, a registry or a browser has to answer is told by its own tests.
  'join --name site-1',
  'mirror --from payload',
  'console --context nowhere',
  'version --context nowhere',
];

test('every command is asked', () => {
  const leaves = (rows: readonly CommandRow[], above = ''): string[] =>
    rows.flatMap(({ name, load, commands: below = [] }) => [...(load ? [`${above}${name}`] : []), ...leaves(below, `${above}${name} `)]);
  const missing = leaves(commands).filter((leaf) => !lines.some((line) => line === leaf || line.startsWith(`${leaf} `)));
  expect(missing).toEqual([]);
});

const ESCAPE = '\u001b';
const COLOURS = new RegExp(`${ESCAPE}\\[(\\d{1,2})m`, 'g');

/** What is not the same in each run; its replacement is as long where columns follow. */
const steady = (text: string): string =>
  text
    .replaceAll(/https:\/\/127\.0\.0\.1:\d+/g, '<server>')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, '<time>')
    .replaceAll(COLOURS, '<$1>')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\dZ/g, '<to the minute>')
    .replaceAll(/ends in ~ .* min$/gm, 'ends in ~ <forecast by the pace so far>')
    .replaceAll(server.kubeconfig, '<kubeconfig>')
    .replaceAll(folder, '<folder>');

/** Own colours, in the order in which they come: on, then off. */
const OWN_COLOURS = new RegExp(`${ESCAPE}\\[(?:2|31|32|33|0)m`, 'g');

function expectHarmless(text: string, isTerminal: boolean): void {
  const plain = isTerminal ? text.replaceAll('\r\n', '\n').replaceAll(OWN_COLOURS, '') : text;
  const strays = plain.match(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu) ?? [];
  expect(strays.map((sign) => sign.codePointAt(0)?.toString(16))).toEqual([]);
}

test.each(WIDTHS)('on a terminal of %i columns', async (width) => {
  const text = await say('lines.json', width);
  expectHarmless(text, true);
  await expect(steady(text.replaceAll('\r\n', '\n'))).toMatchFileSnapshot(`outputs/${width}.txt`);
});

test('in a pipe, and on a terminal that wants no colours', async () => {
  const text = await say('lines.json');
  expectHarmless(text, false);
  expect(text).not.toContain('\u001b');
  await expect(steady(text)).toMatchFileSnapshot('outputs/pipe.txt');
  const plain = await say('lines.json', 120, { NO_COLOR: '1' });
  expect(plain).not.toContain('\u001b');
});

test('as JSON, on a terminal: one value on a line, and no line of a spoke', async () => {
  const text = await say('json.json', 120);
  expectHarmless(text, true);
  const answers = text
    .replaceAll('\r\n', '\n')
    .split('\n')
    .filter((line) => line.startsWith('{') || line.startsWith('['));
  const parsed = answers.filter((line) => !line.startsWith('[exit ')).map((line) => JSON.parse(line) as unknown);
  expect(parsed).toHaveLength(jsonLines.length);
  expect(JSON.stringify(parsed)).toContain(String.raw`\u001b[2J`);
});

/** What the commands of a file say together. @param width columns of a pty; default: a pipe */
async function say(file: string, width?: number, more: Readonly<Record<string, string>> = {}): Promise<string> {
  const env = childEnvironment({
    KUBECONFIG: server.kubeconfig,
    HOME: folder,
    INIT_CWD: folder,
    TZ: 'UTC',
    TERM: 'xterm',
    LC_ALL: 'C.UTF-8',
    ...more,
  });
  const node = [process.execPath, MANY, join(folder, file)];
  const [command = '', ...args] =
    width === undefined
      ? node
      : [
          'script',
          '--quiet',
          '--return',
          '--command',
          `stty cols ${width} rows 50; exec ${node.map((word) => `'${word}'`).join(' ')}`,
          '/dev/null',
        ];
  const child = spawn(command, args, { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
  const [code] = await once(child, 'close');
  expect(code, out.slice(-2_000)).toBe(0);
  return out;
}
