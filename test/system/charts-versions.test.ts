/** Which versions of a chart may follow which: each program knows the objects of its neighbours alone. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { allObjects } from './all-objects.ts';
import { CHARTS, NAMESPACE } from './chart-hub.ts';
import { type Chart, type ChartServer, REQUIRED, sets, startChartServer } from './chart-server.ts';

let world: ChartServer;
let dir: string;

beforeAll(async () => {
  world = await startChartServer();
  dir = await mkdtemp(join(tmpdir(), 'flotilla-chart-versions-'));
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

const RELEASE = `versionOperator.release=registry.example.com/release@sha256:${'a'.repeat(64)}`;
const OPERATORS = [
  'agent.enabled=false',
  'upgradeOperator.createNamespace=false',
  'versionOperator.enabled=true',
  RELEASE,
  'upgradeOperator.enabled=true',
];
const VARIANTS: { name: string; chart: Chart; values: readonly string[]; deployment: string }[] = [
  { name: 'the hub', chart: 'hub', values: [], deployment: 'hub-flotilla-hub' },
  { name: 'an agent', chart: 'spoke', values: [], deployment: 'agent-flotilla-spoke' },
  { name: 'operators alone', chart: 'spoke', values: OPERATORS, deployment: 'operators-flotilla-spoke-version-operator' },
];

/** Packages a chart as a release of this version does, and upgrades to it. */
async function upgradeTo(version: string, { chart, values, deployment }: (typeof VARIANTS)[number]): Promise<string> {
  await world.helm('package', join(CHARTS, chart), '--destination', dir, '--version', version, '--app-version', version);
  const [release = ''] = deployment.split('-');
  const file = join(dir, `flotilla-${chart}-${version}.tgz`);
  return world.helm('upgrade', '--install', release, file, '-n', NAMESPACE, ...sets([...REQUIRED[chart], ...values]));
}

const Labelled = z.looseObject({ metadata: z.looseObject({ labels: z.looseObject({ 'app.kubernetes.io/version': z.string() }) }) });
async function versionOf(deployment: string): Promise<string> {
  const path = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/${deployment}`;
  return Labelled.parse(await world.admin.request('GET', path)).metadata.labels['app.kubernetes.io/version'];
}

describe.each(VARIANTS)('$name', (variant) => {
  const { deployment } = variant;

  test('goes one minor version on and back, and no further', async () => {
    await upgradeTo('1.2.3', variant);
    for (const next of ['1.4.0', '1.0.9', '3.0.0', '2.1.0', '0.9.0']) {
      const before = [...(await allObjects(world.admin)).keys()];
      await expect(upgradeTo(next, variant)).rejects.toThrow(/version 1\.2\.3 is installed.*install each minor version between them first/);
      expect([...(await allObjects(world.admin)).keys()]).toEqual(before);
      expect(await versionOf(deployment)).toBe('1.2.3');
    }
    for (const next of ['1.3.0-rc.1', '1.3.1', '1.2.9', '2.0.0', '1.9.0', '2.0.1']) {
      await upgradeTo(next, variant);
      expect(await versionOf(deployment)).toBe(next);
    }
  });

  test('goes back to the release before, as it was', async () => {
    const [release = ''] = deployment.split('-');
    const before = await versionOf(deployment);
    await upgradeTo('2.1.0', variant);
    await world.helm('rollback', release, '-n', NAMESPACE);
    expect(await versionOf(deployment)).toBe(before);
  });
});

test('a chart of nothing is refused', async () => {
  const args = ['template', 'nothing', join(CHARTS, 'spoke'), ...sets([...REQUIRED.spoke, 'agent.enabled=false'])];
  await expect(world.helm(...args)).rejects.toThrow('set agent.enabled, upgradeOperator.enabled or versionOperator.enabled');
});

test('operators alone come without an agent, its rights and its values', async () => {
  const image = 'imageRegistry=registry.example.com/flotilla';
  const rendered = await world.helm('template', 'alone', join(CHARTS, 'spoke'), ...sets([image, ...OPERATORS]));
  expect(rendered).toContain('name: alone-flotilla-spoke-version-operator');
  expect(rendered).toContain('name: alone-flotilla-spoke-upgrade-operator');
  expect(rendered).not.toMatch(/spoke-agent|pre-cache|ValidatingAdmissionPolicy|impersonate/);
});
