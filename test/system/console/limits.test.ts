/** The limits of the fleet on the console's page: a real API server whose upgrades stand still, a real browser. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { conditionTime } from '@flotilla/api';
import { ConfigMap, Lease, Namespace } from '@flotilla/api/core';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, FleetLimitsName } from '@flotilla/api/ran';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { registerSpokes } from '@flotilla/control-plane/simulators';
import { waitForPlace, waitMessage } from '@flotilla/rollout';
import type { Client } from '@flotilla/runtime';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { hubCrds } from '../../fixtures/crds.ts';
import { testIn } from '../../integration/world.ts';
import { look, NO_BROWSER, startBrowser, violations } from './browser.ts';
import { startConsole } from './console.ts';

const REGIONS = 12;
const LIMITS = { namespace: 'flotilla', name: FleetLimitsName.configMap };
/** A folder for pictures; none are taken without it. */
const PICTURES = process.env.FLOTILLA_PICTURES;

/** A hub on which `ran/pulls` has all places of region-0, `ran/waits` waits for one there, and `ran/rolls` is being upgraded. */
class LimitedHub implements AsyncDisposable {
  readonly server: ApiServer;
  readonly client: Client;

  private constructor(server: ApiServer, client: Client) {
    this.server = server;
    this.client = client;
  }

  static async start(): Promise<LimitedHub> {
    const server = await startApiServer({ crds: hubCrds(), users: [{ name: 'nobody' }] });
    const client = await server.client();
    await furnish(client);
    return new LimitedHub(server, client);
  }

  /** Writes the ConfigMap anew. */
  async limit(text: string): Promise<void> {
    await this.unlimit();
    await this.client.create(ConfigMap, { metadata: LIMITS, data: { [FleetLimitsName.key]: text } });
  }

  async unlimit(): Promise<void> {
    if (await this.client.get(ConfigMap, LIMITS)) await this.client.delete(ConfigMap, LIMITS);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.server.stop();
  }
}

const spokesOf = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
const [pulls, waits, rolls] = [spokesOf('pulls', 4), spokesOf('waits', 3), spokesOf('rolls', 2)];

async function furnish(client: Client): Promise<void> {
  for (const name of ['flotilla', 'ran']) await client.create(Namespace, { metadata: { name } });
  // A hub that leads: without one nobody knows of anything that it goes on.
  const renewTime = new Date(Date.now() + 3_600_000).toISOString().replace('Z', '000Z');
  await client.create(Lease, {
    metadata: { namespace: 'flotilla', name: 'flotilla-hub' },
    spec: { holderIdentity: 'hub-1', leaseDurationSeconds: 15, renewTime, acquireTime: renewTime },
  });
  const spokes = [...pulls, ...waits, ...rolls, ...spokesOf('other', REGIONS)];
  await registerSpokes(client, spokes);
  for (const [index, name] of spokes.entries()) {
    const region = `region-${name.startsWith('pulls') || name.startsWith('waits') ? 0 : index % REGIONS}`;
    await client.patch(ManagedCluster, { name }, { metadata: { labels: { region } } }, { type: 'merge' });
  }
  const at = new Date(Date.now() + 3_600_000).toISOString();
  const progress = (bytesPerSecond: number) => ({ imagesDone: 1, imagesTotal: 9, bytesDone: 1, bytesTotal: 9, bytesPerSecond, at });
  const place = { id: 'region=region-0', most: 4, of: { label: 'region', value: 'region-0' } };
  const waiting = waitMessage(waitForPlace(place, 'pulling', { holders: ['ran/pulls'], own: 'ran/waits' }));
  await upgrade(client, 'pulls', pulls, {
    precaching: {
      status: Object.fromEntries(pulls.map((name) => [name, 'Active'])),
      progress: Object.fromEntries(pulls.slice(1).map((name) => [name, progress(1_500_000)])),
    },
    status: {},
  });
  await upgrade(client, 'waits', waits, {
    precaching: {
      status: Object.fromEntries(waits.map((name) => [name, 'NotStarted'])),
      messages: Object.fromEntries(waits.slice(1).map((name) => [name, waiting])),
    },
    status: {},
  });
  await upgrade(client, 'rolls', rolls, {
    conditions: [...accepted, condition('Progressing', 'InProgress')],
    status: {
      startedAt: conditionTime(Date.now()),
      currentBatch: 1,
      currentBatchStartedAt: conditionTime(Date.now()),
      currentBatchRemediationProgress: Object.fromEntries(rolls.map((name) => [name, { state: 'InProgress' }])),
    },
  });
}

const condition = (type: string, reason: string) => ({
  type,
  status: 'True',
  reason,
  message: 'x',
  lastTransitionTime: conditionTime(Date.now()),
});
const accepted = [
  condition('ClustersSelected', 'ClusterSelectionCompleted'),
  condition('Validated', 'ValidationCompleted'),
  condition('PrecacheSpecValid', 'PrecacheSpecIsWellFormed'),
];

async function upgrade(client: Client, name: string, clusters: readonly string[], status: object): Promise<void> {
  const ref = { namespace: 'ran', name };
  const spec = { clusters, managedPolicies: ['p'], preCaching: true, remediationStrategy: { maxConcurrency: 9, timeout: 240 } };
  await client.create(ClusterGroupUpgrade, { metadata: ref, spec });
  const planned = { observedGeneration: 1, conditions: accepted, remediationPlan: [clusters], computedMaxConcurrency: 9, ...status };
  await client.patch(ClusterGroupUpgrade, ref, { status: planned }, { type: 'merge', subresource: 'status' });
}

const test = testIn(() => LimitedHub.start());

let browser: Browser | undefined;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.close());

const lane = (page: Page) => page.getByRole('region', { name: 'Limits of the fleet' });
const rowOf = (page: Page, name: string) =>
  lane(page)
    .getByRole('row')
    .filter({ has: page.getByRole('rowheader', { name, exact: true }) });
const ALL = 'pulling: 6\nupgrading: 3\nbytesPerSecond: 9000000\nbyLabel:\n- label: region\n  pulling: 4\n';

test('each limit says how many places are taken, who has them and who waits, and leads to the upgrades', async ({ world, skip }) => {
  if (!browser) return skip(NO_BROWSER);
  await world.limit(ALL);
  await using running = await startConsole(world.server.kubeconfig);
  await using seen = await look(browser, await running.address());
  const { page } = seen;
  const full = rowOf(page, 'region=region-0 pre-cache');
  await full.getByRole('img', { name: 'region=region-0 pre-cache: 4 of 4' }).waitFor();
  expect(await full.getByRole('cell').allInnerTexts()).toEqual(['2', '4 of 4', 'ran/pulls 4', 'ran/waits 2']);
  expect(await rowOf(page, 'all be upgraded').getByRole('cell').allInnerTexts()).toEqual(['0', '2 of 3', 'ran/rolls 2', '–']);
  // One puller has not reported its rate.
  expect(await rowOf(page, 'all pull a second').getByRole('cell').allInnerTexts()).toEqual([
    '–',
    '~ 4.50 MB of 9.00 MB',
    'ran/pulls 4',
    '–',
  ]);
  // Those of all, then the one that holds back most.
  expect((await lane(page).getByRole('rowheader').allInnerTexts())[3]).toBe('region=region-0 pre-cache');
  expect(await lane(page).getByRole('rowheader').count()).toBe(6);
  await lane(page)
    .getByRole('link', { name: `and ${REGIONS - 3} more` })
    .click();
  await rowOf(page, `region=region-${REGIONS - 1} pre-cache`).waitFor();
  expect(new URL(page.url()).search).toBe('?limits=all');

  await full.getByRole('link', { name: 'ran/waits' }).click();
  await page.getByRole('heading', { level: 1, name: 'ran/waits' }).waitFor();
  await page.getByText(`2 of ${waits.length}`, { exact: true }).waitFor();
  await page.getByRole('link', { name: /^Why waits-1: a place under the limits of the fleet/ }).click();
  await page.getByRole('link', { name: 'See the limits' }).click();
  await rowOf(page, `region=region-${REGIONS - 1} pre-cache`).waitFor();
  expect(seen.complaints).toEqual([]);
});

test('a limit that is set, raised or taken away is seen without a reload', async ({ world, skip }) => {
  if (!browser) return skip(NO_BROWSER);
  await world.unlimit();
  await using running = await startConsole(world.server.kubeconfig);
  await using seen = await look(browser, await running.address());
  const { page } = seen;
  await page.getByRole('grid', { name: 'Upgrades' }).getByText('ran/rolls').waitFor();
  await lane(page).waitFor({ state: 'detached' });
  await world.limit('upgrading: 1\n');
  // More have a place than may: it was lowered.
  await rowOf(page, 'all be upgraded').getByText('2 of 1').waitFor();
  await world.limit('upgrading: 20\n');
  await rowOf(page, 'all be upgraded').getByText('2 of 20').waitFor();
  await world.unlimit();
  await lane(page).waitFor({ state: 'detached' });
  expect(seen.complaints).toEqual([]);
});

test('a ConfigMap that cannot be read says so with the fix', async ({ world, skip }) => {
  if (!browser) return skip(NO_BROWSER);
  await world.limit('pulling: 0\n');
  await using running = await startConsole(world.server.kubeconfig);
  await using seen = await look(browser, await running.address());
  await lane(seen.page)
    .getByText(/limits\.yaml\.pulling is 0: .*; write whole numbers from 1/)
    .waitFor();
  expect(await lane(seen.page).getByRole('row').count()).toBe(0);
});

test('who may not read the ConfigMap, or looks at one namespace, is told that the limits are not known', async ({ world, skip }) => {
  if (!browser) return skip(NO_BROWSER);
  await world.limit(ALL);
  await using barred = await startConsole(await world.server.kubeconfigFor('nobody'));
  await using seen = await look(browser, await barred.address());
  await lane(seen.page)
    .getByText('not known: you may not get configmaps in namespace flotilla: ask for ClusterRole flotilla-inspect of charts/hub')
    .waitFor();
  await using narrow = await startConsole(world.server.kubeconfig, { args: ['-n', 'ran'] });
  await using of = await look(browser, await narrow.address());
  await lane(of.page)
    .getByText(/not known: upgrades of all namespaces share them, and this console was started with -n ran/)
    .waitFor();
  for (const { page } of [seen, of]) expect(await lane(page).getByRole('row').count()).toBe(0);
});

test('limits that have not been read yet are no zero', async ({ world, skip }) => {
  if (!browser) return skip(NO_BROWSER);
  await world.limit(ALL);
  await using running = await startConsole(world.server.kubeconfig);
  await using seen = await look(browser, 'about:blank');
  const { page } = seen;
  const answered = Promise.withResolvers<void>();
  await page.route('**/api/limits*', async (route) => {
    await answered.promise;
    await route.continue();
  });
  await page.goto(await running.address());
  await page.getByRole('grid', { name: 'Upgrades' }).getByText('ran/rolls').waitFor();
  expect(await lane(page).innerText()).toBe('Limits of the fleet\n\nNot read yet.');
  answered.resolve();
  await rowOf(page, 'all be upgraded').getByText('2 of 3').waitFor();
});

test('axe finds nothing in the lane, in light, dark and forced colours, wide and narrow', async ({ world, skip }) => {
  if (!browser) return skip(NO_BROWSER);
  await world.limit(ALL);
  await using running = await startConsole(world.server.kubeconfig);
  await using seen = await look(browser, await running.address('/?limits=all'));
  const { page } = seen;
  await rowOf(page, 'region=region-0 pre-cache').waitFor();
  const media = [{ colorScheme: 'light' }, { colorScheme: 'dark' }, { forcedColors: 'active' }] as const;
  for (const width of [390, 1440])
    for (const each of media) {
      await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none', ...each });
      await page.setViewportSize({ width, height: 900 });
      expect({ width, each, found: await violations(page) }).toEqual({ width, each, found: [] });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      if (PICTURES === undefined) continue;
      await mkdir(PICTURES, { recursive: true });
      await page.screenshot({ path: join(PICTURES, `limits-${width}-${Object.values(each)[0]}.png`) });
    }
});
