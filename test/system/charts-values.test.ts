/** Values of the charts that helm refuses: a misspelt name and a value of another type would otherwise do nothing, in silence. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigMap } from '@flotilla/api/core';
import { runCommand } from '@flotilla/control-plane/processes';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { CHARTS } from './chart-hub.ts';
import type { Chart } from './chart-server.ts';

/** Keys below which names come from Kubernetes or a user, so that any name is right. */
const FREE = new Set(['resources', 'labels', 'annotations', 'podLabels', 'podAnnotations', 'nodeSelector', 'affinity']);

const Values = z.record(z.string(), z.unknown());
type Values = z.output<typeof Values>;

/** A value that the chart has, by its path. */
interface Entry {
  readonly path: readonly string[];
  readonly value: unknown;
}

function entriesOf(values: Values, above: readonly string[] = []): Entry[] {
  return Object.entries(values).flatMap(([key, value]): Entry[] => {
    const path = [...above, key];
    const below = FREE.has(key) ? undefined : Values.safeParse(value).data;
    return [{ path, value }, ...(below === undefined ? [] : entriesOf(below, path))];
  });
}

/** A tree with one more value, at a path. */
const put = (tree: Values, [key = '', ...below]: readonly string[], value: unknown): Values => ({
  ...tree,
  [key]: below.length === 0 ? value : put(Values.parse(tree[key] ?? {}), below, value),
});

/** A tree of what a function says of each entry. */
const treeOf = (entries: readonly Entry[], say: (entry: Entry) => Entry): Values =>
  entries.map(say).reduce((tree: Values, { path, value }) => put(tree, path, value), {});

/** A value of a type that the given one does not have. */
const mistyped = (value: unknown): unknown => (typeof value === 'string' ? 7 : 'seven');

/** The defaults of a chart, with the operator's configuration of the examples where there is one. */
async function valuesOf(chart: Chart): Promise<Values> {
  const values = Values.parse(parse(await readFile(join(CHARTS, chart, 'values.yaml'), 'utf8')));
  if (chart === 'hub') return values;
  const { data } = ConfigMap.schema.parse(parse(await readFile(join(CHARTS, '../examples/managed-upgrade/operator-config.yaml'), 'utf8')));
  return put(values, ['upgradeOperator', 'config'], parse(data?.['config.yaml'] ?? ''));
}
const given = { hub: await valuesOf('hub'), spoke: await valuesOf('spoke') };

let helm: string;
let dir: string;

beforeAll(async () => {
  helm = (await ensureTools(['helm'])).path('helm');
  dir = await mkdtemp(join(tmpdir(), 'flotilla-values-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

/** Lines in which helm says why it does not render a chart with these values. Helm checks them before a template asks for what is required. */
async function refusalOf(chart: Chart, values: Values): Promise<string[]> {
  const file = join(dir, 'values.json');
  await writeFile(file, JSON.stringify(values));
  const env = { HELM_CACHE_HOME: dir, HELM_CONFIG_HOME: dir, HELM_DATA_HOME: dir };
  const lines: string[] = [];
  const onLine = (line: string) => void lines.push(line.replace(/^[\s-]+/, ''));
  const args = ['template', 'release', join(CHARTS, chart), '--values', file];
  await expect(runCommand(helm, args, { env, timeoutMs: 60_000, onLine })).rejects.toThrow('helm');
  return lines;
}

const at = (path: readonly string[]) => `at '${path.map((key) => `/${key}`).join('')}':`;

describe.each(['hub', 'spoke'] as const)('values of chart %s', (chart) => {
  const rows = entriesOf(given[chart]).map((entry) => ({ ...entry, name: entry.path.join('.') }));
  /** All that is refused of a misspelling of every key, told in one run. */
  let misspelt: string[];
  /** The same of wrong types, by depth: a value of the wrong type hides those below it. */
  const ofAnotherType = new Map<number, string[]>();

  beforeAll(async () => {
    const misspell = ({ path, value }: Entry) => ({ path: [...path.slice(0, -1), `${path.at(-1)}x`], value });
    misspelt = await refusalOf(chart, treeOf(rows, misspell));
    for (const depth of new Set(rows.map(({ path }) => path.length))) {
      const those = rows.filter(({ path }) => path.length === depth);
      ofAnotherType.set(
        depth,
        await refusalOf(
          chart,
          treeOf(those, ({ path, value }) => ({ path, value: mistyped(value) })),
        ),
      );
    }
  });

  test.each(rows)('$name is refused when it is misspelt', ({ path }) => {
    const line = misspelt.find((each) => each.startsWith(`${at(path.slice(0, -1))} additional properties`));
    expect(line).toContain(`'${path.at(-1)}x'`);
  });

  test.each(rows)('$name is refused when it is of another type', ({ path, value }) => {
    const lines = ofAnotherType.get(path.length) ?? [];
    const wrong = typeof value === 'string' ? 'got number|must be one of' : 'got string|must be one of';
    expect(lines.filter((line) => line.startsWith(at(path)) && new RegExp(wrong).test(line)).length).toBeGreaterThan(0);
  });
});

test.each([
  { chart: 'hub', path: ['extraEnv'], item: { name: 'A', vale: 'b' }, why: "additional properties 'vale' not allowed" },
  { chart: 'spoke', path: ['extraEnv'], item: { name: 'A', value: true }, why: 'value' },
  { chart: 'spoke', path: ['rbac', 'extraRules'], item: { verbs: ['get'], resourceName: ['a'] }, why: "'resourceName' not allowed" },
  {
    chart: 'spoke',
    path: ['works', 'rules'],
    item: { apiGroups: [''], resources: ['secrets'], verbs: ['get'], resourceName: ['a'] },
    why: "'resourceName' not allowed",
  },
  {
    chart: 'spoke',
    path: ['versionOperator', 'rules'],
    item: { apiGroups: 'apps', resources: [], verbs: [] },
    why: 'got string, want array',
  },
] as const)('an item of $path of chart $chart is refused with $why', async ({ chart, path, item, why }) => {
  const lines = await refusalOf(chart, put({}, path, [item]));
  expect(lines.filter((line) => line.startsWith(at([...path, '0']).slice(0, -2)) && line.includes(why)).length).toBeGreaterThan(0);
});

/** A release's values of an earlier chart, as `helm upgrade --reuse-values` brings them, lack what is new; null takes a default away alike. */
test.each(['hub', 'spoke'] as const)('chart %s names each of its values that is not there', async (chart) => {
  const entries = entriesOf(Values.parse(parse(await readFile(join(CHARTS, chart, 'values.yaml'), 'utf8'))));
  const isRoom = ({ path, value }: Entry) => !FREE.has(path.at(-1) ?? '') && Object.keys(Values.safeParse(value).data ?? {}).length > 0;
  // A room that is gone hides those in it.
  const rooms = entries.filter(isRoom);
  const outermost = rooms.filter(({ path }) => !rooms.some((other) => other.path.length < path.length && isBelow(path, other.path)));
  for (const gone of [entries.filter((entry) => !isRoom(entry)), outermost]) {
    const lines = await refusalOf(
      chart,
      treeOf(gone, ({ path }) => ({ path, value: null })),
    );
    for (const { path } of gone) {
      const line = lines.find((each) => each.startsWith(`${at(path.slice(0, -1))} missing propert`));
      expect(line, path.join('.')).toContain(`'${path.at(-1)}'`);
    }
  }
});

const isBelow = (path: readonly string[], above: readonly string[]): boolean => above.every((key, index) => path[index] === key);

test.each([
  { name: 'a repository with a scheme', chart: 'hub', path: ['imageRegistry'], value: 'https://registry.example.com/flotilla' },
  { name: 'an allowed image with a scheme', chart: 'hub', path: ['precacheImageAllow', '0'], value: ['https://registry.example.com/a'] },
  { name: 'a host with a scheme', chart: 'spoke', path: ['versionOperator', 'registry', 'insecure', '0'], value: ['http://registry:5000'] },
  { name: 'more shares than the API has', chart: 'hub', path: ['agents', 'flowControl', 'shares'], value: 3e9 },
] as const)('$name is refused', async ({ chart, path, value }) => {
  const into = path.filter((key) => key !== '0');
  const lines = await refusalOf(chart, put({}, into, value));
  expect(lines.filter((line) => line.startsWith(at(path))).length).toBeGreaterThan(0);
});

test.each([
  {
    chart: 'hub',
    path: ['extraEnv'],
    value: [{ name: 'TALM_STRICT', value: 'true' }],
    why: 'extraEnv names TALM_STRICT, which the chart sets already',
  },
  { chart: 'hub', path: ['extraEnv'], value: [{ name: 'A' }, { name: 'A' }], why: 'extraEnv names A, which' },
  {
    chart: 'spoke',
    path: ['extraEnv'],
    value: [{ name: 'WORKS', value: 'true' }],
    why: 'extraEnv names WORKS, which the chart sets already',
  },
  {
    chart: 'hub',
    path: ['podLabels'],
    value: { 'app.kubernetes.io/name': 'x' },
    why: "podLabels names app.kubernetes.io/name, which is the chart's own",
  },
  ...(['alerts', 'dashboards', 'serviceMonitor'] as const).map((part) => ({
    chart: 'hub' as const,
    path: [part],
    value: { enabled: true, labels: { 'app.kubernetes.io/name': 'x' } },
    why: `${part}.labels names app.kubernetes.io/name, which is the chart's own`,
  })),
  { chart: 'spoke', path: ['podLabels'], value: { 'helm.sh/chart': 'x' }, why: "podLabels names helm.sh/chart, which is the chart's own" },
] as const)("$path of chart $chart may not take what is the chart's: $why", async ({ chart, path, value, why }) => {
  const needed = { hub: {}, spoke: { clusterName: 'a', hub: { kubeconfigSecret: 'b' }, confinement: { allowUnconfined: true } } }[chart];
  expect((await refusalOf(chart, put({ imageRegistry: 'registry.example.com/f', ...needed }, path, value))).join('\n')).toContain(why);
});

test.each(['hub', 'spoke'] as const)('chart %s refuses none of its own values', async (chart) => {
  expect((await refusalOf(chart, given[chart])).join('\n')).toMatch(/imageRegistry is not set|is required/);
});
