/** The blocks of charts/hub/README.md and charts/spoke/README.md, run as they stand from a checkout. */
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
  const images = JSON.stringify((await site.admin.list(Deployment, { namespace: 'flotilla' })).items.map(({ spec }) => spec));
  expect(images).toContain('"image":"registry.example.com/flotilla/');
});
