import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const main = join(import.meta.dirname, '../main.ts');
let root = '';

const object = (
  kind: string,
  name: string,
  annotations: object = { 'include.release.openshift.io/self-managed-high-availability': 'true' },
): string => JSON.stringify({ apiVersion: 'v1', kind, metadata: { name, annotations } });
const files: Readonly<Record<string, string>> = {
  'release-manifests/release-metadata': '{"kind":"cincinnati-metadata-v0","version":"4.20.1"}',
  'release-manifests/image-references':
    '{"kind":"ImageStream","apiVersion":"image.openshift.io/v1","metadata":{"name":"4.20.1"},"spec":{"tags":[{"name":"a","from":{"kind":"DockerImage","name":"host/a:1"}}]}}',
  'manifests/0000_00_cluster-version-operator_00.yaml': object('Namespace', 'own'),
  'release-manifests/0000_50_a_00.yaml': object('Namespace', 'a'),
  'release-manifests/0000_50_b_00.yaml': object('Namespace', 'b'),
  'release-manifests/0000_50_b_01.yaml': object('Namespace', 'other', { 'release.openshift.io/feature-gate': 'G' }),
};

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'flotilla-payload-'));
  for (const folder of ['manifests', 'release-manifests']) await mkdir(join(root, folder));
  for (const [path, text] of Object.entries(files)) await writeFile(join(root, path), text);
});
afterAll(() => rm(root, { recursive: true, force: true }));

interface Outcome {
  readonly code: number | string | null | undefined;
  readonly stdout: string;
  readonly stderr: string;
}
const flotilla = (...args: string[]): Promise<Outcome> =>
  new Promise((resolve) => {
    execFile(process.execPath, [main, ...args], { cwd: root, env: { ...process.env, INIT_CWD: root } }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    );
  });

test('what is included, as JSON on a clean standard output', async () => {
  const { code, stdout, stderr } = await flotilla('payload', 'included', '.', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual([
    { file: '0000_00_cluster-version-operator_00.yaml', kind: 'Namespace', namespace: '', name: 'own' },
    { file: '0000_50_a_00.yaml', kind: 'Namespace', namespace: '', name: 'a' },
    { file: '0000_50_b_00.yaml', kind: 'Namespace', namespace: '', name: 'b' },
  ]);
  expect(stderr).toContain('4.20.1: 3 of 4 manifests are included');
});

test('what is left out and why, as a table', async () => {
  const { stdout } = await flotilla('payload', 'included', '.', '--why');
  expect(stdout).toMatch(
    /^FILE +KIND +NAMESPACE +NAME +RULE +WHY\n0000_50_b_01\.yaml +Namespace +other +feature-gate +feature gate G is required but not enabled\n$/,
  );
});

test('the order of an update, as JSON', async () => {
  const { stdout } = await flotilla('payload', 'graph', '.', '--format', 'json');
  const { nodes } = JSON.parse(stdout);
  expect(
    nodes.map(({ id, manifests, after }: { id: string; manifests: { name: string }[]; after: string[] }) => [
      id,
      manifests.map(({ name }) => name),
      after,
    ]),
  ).toEqual([
    ['n0', [], []],
    ['n1', ['own'], ['n0']],
    ['n2', ['a'], ['n1']],
    ['n3', ['b'], ['n1']],
  ]);
});

test.each([
  { format: 'dot', want: 'n1 -> n2;' },
  { format: 'mermaid', want: 'n1 --> n2' },
])('the order of an update for $format', async ({ format, want }) => {
  expect((await flotilla('payload', 'graph', '.', '--format', format)).stdout).toContain(want);
});

describe('refused with a sentence and code 1, nothing on standard output', () => {
  test.each<{ name: string; args: string[]; want: RegExp }>([
    { name: 'no folder', args: ['included', 'nowhere'], want: /^flotilla: .*nowhere cannot be read/ },
    { name: 'a folder without a payload', args: ['included', 'manifests'], want: /has no folder manifests\/; give the root of a release/ },
    { name: 'a file', args: ['graph', 'manifests/0000_00_cluster-version-operator_00.yaml'], want: /is no folder/ },
    {
      name: 'wrong options',
      args: ['graph', '.', '--format', 'x', '--seed', '-', '--feature-set', 'y'],
      want: /--feature-set: must be one of .*; --format: must be one of dot, mermaid, json; --seed: must be a whole number/,
    },
    { name: 'an unknown capability', args: ['included', '.', '--enable-capability', 'X'], want: /--enable-capability: X is not known/ },
  ])('$name', async ({ args, want }) => {
    const { code, stdout, stderr } = await flotilla('payload', ...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(want);
  });
});
