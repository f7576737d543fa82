/** What every command says, on a terminal of four widths and in a pipe, of one hub that stands still and whose spokes are hostile. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configCrds } from '@flotilla/api/config';
import { managedCrds } from '@flotilla/api/managed';
import { type CommandRow, commands } from '@flotilla/cli/commands';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { buildReleased, buildReleaseHead, writeRelease } from '@flotilla/release/testing';
import { expect, test } from 'vitest';
import { hubCrds } from '../../fixtures/crds.ts';
import { eachAttempt } from '../world.ts';
import { HOSTILE, seedHub } from './seeded-hub.ts';
import { steady, typeLines } from './typed-lines.ts';

const WIDTHS = [60, 80, 120, 200] as const;

let server: ApiServer;
let folder: string;
eachAttempt(
  async () => {
    folder = await mkdtemp(join(tmpdir(), 'flotilla-outputs-'));
    await writePayload(join(folder, 'payload'));
    server = await startApiServer({ crds: [...hubCrds(), ...configCrds(), ...managedCrds()] });
    await seedHub(await server.client());
  },
  async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  },
);

/** A release whose objects are as hostile as its names may be. */
async function writePayload(root: string): Promise<void> {
  const namespace = 'fleet';
  const bare = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace } };
  await writeRelease(root, {
    ...buildReleaseHead('4.18.10'),
    'manifests/0000_00_cluster-version-operator_00.json': buildReleased('v1', 'Namespace', namespace),
    'release-manifests/0000_30_crew_00_a.json': buildReleased('v1', 'ConfigMap', 'a', { namespace, data: { text: HOSTILE } }),
    'release-manifests/0000_30_crew_01_b.json': buildReleased('v1', 'ConfigMap', HOSTILE.slice(0, 60), { namespace }),
    'release-manifests/0000_30_crew_02_c.json': bare,
  });
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
  'limits',
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

const here = () => ({ kubeconfig: server.kubeconfig, folder });

test.each(WIDTHS)('on a terminal of %i columns', async (width) => {
  const text = await typeLines(here(), lines, { width });
  await expect(steady(text, here())).toMatchFileSnapshot(`outputs/${width}.txt`);
});

test('in a pipe, and on a terminal that wants no colours', async () => {
  const text = await typeLines(here(), lines);
  expect(text).not.toContain('\u001b');
  await expect(steady(text, here())).toMatchFileSnapshot('outputs/pipe.txt');
  const plain = await typeLines(here(), lines, { width: 120, env: { NO_COLOR: '1' } });
  expect(plain).not.toContain('\u001b');
});

test('as JSON, on a terminal: one value on a line, and no line of a spoke', async () => {
  const asJson = jsonLines.map((line) => `${line} -o json`);
  const answers = (await typeLines(here(), asJson, { width: 120 }))
    .split('\n')
    .filter((line) => line.startsWith('{') || line.startsWith('['));
  const parsed = answers.filter((line) => !line.startsWith('[exit ')).map((line) => JSON.parse(line) as unknown);
  expect(parsed).toHaveLength(jsonLines.length);
  expect(JSON.stringify(parsed)).toContain(String.raw`\u001b[2J`);
});
