/** The blocks on installing a chart, of charts/hub/README.md, charts/spoke/README.md, docs/release.md and docs/console.md, run as they stand. */
import { readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { untyped } from '@flotilla/api';
import { expect, test } from 'vitest';
import { CHARTS } from './chart-hub.ts';
import { Site } from './site.ts';

const Deployment = untyped('apps/v1', 'Deployment', 'deployments');

test.each([
  { chart: 'hub', heading: 'Chart of the hub' },
  { chart: 'spoke', heading: 'Chart of the spoke agent' },
])('charts/$chart/README.md installs the chart', async ({ chart, heading }) => {
  await using site = await Site.start([]);
  site.cwd = site.dir;
  await symlink(CHARTS, join(site.dir, 'charts'));
  // The reader has the hub's kubeconfig for this spoke.
  await symlink(site.server.kubeconfig, join(site.dir, 'hub.kubeconfig'));
  await site.follow(await readFile(join(CHARTS, chart, 'README.md'), 'utf8'), heading);
  expect(await installed(site)).toContain('"image":"registry.example.com/flotilla/');
});

/** What was installed, as text. */
const installed = async ({ admin }: Site): Promise<string> =>
  JSON.stringify(
    (await admin.list(Deployment, { namespace: 'flotilla' })).items.map(({ metadata, spec }) => ({ name: metadata.name, spec })),
  );

test('docs/release.md installs the packaged chart, and docs/console.md adds the console to it', async () => {
  await using site = await Site.start([]);
  const docs = join(CHARTS, '../docs');
  site.cwd = join(await site.package('hub', '1.2.3'), 'charts');
  await site.follow(await readFile(join(docs, 'release.md'), 'utf8'), 'The image registry of a chart');
  expect(await installed(site)).toContain('"image":"registry.example.com/flotilla/hub');
  expect(await installed(site)).not.toContain('console');
  Object.assign(site.variables, { DIR: site.dir, VERSION: '1.2.3' });
  await site.follow(await readFile(join(docs, 'console.md'), 'utf8'), 'In the cluster');
  expect(await installed(site)).toContain('https://console.example.com');
});
