/** The console's page in a real browser, on a real API server with a hub. */
import { createServer } from 'node:http';
import { Annotation } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { mapConcurrently } from '@flotilla/pace';
import { eventually } from '@flotilla/pace/testing';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { RolloutWorld } from '../../integration/rollout/world.ts';
import { testIn, upgradeRef } from '../../integration/world.ts';
import { look, NO_BROWSER, startBrowser, violations } from './browser.ts';
import { startConsole } from './console.ts';

const spokes = ['live-1', 'live-2', 'steered-1', 'hostile-1', 'many-1', 'axe-1', 'axe-2'];
const test = testIn(() => RolloutWorld.start({ spokes, apiServer: { users: [{ name: 'nobody' }] } }));

let browser: Browser | undefined;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.close());

/** A property that a style gives to an element, or to what it stands for. */
const styleOf = (locator: Locator, property: string, pseudo?: string): Promise<unknown> =>
  locator.evaluate((element, [name, of]) => element.ownerDocument.defaultView?.getComputedStyle(element, of).getPropertyValue(name), [
    property,
    pseudo,
  ] as const);

/** The cells of a row of a grid, by its first. */
const cellsOf = (page: Page, name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });

test('what changes on the API server is seen in the page, from the fleet to a rollout to a spoke and its causes', async ({
  world,
  skip,
}) => {
  if (!browser) return skip(NO_BROWSER);
  await world.policies(['live-1', 'live-2'], { 'live-p': {} });
  world.propagator.script('policies/live-p', 'live-1', { never: true });
  await world.upgrade('live', ['live-1', 'live-2'], ['live-p'], { remediationStrategy: { maxConcurrency: 1, timeout: 240 } });
  await world.untilInProgress('live', 'live-1');
  await using running = await startConsole(world.server.kubeconfig);
  await using seen = await look(browser, await running.address());
  const { page } = seen;
  expect(page.url()).toBe(`${running.base}/`);
  await cellsOf(page, 'live-2').getByText('waiting').waitFor();
  await world.client.patch(
    ManagedCluster,
    { name: 'live-2' },
    { metadata: { labels: { openshiftVersion: '4.18.77' } } },
    { type: 'merge' },
  );
  await cellsOf(page, 'live-2').getByText('4.18.77').waitFor();

  await page.getByRole('link', { name: 'default/live' }).first().click();
  await page.getByRole('heading', { level: 1, name: 'default/live' }).waitFor();
  await page.getByRole('link', { name: /^Batch 1: under way, 0 of 1 done/ }).waitFor();
  await page.getByRole('link', { name: /^Why live-2: batch 1 to end/ }).click();
  expect(new URL(page.url()).searchParams.get('why')).toBe('live-2');
  await page.getByText('policy live-p is NonCompliant').waitFor();
  await page.getByText('Policy live-1/policies.live-p').first().waitFor();
  // The age of a fact and the age of the page's knowledge are two figures.
  await page
    .getByText(/last known .+ ago, read .+ ago/)
    .first()
    .waitFor();

  world.propagator.script('policies/live-p', 'live-1', { seconds: 0 });
  await world.untilCompleted('live');
  await page.getByRole('link', { name: /^Batch 2: ended, 1 of 1 done/ }).waitFor();
  await page.goto(await running.address('/spokes/live-2'));
  await page.getByRole('heading', { level: 1, name: 'live-2' }).waitFor();
  await page.getByRole('table').getByText('done').first().waitFor();
  expect(seen.complaints).toEqual([]);
});

test('an upgrade is paused and a spoke held after a dry run was shown, and nothing is changed before', async ({ world, skip }) => {
  if (!browser) return skip(NO_BROWSER);
  await world.policies(['steered-1'], { 'steered-p': {} });
  await world.upgrade('steered', ['steered-1'], ['steered-p'], { enable: false });
  await world.untilCondition('steered', 'Progressing', /NotEnabled/);
  const annotations = async () => (await world.get('steered'))?.metadata.annotations ?? {};
  await using running = await startConsole(world.server.kubeconfig);
  await using seen = await look(browser, await running.address('/upgrades/default/steered'));
  const { page } = seen;
  await page.getByRole('button', { name: 'Pause…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Pause default/steered' });
  await dialog.getByText('would be changed, touching 1 cluster').waitFor();
  expect(await annotations()).toEqual({});
  await dialog.getByLabel('Why, for whoever looks').fill('ticket 4711');
  await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
  await dialog.getByText('flotilla resume steered -n default').waitFor();
  expect(await annotations()).toEqual({ [Annotation.paused]: 'drain', [Annotation.pausedReason]: 'ticket 4711' });
  await dialog.getByRole('button', { name: 'Undo…' }).click();
  const undo = page.getByRole('dialog', { name: 'Resume default/steered' });
  await undo.getByText('would be changed').waitFor();
  expect(await annotations()).not.toEqual({});
  await undo.getByRole('button', { name: 'Resume', exact: true }).click();
  await undo.getByText('is changed').waitFor();
  expect(await annotations()).toEqual({});
  await undo.getByRole('button', { name: 'Undo…' }).click();
  await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
  await dialog.getByText('is changed').waitFor();
  expect(await annotations()).toEqual({ [Annotation.paused]: 'drain', [Annotation.pausedReason]: 'ticket 4711' });
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.getByText(/^paused: .*ticket 4711/).waitFor();
  await page.getByRole('button', { name: 'Resume…' }).waitFor();

  await page.goto(await running.address('/spokes/steered-1'));
  await page.getByRole('button', { name: 'Hold…' }).click();
  await page.getByRole('dialog').getByText('no upgrade begins anything on it').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  expect((await world.client.get(ManagedCluster, { name: 'steered-1' }))?.metadata.annotations?.[Annotation.hold]).toBeUndefined();
  await page.getByRole('button', { name: 'Hold…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Hold', exact: true }).click();
  await page.getByText('held: held').waitFor();
  expect((await world.client.get(ManagedCluster, { name: 'steered-1' }))?.metadata.annotations?.[Annotation.hold]).toBe('held');
  expect(seen.complaints).toEqual([]);
});

test('what was opened of one upgrade is not shown under the next one', async ({ world, skip }) => {
  if (!browser) return skip(NO_BROWSER);
  await world.policies(['live-1'], { 'open-p': {} });
  const window = { [Annotation.windowStart]: '2099-01-01T00:00:00Z' };
  for (const name of ['open-1', 'open-2']) await world.upgrade(name, ['live-1'], ['open-p'], {}, window);
  await using running = await startConsole(world.server.kubeconfig);
  await using seen = await look(browser, await running.address());
  const { page } = seen;
  await page.getByText('live', { exact: true }).waitFor();
  const goTo = (path: string) =>
    page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`);
  await goTo('/upgrades/default/open-1');
  await page.getByRole('heading', { level: 1, name: 'default/open-1' }).waitFor();
  await page.getByText('Events', { exact: true }).click();
  await page.locator('details.events[open]').waitFor();
  await goTo('/upgrades/default/open-2');
  await page.getByRole('heading', { level: 1, name: 'default/open-2' }).waitFor();
  expect(await page.locator('details.events[open]').count()).toBe(0);
});

test('a text that a spoke wrote stays a text, and what it hides is shown', async ({ world, skip }) => {
  if (!browser) return skip(NO_BROWSER);
  const text = '<img src=x onerror="document.title=\'taken\'">\u202eexe.\u001b[31m';
  const patch = { metadata: { annotations: { [Annotation.hold]: text }, labels: { openshiftVersion: '4.18' } } };
  await world.client.patch(ManagedCluster, { name: 'hostile-1' }, patch, { type: 'merge' });
  await using running = await startConsole(world.server.kubeconfig);
  await using seen = await look(browser, await running.address('/spokes/hostile-1'));
  const shown = seen.page.getByText('held: <img');
  await shown.waitFor();
  expect(await shown.textContent()).toBe('held: <img src=x onerror="document.title=\'taken\'">\\u202eexe.\\u001b[31m');
  expect(await seen.page.locator('img').count()).toBe(0);
  expect(await seen.page.title()).toBe('hostile-1 · Flotilla');
  expect(seen.complaints).toEqual([]);
});

test('a page under a name that leads here, or of another port, reaches nothing and cannot frame the console', async ({ world, skip }) => {
  const rebinding = await startBrowser('--host-resolver-rules=MAP evil.test 127.0.0.1');
  if (!rebinding) return skip(NO_BROWSER);
  await using _ended = { [Symbol.asyncDispose]: () => rebinding.close() };
  await using running = await startConsole(world.server.kubeconfig);
  const { port } = new URL(running.base);
  const foreign = createServer((_, response) => response.end('<!doctype html><title>evil</title><body>'));
  await new Promise<void>((resolve) => foreign.listen(0, '127.0.0.1', resolve));
  await using _closed = { [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void foreign.close(() => resolve())) };
  const address = foreign.address();
  if (address === null || typeof address === 'string') throw new TypeError('no port');

  await using rebound = await look(rebinding, `http://evil.test:${port}/`);
  expect(await rebound.page.locator('body').textContent()).toContain('Host is');
  await using other = await look(rebinding, `http://evil.test:${address.port}/`);
  const reach = (url: string, options: string) =>
    other.page.evaluate(`fetch(${JSON.stringify(url)}, ${options}).then((r) => r.type + r.status, () => 'refused')`);
  const headers = JSON.stringify(running.known);
  for (const base of [running.base, `http://evil.test:${port}`]) {
    expect(await reach(`${base}/api/why?upgrade=a/b`, `{ headers: ${headers} }`)).toBe('refused');
    expect(await reach(`${base}/api/actions`, `{ method: 'POST', body: '{}', headers: ${headers} }`)).toBe('refused');
    expect(await reach(`${base}/`, '{}')).toBe('refused');
  }
  await other.page.evaluate(`document.body.innerHTML = '<iframe src="${running.base}/"></iframe>'`);
  await eventually(
    () =>
      other.complaints.some((text) => /frame/i.test(text)) || other.page.frames().some((frame) => frame.url().startsWith('chrome-error:')),
    'the frame to be refused',
  );
  const framed = other.page.frames().at(-1);
  expect(await framed?.locator('#console').count()).toBe(0);
});

test('a thousand spokes are a few rows in the page; arrows move the focus, and filters are in the address', async ({ world, skip }) => {
  if (!browser) return skip(NO_BROWSER);
  const names = Array.from({ length: 1_000 }, (_, index) => `zz-${String(index).padStart(4, '0')}`);
  await mapConcurrently(names, 16, (name) =>
    world.client.create(ManagedCluster, { metadata: { name }, spec: { hubAcceptsClient: false } }),
  );
  await using running = await startConsole(world.server.kubeconfig);
  await using seen = await look(browser, await running.address());
  const { page } = seen;
  const grid = page.getByRole('grid', { name: 'Spokes' });
  const total = spokes.length + names.length;
  await eventually(async () => (await grid.getAttribute('aria-rowcount')) === String(total + 1), 'all rows to be counted');
  await eventually(async () => (await grid.getByRole('row').count()) < 60, 'a few rows to be drawn');

  await grid.focus();
  await page.keyboard.press('End');
  const active = async () =>
    page.evaluate("document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.getAttribute('aria-rowindex')");
  await eventually(async () => (await active()) === String(total + 1), 'the last row to be active');
  await grid.getByText('zz-0999').waitFor();
  // The active row stays, wherever the list is scrolled to.
  await page.evaluate("document.querySelector('[role=grid][aria-label=Spokes]').scrollTo(0, 0)");
  await grid.getByText('axe-1').waitFor();
  expect(await active()).toBe(String(total + 1));
  await page.keyboard.press('PageUp');
  await eventually(async () => Number(await active()) < total + 1, 'the active row to move up');
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'zz-0999' }).waitFor();

  await page.goBack();
  await page.getByRole('searchbox', { name: /version/ }).fill('zz-012');
  await page.getByRole('button', { name: 'Spoke', exact: true }).click();
  await page.getByRole('button', { name: 'Spoke', exact: true }).click();
  await page.getByText(`10 of ${total.toLocaleString('en-US')}`).waitFor();
  expect(new URL(page.url()).search).toBe('?q=zz-012&sort=-name');
  await using again = await look(browser, await running.address(`/${new URL(page.url()).search}`));
  await again.page.getByText(`10 of ${total.toLocaleString('en-US')}`).waitFor();
  expect(await again.page.getByRole('grid', { name: 'Spokes' }).getByRole('row').nth(1).textContent()).toContain('zz-0129');
  expect(seen.complaints).toEqual([]);
});

test('axe finds nothing on any page, in light, dark and forced colours, wide and narrow', { timeout: 400_000 }, async ({ world, skip }) => {
  if (!browser) return skip(NO_BROWSER);
  await world.policies(['axe-1', 'axe-2'], { 'axe-p': {} });
  world.propagator.script('policies/axe-p', 'axe-1', { never: true });
  await world.upgrade('axe', ['axe-1', 'axe-2'], ['axe-p'], { remediationStrategy: { maxConcurrency: 1, timeout: 240 } });
  await world.untilInProgress('axe', 'axe-1');
  await using running = await startConsole(world.server.kubeconfig);
  const media = [{ colorScheme: 'light' }, { colorScheme: 'dark' }, { forcedColors: 'active', reducedMotion: 'reduce' }] as const;
  const widths = [360, 1280, 1920] as const;
  const paths = [
    '/',
    '/?why=axe-2',
    '/upgrades/default/axe',
    '/upgrades/default/axe/plan?batchMinutes=9',
    '/spokes/axe-2',
    '/nowhere-at-all',
  ];
  for (const [index, path] of paths.entries()) {
    await using seen = await look(browser, await running.address('/'));
    await seen.page.getByText('live', { exact: true }).waitFor();
    await seen.page.goto(await running.address(path));
    await seen.page
      .getByText(path === '/' ? 'default/axe' : path.startsWith('/nowhere') ? 'There is nothing here' : 'axe-2')
      .first()
      .waitFor();
    // Each page in all media and at all widths, and each medium at each width on two pages.
    for (const [turn, look] of media.entries()) {
      const width = widths[(index + turn) % widths.length] ?? widths[0];
      await seen.page.emulateMedia(look);
      await seen.page.setViewportSize({ width, height: 900 });
      expect({ path, look, width, found: await violations(seen.page) }).toEqual({ path, look, width, found: [] });
    }
    expect(seen.complaints).toEqual(path === '/nowhere-at-all' ? [expect.stringContaining('404')] : []);
  }
  await using seen = await look(browser, await running.address('/upgrades/default/axe'));
  await seen.page.getByRole('button', { name: 'Pause…' }).click();
  await seen.page.getByText('would be changed').waitFor();
  expect(await violations(seen.page)).toEqual([]);
});

test('a code is good once, the token is in the memory of tabs alone, and the end of the command is said', async ({ world, skip }) => {
  if (!browser) return skip(NO_BROWSER);
  await using running = await startConsole(world.server.kubeconfig);
  const address = await running.address();
  await using seen = await look(browser, address);
  const { page } = seen;
  await page.getByText('live', { exact: true }).waitFor();
  expect(await page.evaluate('document.cookie + location.href + JSON.stringify([{ ...sessionStorage }, { ...localStorage }])')).toBe(
    `${running.base}/[{},{}]`,
  );
  const tab = await page.context().newPage();
  await tab.goto(`${running.base}/spokes/axe-1`);
  await tab.getByRole('heading', { level: 1, name: 'axe-1' }).waitFor();
  await page.reload();
  await page.getByText('live', { exact: true }).waitFor();
  await using stranger = await look(browser, address);
  await stranger.page.getByText('one that was used').waitFor();
  // The command has printed another one meanwhile, which leads in from the same tab.
  await stranger.page.goto(await running.address());
  await stranger.page.getByText('live', { exact: true }).waitFor();
  await running.end();
  await tab.getByText(/not live: nothing heard/).waitFor();
});

test('a figure that is not known is no zero', async ({ world, skip }) => {
  if (!browser) return skip(NO_BROWSER);
  const figures = (page: Page) => page.locator('.tiles strong').allInnerTexts();
  await using running = await startConsole(await world.server.kubeconfigFor('nobody'));
  await using seen = await look(browser, await running.address());
  await seen.page
    .getByText(/clustergroupupgrades/)
    .first()
    .waitFor();
  const unknown = await figures(seen.page);
  expect(unknown.filter((text) => /\d/.test(text))).toEqual([]);
  await using known = await startConsole(world.server.kubeconfig);
  await using all = await look(browser, await known.address());
  await cellsOf(all.page, 'live-1').waitFor();
  expect((await figures(all.page)).filter((text) => !/^[\d,]+$/.test(text))).toEqual([]);
  expect(unknown.length).toBe((await figures(all.page)).length);
});

test('of two hundred upgrades those with failures stand first, in a list that is no longer than a screen', async ({ world, skip }) => {
  if (!browser) return skip(NO_BROWSER);
  const names = Array.from({ length: 200 }, (_, index) => `many-${String(index).padStart(3, '0')}`);
  const window = { [Annotation.windowStart]: '2099-01-01T00:00:00Z' };
  await world.policies(['many-1'], { 'many-p': {} });
  await mapConcurrently(names, 16, (name) => world.upgrade(name, ['many-1'], ['many-p'], { enable: false }, window));
  const at = new Date().toISOString();
  const lost = {
    conditions: [{ type: 'Succeeded', status: 'False', reason: 'TimedOut', message: 'x', lastTransitionTime: at }],
    remediationPlan: [['many-1', 'hostile-1']],
    clusters: [
      { name: 'many-1', state: 'timedout', message: 'the disk is full' },
      { name: 'hostile-1', state: 'complete' },
    ],
    status: { startedAt: at, completedAt: at },
  };
  await world.client.create(ClusterGroupUpgrade, {
    metadata: { namespace: 'default', name: 'zz-lost' },
    spec: {
      clusters: ['many-1', 'hostile-1'],
      managedPolicies: ['many-p'],
      enable: false,
      remediationStrategy: { maxConcurrency: 1, timeout: 240 },
    },
  } as never);
  await world.client.patch(ClusterGroupUpgrade, upgradeRef('zz-lost'), { status: lost }, { type: 'merge', subresource: 'status' });
  await using running = await startConsole(world.server.kubeconfig);
  await using seen = await look(browser, await running.address());
  const { page } = seen;
  const grid = page.getByRole('grid', { name: 'Upgrades' });
  const first = grid.getByRole('row').nth(1);
  await first.getByText('default/zz-lost').waitFor();
  await eventually(
    async () => Number(await page.evaluate('document.documentElement.scrollHeight')) < 2_500,
    'a page of less than 2,500 px',
  );
  expect(await grid.getByRole('row').count()).toBeLessThan(60);
  await cellsOf(page, 'many-1').getByText('failed', { exact: true }).waitFor();
  await page.getByRole('link', { name: /upgrades? with failures/ }).click();
  await page.getByText(/^\d+ of \d{3}$/).waitFor();
  expect(await grid.getByRole('row').filter({ hasText: 'default/many-' }).count()).toBe(0);
  await page.getByRole('searchbox', { name: 'Find upgrades' }).fill('no such');
  await page.getByText('No upgrade passes the filters.').waitFor();
  expect(new URL(page.url()).search).toBe('?stage=failed&find=no+such');

  await page.setViewportSize({ width: 390, height: 800 });
  await page.goto(await running.address());
  const failed = page.getByRole('grid', { name: 'Spokes' }).getByRole('row').filter({ hasText: 'many-1' });
  await failed.getByText('failed', { exact: true }).waitFor();
  expect(await styleOf(failed, 'box-shadow')).toContain('inset');
  const ofOthers = page.getByRole('grid', { name: 'Spokes' }).getByRole('row').filter({ hasText: 'live-1' });
  expect(await styleOf(ofOthers, 'box-shadow')).toBe('none');
  for (const name of ['State', 'Cause']) {
    const box = await page.getByRole('grid', { name: 'Spokes' }).getByRole('columnheader', { name }).boundingBox();
    expect({ name, begins: (box?.x ?? 390) < 300 }).toEqual({ name, begins: true });
  }
  const cause = page.locator('.causes').getByRole('link', { name: /the disk is full/ });
  const [figures, below] = [await page.locator('.tiles').boundingBox(), await cause.boundingBox()];
  expect((below?.y ?? 0) - (figures?.y ?? 0) - (figures?.height ?? 0)).toBeLessThan(40);
  await cause.click();
  await page.getByRole('heading', { level: 1, name: 'default/zz-lost' }).waitFor();
  await page.getByRole('link', { name: 'Batch 1: ended, 1 of 2 done, 1 failed' }).waitFor();
  // It grows for 0.3 s.
  await eventually(async () => {
    const parts = page.locator('.batch .tank, .batch .tank .full');
    const [tank, full] = await parts.evaluateAll((found) => found.map(({ clientHeight }) => clientHeight));
    return tank !== undefined && full === tank;
  }, 'a batch that has ended to be full');
  expect(await styleOf(page.locator('.batch'), 'border-top-width', '::after')).not.toBe('0px');
  expect(seen.complaints).toEqual([]);
});

test('countdowns are right in a browser whose clock is wrong, and the page says so', async ({ world, skip }) => {
  if (!browser) return skip(NO_BROWSER);
  const opens = new Date(Date.now() + 3 * 3_600_000).toISOString();
  await world.policies(['live-1'], { 'clock-p': {} });
  await world.upgrade('clock', ['live-1'], ['clock-p'], {}, { [Annotation.windowStart]: opens });
  await using running = await startConsole(world.server.kubeconfig);
  await using seen = await look(browser, 'about:blank');
  const { page } = seen;
  await page.addInitScript('{ const right = Date.now; Date.now = () => right() + 600_000; }');
  await page.goto(await running.address('/upgrades/default/clock'));
  await page.getByText("this browser's clock is 10 min ahead").waitFor();
  await page.getByText(/^opens in (3 h|2 h 5[89])$/).waitFor();
});

test('going back takes back a filter, then a page, and finds the list where it was left', async ({ world, skip }) => {
  if (!browser) return skip(NO_BROWSER);
  const names = Array.from({ length: 200 }, (_, index) => `back-${String(index).padStart(3, '0')}`);
  await mapConcurrently(names, 16, (name) =>
    world.client.create(ManagedCluster, { metadata: { name }, spec: { hubAcceptsClient: false } }),
  );
  await using running = await startConsole(world.server.kubeconfig);
  await using seen = await look(browser, await running.address());
  const { page } = seen;
  const grid = page.getByRole('grid', { name: 'Spokes' });
  await page.getByRole('combobox', { name: 'State' }).selectOption('none');
  await page.getByRole('searchbox', { name: /version/ }).pressSequentially('back-1');
  await page.getByText(/^100 of /).waitFor();
  await grid.focus();
  await page.keyboard.press('End');
  await grid.getByRole('link', { name: 'back-199' }).click();
  await page.getByRole('heading', { level: 1, name: 'back-199' }).waitFor();
  await page.goBack();
  await grid.getByRole('link', { name: 'back-199' }).waitFor();
  expect(await page.evaluate("document.querySelector('[role=grid][aria-label=Spokes] .active').textContent")).toContain('back-199');
  const { y = 0 } = (await grid.getByRole('link', { name: 'back-199' }).boundingBox()) ?? {};
  expect(y).toBeGreaterThan(0);
  expect(y).toBeLessThan(page.viewportSize()?.height ?? 0);
  await page.goBack();
  await eventually(() => new URL(page.url()).search === '?state=none', 'all letters to be taken back');
  await page.goBack();
  await eventually(() => new URL(page.url()).search === '', 'the state to be taken back');
  expect(page.url()).toBe(`${running.base}/`);
});

const FOCUSED = "document.activeElement?.ariaLabel ?? ''";

test('a table is a few stops of Tab away, its headings are one of them, and a link leads to it at once', async ({ world, skip }) => {
  if (!browser) return skip(NO_BROWSER);
  await using running = await startConsole(world.server.kubeconfig);
  await using seen = await look(browser, await running.address());
  const { page } = seen;
  await page.getByText('live', { exact: true }).waitFor();
  let stops = 0;
  for (; stops < 60 && (await page.evaluate(FOCUSED)) !== 'Spokes'; stops += 1) await page.keyboard.press('Tab');
  expect(stops).toBeLessThan(45);
  await page.keyboard.press('Tab');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await eventually(() => new URL(page.url()).searchParams.get('sort') === 'state', 'the second heading to be pressed');
  await page.getByRole('link', { name: 'To the spokes' }).press('Enter');
  stops = 0;
  for (; stops < 60 && (await page.evaluate(FOCUSED)) !== 'Spokes'; stops += 1) await page.keyboard.press('Tab');
  expect(stops).toBeLessThan(8);
});

test('a dialog stays when its upgrade is deleted, and says so', async ({ world, skip }) => {
  if (!browser) return skip(NO_BROWSER);
  await world.policies(['steered-1'], { 'going-p': {} });
  await world.upgrade('going', ['steered-1'], ['going-p'], { enable: false });
  await world.untilCondition('going', 'Progressing', /NotEnabled/);
  await using running = await startConsole(world.server.kubeconfig);
  await using seen = await look(browser, await running.address('/upgrades/default/going'));
  const { page } = seen;
  await page.getByRole('button', { name: 'Pause…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Pause default/going' });
  await dialog.getByText('would be changed').waitFor();
  await world.client.delete(ClusterGroupUpgrade, upgradeRef('going'));
  await dialog.getByText('default/going has been deleted meanwhile.').waitFor();
  await page.getByText('There is no such ClusterGroupUpgrade').waitFor();
  await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
  await dialog.getByText(/no ClusterGroupUpgrade|not found/i).waitFor();
});
