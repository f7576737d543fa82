/** Refusals of the charts that a release has: each says what is right, not only what is wrong. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '@flotilla/control-plane/processes';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { appNames } from '../../tools/src/images/apps.ts';
import { packageCharts } from '../../tools/src/release/charts.ts';
import { CHARTS } from './chart-hub.ts';
import { type Chart, REQUIRED } from './chart-server.ts';

const VERSION = '7.8.9';
const DIGEST = `sha256:${'a'.repeat(64)}`;

let helm: string;
let dir: string;

beforeAll(async () => {
  helm = (await ensureTools(['helm'])).path('helm');
  dir = await mkdtemp(join(tmpdir(), 'flotilla-hints-'));
  const source = { version: VERSION, commit: 'c0ffee', committedAt: 1_767_323_045 };
  const digests = Object.fromEntries(appNames.map((app) => [app, DIGEST]));
  await packageCharts({ root: join(CHARTS, '..'), output: dir, helm, source, digests, registry: '' });
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const packaged = (chart: Chart): string => join(dir, `flotilla-${chart}-${VERSION}.tgz`);

/** Lines that helm prints of a chart, on both outputs. */
async function run(command: readonly string[], chart: Chart, values: readonly string[]): Promise<string> {
  const env = { HELM_CACHE_HOME: dir, HELM_CONFIG_HOME: dir, HELM_DATA_HOME: dir };
  const lines: string[] = [];
  const args = [...command, packaged(chart), ...values.flatMap((value) => ['--set', value])];
  const printed = await runCommand(helm, args, { env, onLine: (line) => void lines.push(line) }).catch(() => '');
  return [printed, ...lines].join('\n');
}

const TEMPLATE = ['template', 'release', '--kube-version', '1.36.0'];

test.each(['hub', 'spoke'] as const)(
  'helm lint of chart %s without values says which are missing, and finds nothing else',
  async (chart) => {
    const printed = await run(['lint'], chart, []);
    expect(printed).toContain('imageRegistry is not set and has no default');
    expect(printed).toContain('0 chart(s) failed');
    if (chart === 'spoke') expect(printed).toContain('clusterName is required');
  },
);

test.each([
  { chart: 'hub', value: 'autoupgrades=true', name: 'autoUpgrades' },
  { chart: 'hub', value: 'talm_strict=true', name: 'talmStrict' },
  { chart: 'hub', value: 'image.diges=x', name: 'digest' },
  { chart: 'hub', value: 'console.apiServer.uri=x', name: 'url' },
  { chart: 'spoke', value: 'versionOperator.realease=x', name: 'release' },
] as const)('chart $chart answers $value with the name that is meant: $name', async ({ chart, value, name }) => {
  expect(await run(TEMPLATE, chart, [...REQUIRED[chart], value])).toMatch(new RegExp(`invalid propertyName[^]*must be '${name}'`));
});

test.each([
  { chart: 'hub', value: 'imageRegistry=https://r.example.com', example: 'registry.example.com/flotilla' },
  { chart: 'hub', value: 'image.digest=latest', example: 'sha256:e3b0' },
  { chart: 'hub', value: 'alerts.stuckAfter=soon', example: '2h' },
  { chart: 'spoke', value: 'clusterName=Spoke_1', example: 'spoke-1' },
] as const)('chart $chart answers $value with an example: $example', async ({ chart, value, example }) => {
  expect(await run(TEMPLATE, chart, [...REQUIRED[chart], value])).toContain(`for example ${example}`);
});

test.each(['hub', 'spoke'] as const)('chart %s renders with what it requires', async (chart) => {
  expect(await run(TEMPLATE, chart, REQUIRED[chart])).toContain('kind: Deployment');
});

test.each([
  { chart: 'hub', values: ['alerts.enabled=true'] },
  { chart: 'spoke', values: ['upgradeOperator.enabled=true', 'upgradeOperator.alerts.enabled=true'] },
] as const)('alerts of chart $chart link to the runbook of its version', async ({ chart, values }) => {
  const links = [...(await run(TEMPLATE, chart, [...REQUIRED[chart], ...values])).matchAll(/runbook_url: (\S+)/g)].map(([, link]) => link);
  expect(links.length).toBeGreaterThan(5);
  for (const link of links) expect(link).toMatch(/^https:\/\/\S+\/blob\/v7\.8\.9\/docs\/runbooks\.md#\w+$/);
});

test('the notes of a hub of tenants say that it creates no upgrades', async () => {
  const notes = ['install', 'release', '--dry-run=client'];
  const tenancy = 'autoUpgrades is off because tenancy is on';
  expect(await run(notes, 'hub', [...REQUIRED.hub, 'tenancy=true'])).toContain(tenancy);
  const without = await run(notes, 'hub', [...REQUIRED.hub, 'tenancy=true', 'autoUpgrades=false']);
  expect(without).toContain('The hub runs as Deployment');
  expect(without).not.toContain(tenancy);
});
