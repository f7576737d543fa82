import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endCommand } from '@flotilla/control-plane/processes';
import { buildReleaseHead, INCLUDED, writeRelease } from '@flotilla/release/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const main = join(import.meta.dirname, '../main.ts');
let root = '';

const object = (kind: string, name: string, annotations: object = INCLUDED): object => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, annotations },
});
const files = {
  ...buildReleaseHead('4.20.1', { a: 'host/a:1' }),
  'manifests/0000_00_cluster-version-operator_00.yaml': object('Namespace', 'own'),
  'release-manifests/0000_50_a_00.yaml': object('Namespace', 'a'),
  'release-manifests/0000_50_b_00.yaml': object('Namespace', 'b'),
  'release-manifests/0000_50_b_01.yaml': object('Namespace', 'other', { 'release.openshift.io/feature-gate': 'G' }),
};

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'flotilla-payload-'));
  await writeRelease(root, files);
});
afterAll(() => rm(root, { recursive: true, force: true }));

const flotilla = (...args: string[]) => endCommand(process.execPath, [main, ...args], { cwd: root, env: { INIT_CWD: root } });

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

test('a release knows the capabilities that it lists itself, which may be newer than this program', async () => {
  const names = ['Console', 'FromTomorrow'];
  const knownCapabilities = { type: 'array', items: { type: 'string', enum: names } };
  const status = { type: 'object', properties: { capabilities: { type: 'object', properties: { knownCapabilities } } } };
  const schema = { openAPIV3Schema: { type: 'object', properties: { status } } };
  const annotations = { 'include.release.openshift.io/self-managed-high-availability': 'true' };
  const definition = {
    ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
    metadata: { name: 'clusterversions.config.openshift.io', annotations },
    spec: { group: 'config.openshift.io', names: { kind: 'ClusterVersion' }, versions: [{ name: 'v1', served: true, schema }] },
  };
  const capable = (name: string) => object('Namespace', name.toLowerCase(), { ...annotations, 'capability.openshift.io/name': name });
  const added = {
    'release-manifests/0000_60_a_00.json': definition,
    'release-manifests/0000_60_a_01.json': capable('FromTomorrow'),
    'release-manifests/0000_60_a_02.json': capable('Insights'),
  };
  await writeRelease(root, added);
  const { stdout } = await flotilla('payload', 'included', '.', '--why', '--json');
  const refused = await flotilla('payload', 'included', '.', '--enable-capability', 'Insights');
  for (const path of Object.keys(added)) await rm(join(root, path));
  expect(JSON.parse(stdout).filter(({ rule }: { rule: string }) => rule === 'capability')).toEqual([
    expect.objectContaining({ name: 'insights', message: 'unrecognized capability names: Insights' }),
  ]);
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain('Insights is not known; there are Console, FromTomorrow');
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

describe('what is wrong', () => {
  test('by file and line, with code 3 for errors', async () => {
    const path = 'release-manifests/0000_50_c_00.yaml';
    await writeRelease(root, { [path]: object('ServiceAccount', 'c', { ...INCLUDED, 'release.openshift.io/delete': 'yes' }) });
    const { code, stdout, stderr } = await flotilla('payload', 'lint', '.');
    await rm(join(root, path));
    expect({ code, stdout, stderr }).toEqual({
      code: 3,
      stdout: `release-manifests/0000_50_b_01.yaml:1: warning: annotation: Namespace other: annotations have no include.release.openshift.io/<profile>: no cluster takes the manifest
${path}:1: error: annotation: ServiceAccount c: release.openshift.io/delete has the value "yes"; write "true", or take it away
${path}:1: error: kind: ServiceAccount c: has no metadata.namespace, which its kind needs
`,
      stderr: '2 errors, 1 warnings\n',
    });
  });

  test('warnings alone are no failure but with --strict; as JSON', async () => {
    const { code, stdout } = await flotilla('payload', 'lint', '.', '--json');
    expect({ code, found: JSON.parse(stdout) }).toEqual({
      code: 0,
      found: [expect.objectContaining({ level: 'warning', rule: 'annotation', file: 'release-manifests/0000_50_b_01.yaml', line: 1 })],
    });
    expect((await flotilla('payload', 'lint', '.', '--strict')).code).toBe(3);
  });

  test('of a payload that cannot be loaded', async () => {
    await rm(join(root, 'release-manifests/image-references'));
    const { code, stdout } = await flotilla('payload', 'lint', '.');
    await writeRelease(root, files);
    expect(code).toBe(3);
    expect(stdout).toContain('release-manifests/image-references:1: error: layout: the payload has no release-manifests/image-references');
  });

  test('of one ClusterOperator', async () => {
    await writeFile(join(root, 'co.yaml'), 'apiVersion: config.openshift.io/v1\nkind: ClusterOperator\nmetadata: {name: a}\nspec: {}\n');
    const { code, stdout } = await flotilla('payload', 'lint', 'co.yaml');
    expect(code).toBe(3);
    expect(stdout).toContain('co.yaml:2: error: CO-1: ClusterOperator a: lists no versions');
  });
});

describe('refused with a sentence and a code, 2 for what was typed wrong; nothing on standard output', () => {
  test.each<{ name: string; args: string[]; ends?: number; want: RegExp }>([
    { name: 'no folder', args: ['included', 'nowhere'], want: /^flotilla: .*nowhere cannot be read/ },
    { name: 'a folder without a payload', args: ['included', 'manifests'], want: /has no folder manifests\/; give the root of a release/ },
    { name: 'a file', args: ['graph', 'manifests/0000_00_cluster-version-operator_00.yaml'], want: /is no folder/ },
    {
      name: 'wrong options',
      args: ['graph', '.', '--format', 'x', '--seed', '-', '--feature-set', 'y'],
      ends: 2,
      want: /--feature-set is "y": must be one of .*; --format is "x": must be one of dot, mermaid, json; --seed is "-": must be a whole number/,
    },
    { name: 'no folder to look at', args: ['lint', 'nowhere'], want: /^flotilla: .*nowhere cannot be read/ },
    { name: 'an image that is none', args: ['lint', 'host.example/Release:1'], want: /its repository must be lower-case/ },
    {
      name: 'a pull secret that is not there',
      args: ['graph', 'host.example/release:1', '--pull-secret', 'no'],
      ends: 2,
      want: /--pull-secret: .*no cannot be read/,
    },
    {
      name: 'an unknown capability',
      args: ['included', '.', '--enable-capability', 'X'],
      ends: 2,
      want: /--enable-capability: X is not known/,
    },
  ])('$name', async ({ args, ends = 1, want }) => {
    const { code, stdout, stderr } = await flotilla('payload', ...args);
    expect({ code, stdout }).toEqual({ code: ends, stdout: '' });
    expect(stderr).toMatch(want);
  });
});
