/** One upgrade from its beginning to its end, as somebody sees it who has the page alone; a real hub, a real API server, simulated spokes. */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Annotation } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { RolloutWorld } from '../../integration/rollout/world.ts';
import { testIn, upgradeRef } from '../../integration/world.ts';
import { look, NO_BROWSER, startBrowser } from './browser.ts';
import { startConsole } from './console.ts';

const spokes = ['st-1', 'st-2', 'st-3', 'win-1', 'tab-1', 'tab-2', 'alone-1'];
const test = testIn(() => RolloutWorld.start({ spokes }));
const MINUTE = 60_000;
/** A folder for pictures of each step; none are taken without it. */
const PICTURES = process.env.FLOTILLA_PICTURES;

let browser: Browser | undefined;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.close());

function painter(page: Page): (name: string) => Promise<void> {
  let step = 0;
  return async (name) => {
    step += 1;
    if (PICTURES === undefined) return;
    await mkdir(PICTURES, { recursive: true });
    await page.screenshot({ path: join(PICTURES, `${String(step).padStart(2, '0')}-${name}.png`), fullPage: true });
  };
}

const FOCUSED = `(() => {
  const { ariaLabel, textContent, placeholder } = document.activeElement ?? {};
  return ariaLabel || textContent?.trim() || placeholder || '';
})()`;

/** Presses Tab until something of this name has the focus. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  const seen: unknown[] = [];
  for (let press = 0; press < 60; press += 1) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate(FOCUSED);
    if (typeof focused === 'string' && name.test(focused)) return;
    seen.push(focused);
  }
  throw new Error(`Tab leads to nothing named ${name}: ${JSON.stringify(seen)}`);
}

test('apply, plan, watch the pull, pause, see one fail, ask why by keyboard, mend, retry by keyboard, done', { timeout: 400_000 }, async ({
  world,
  skip,
}) => {
  if (!browser) return skip(NO_BROWSER);
  const clusters = ['st-1', 'st-2', 'st-3'];
  await world.policies(clusters, { 'st-p': {} });
  world.propagator.script('policies/st-p', 'st-3', { never: true });
  await using running = await startConsole(world.server.kubeconfig);
  await using seen = await look(browser, await running.address());
  const { page } = seen;
  const paint = painter(page);
  await page.getByText('live', { exact: true }).waitFor();
  await paint('before');

  // Whoever applies it sees it come by itself.
  await world.upgrade('story', clusters, ['st-p'], {
    preCaching: true,
    preCachingConfigRef: { name: 'config', namespace: 'default' },
    enable: false,
    remediationStrategy: { maxConcurrency: 2, timeout: 240 },
  });
  await page.getByRole('link', { name: 'default/story' }).first().click();
  await page.getByText(/[1-3] pulling/).waitFor();
  await paint('pull');

  await page.getByRole('link', { name: 'Plan', exact: true }).click();
  await page.getByText('3 in 2 batches').waitFor();
  await page.getByText('Whether it fits is not known').or(page.getByText('It has no window')).waitFor();
  await page.getByLabel('Minutes a batch takes').fill('9');
  await page.getByRole('button', { name: 'Reckon' }).click();
  await page.getByText('~ 18 min').waitFor();
  expect(new URL(page.url()).search).toBe('?batchMinutes=9');
  expect((await world.get('story'))?.metadata.annotations ?? {}).toEqual({});
  await paint('plan');

  await page.getByRole('link', { name: 'default/story' }).click();
  await page.getByRole('button', { name: 'Pause…' }).click();
  await page.getByText('touching 3 clusters').waitFor();
  await page.getByLabel('Why, for whoever looks').fill('the site asks for an hour');
  await paint('pause-asked');
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  await page.getByRole('dialog').getByText('is changed').waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByText(/^paused: .*an hour/).waitFor();
  await world.edit('story', { enable: true });
  await paint('paused');
  await page.getByRole('button', { name: 'Resume…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('dialog').getByText('is changed').waitFor();
  await page.keyboard.press('Escape');

  await eventually(async () => (await world.get('story'))?.status?.status.currentBatch === 2, 'the second batch', 60_000);
  await eventually(async () => (await world.recorded('story')).length >= 2, 'the first batch to be recorded', 60_000);
  await world.untilInProgress('story', 'st-3');
  await paint('stuck');
  world.clock.skip(241 * MINUTE);
  await world.untilEnded('story');
  await page.getByText('timed out').first().waitFor();
  await paint('failed');

  // By keyboard alone from here: find, understand, retry.
  await page.goto(await running.address('/'));
  await page.getByText('live', { exact: true }).waitFor();
  await tabTo(page, /^1 failed$/);
  await page.keyboard.press('Enter');
  await page.getByText('1 of 7', { exact: true }).waitFor();
  await tabTo(page, /^Spokes$/);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'st-3' }).waitFor();
  await page
    .getByText('st-3 has failed')
    .or(page.getByText(/st-3 .*timed? ?out/i))
    .first()
    .waitFor();
  await paint('why');
  world.propagator.script('policies/st-p', 'st-3', { seconds: 0 });
  await tabTo(page, /^Retry…$/);
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Retry default/story' });
  await dialog.getByText('would be created').waitFor();
  await paint('retry-asked');
  await page.keyboard.press('Enter');
  await dialog.getByText('is created').waitFor();
  await tabTo(page, /^ClusterGroupUpgrade default\/story-retry-1$/);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'default/story-retry-1' }).waitFor();
  await world.untilCompleted('story-retry-1');
  await page.getByText('1/1').first().waitFor();
  await page.getByRole('link', { name: /^Batch 1: ended, 1 of 1 done/ }).waitFor();
  await paint('done');
  expect(await world.recorded('story-retry-1')).toEqual(['st-3: complete']);
  expect(seen.complaints).toEqual([]);
});

/** Opens on a day that is three days ahead: on the day itself the window would be open, and shown otherwise. */
const AWAY_FROM_NOW = `0 22 * * ${(new Date().getUTCDay() + 3) % 7}`;

test('a window is set and taken away after its dry run, and one that cannot be read says why', async ({ world, skip }) => {
  if (!browser) return skip(NO_BROWSER);
  await world.policies(['win-1'], { 'win-p': {} });
  await world.upgrade('win', ['win-1'], ['win-p'], { enable: false });
  await world.untilCondition('win', 'Progressing', /NotEnabled/);
  await using running = await startConsole(world.server.kubeconfig);
  await using seen = await look(browser, await running.address('/upgrades/default/win'), { timezoneId: 'Europe/Berlin' });
  const { page } = seen;
  const dialog = page.getByRole('dialog', { name: 'Window default/win' });
  const annotations = async () => (await world.get('win'))?.metadata.annotations ?? {};
  await page.getByRole('button', { name: 'Window…' }).click();
  await dialog.getByLabel('Again and again').check();
  await dialog.getByLabel('Openings').fill('nonsense');
  await dialog.getByLabel('Open for').fill('4h');
  await dialog.getByRole('button', { name: 'See what it would do' }).click();
  await dialog.getByText('"Openings" is "nonsense"').waitFor();
  await dialog.getByRole('button', { name: 'Back' }).click();
  await dialog.getByLabel('Openings').fill(AWAY_FROM_NOW);
  await dialog.getByRole('button', { name: 'See what it would do' }).click();
  await dialog.getByText('would be changed, touching 1 cluster').waitFor();
  const lanes = dialog.locator('.timeline').getByRole('listitem');
  expect(await lanes.allTextContents()).toEqual([
    'Beforebatches start at any time',
    expect.stringMatching(/^Afteropens .*, closes .* \(4 h\)$/),
  ]);
  expect(await annotations()).toEqual({});
  await dialog.getByRole('button', { name: 'Set window' }).click();
  await dialog.getByText('is changed').waitFor();
  expect(await annotations()).toEqual({
    [Annotation.windowSchedule]: AWAY_FROM_NOW,
    [Annotation.windowDuration]: '4h',
    [Annotation.windowTimezone]: 'Europe/Berlin',
  });
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.goto(await running.address('/'));
  await page.getByText(/closes .* \(4 h/).waitFor();
  await page.goto(await running.address('/upgrades/default/win'));
  await page.getByRole('button', { name: 'Window…' }).click();
  await dialog.getByLabel('No window').check();
  await dialog.getByRole('button', { name: 'See what it would do' }).click();
  await dialog.getByRole('button', { name: 'Clear window' }).click();
  await dialog.getByText('is changed').waitFor();
  expect(await annotations()).toEqual({});
  await dialog.getByRole('button', { name: 'Undo…' }).click();
  await dialog.getByRole('button', { name: 'Set window' }).click();
  await dialog.getByText('is changed').waitFor();
  expect((await annotations())[Annotation.windowSchedule]).toBe(AWAY_FROM_NOW);
  await dialog.getByRole('button', { name: 'Close' }).click();

  // The form begins with the window there is, and writes nothing where nobody touches it.
  const bounds = { [Annotation.windowStart]: '2098-07-01T20:00:30Z', [Annotation.windowEnd]: '2099-07-01T22:00:00+02:00' };
  await world.client.patch(
    ClusterGroupUpgrade,
    upgradeRef('win'),
    { metadata: { annotations: { ...bounds, [Annotation.windowTimezone]: null } } },
    { type: 'merge' },
  );
  const there = { ...bounds, [Annotation.windowSchedule]: AWAY_FROM_NOW, [Annotation.windowDuration]: '4h' };
  await page.getByRole('button', { name: 'Window…' }).click();
  await dialog.getByLabel('Again and again').waitFor();
  const fields = ['Openings', 'Open for', 'Time zone', 'Not before', 'Not after'].map((name) => dialog.getByLabel(name).inputValue());
  expect(await Promise.all(fields)).toEqual([AWAY_FROM_NOW, '4h', '', '2098-07-01T22:00', '2099-07-01T22:00']);
  await dialog.getByRole('button', { name: 'See what it would do' }).click();
  await dialog.getByText('is so already; nothing was changed').waitFor();
  expect(await annotations()).toEqual(there);
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Window…' }).click();
  await dialog.getByLabel('Not after').fill('2099-08-01T00:00');
  await dialog.getByRole('button', { name: 'See what it would do' }).click();
  const changes = dialog.locator('.annotations').getByRole('listitem');
  await changes.getByText(`"${bounds[Annotation.windowEnd]}" → "2099-07-31T22:00:00.000Z"`).waitFor();
  expect(await changes.count()).toBe(1);
  await dialog.getByRole('button', { name: 'Set window' }).click();
  await dialog.getByText('is changed').waitFor();
  expect(await annotations()).toEqual({ ...there, [Annotation.windowEnd]: '2099-07-31T22:00:00.000Z' });
  // The one that cannot be read.
  expect(seen.complaints).toEqual([expect.stringContaining('400')]);
});

test('tabs that nobody sees hold no stream, a view is taken along, and rows are true again after a sleep', { timeout: 400_000 }, async ({
  world,
  skip,
}) => {
  if (!browser) return skip(NO_BROWSER);
  const patch = (name: string, openshiftVersion: string | null) =>
    world.client.patch(ManagedCluster, { name }, { metadata: { labels: { openshiftVersion } } }, { type: 'merge' });
  await world.client.patch(
    ManagedCluster,
    { name: 'tab-1' },
    { status: { version: { kubernetes: '=1+1' } } },
    { type: 'merge', subresource: 'status' },
  );
  await using running = await startConsole(world.server.kubeconfig);
  await using seen = await look(browser, await running.address());
  const { page } = seen;
  await page.getByText('=1+1').waitFor();
  // Six connections are all that a browser has for one host: the ninth tab finds one, for those before are not seen any more.
  const show = (tab: Page, isHidden: boolean) =>
    tab.evaluate(
      `Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} }); document.dispatchEvent(new Event('visibilitychange'))`,
    );
  let before = page;
  for (let tab = 2; tab <= 9; tab += 1) {
    const other = await page.context().newPage();
    await other.goto(`${running.base}/?q=tab-`);
    await other.getByText('=1+1').waitFor();
    await show(before, true);
    before = other;
  }
  await patch('tab-1', '4.18.76');
  await before.getByText('4.18.76').waitFor();
  await show(before, true);
  expect(await page.getByText('4.18.76').count()).toBe(0);
  await show(page, false);
  await page.getByText('4.18.76').waitFor();
  await patch('tab-1', null);
  await page.getByText('=1+1').waitFor();

  await page.getByRole('searchbox', { name: /version/ }).fill('tab-');
  await page.getByText('2 of 7', { exact: true }).waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save spokes as CSV' }).click()]);
  expect(download.suggestedFilename()).toBe('spokes.csv');
  const lines = (await readFile(await download.path(), 'utf8')).split('\r\n');
  expect(lines.map((line) => line.split(',').slice(0, 5).join())).toEqual([
    'Spoke,State,Cause,Version,Available',
    `tab-1,no upgrade,,"'=1+1",yes`,
    expect.stringMatching(/^tab-2,/),
    '',
  ]);

  running.signal('SIGSTOP');
  await patch('tab-2', '4.18.77');
  await page.getByText(/^Everything below is old/).waitFor({ timeout: 40_000 });
  await page.locator('.stale-says time').waitFor();
  // A screen reader would read an age out each second.
  expect(await page.locator(':is([role=status], [role=alert], [aria-live]) time').count()).toBe(0);
  running.signal('SIGCONT');
  await page.getByText('4.18.77').waitFor();
  await page.getByText('live', { exact: true }).waitFor();
  expect(await page.getByText(/^Everything below is old/).count()).toBe(0);
});

test('where no hub leads, a pause and its end are wishes, and each is taken back in the page', async ({ world, skip }) => {
  if (!browser) return skip(NO_BROWSER);
  await world.policies(['alone-1'], { 'alone-p': {} });
  await world.upgrade('alone', ['alone-1'], ['alone-p'], { enable: false }, { [Annotation.paused]: 'drain' });
  await world.untilCondition('alone', 'Paused', /^True/);
  await world.hub?.stop();
  const annotations = async () => (await world.get('alone'))?.metadata.annotations ?? {};
  await using running = await startConsole(world.server.kubeconfig);
  await using seen = await look(browser, await running.address('/upgrades/default/alone'));
  const { page } = seen;
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const dialog = page.getByRole('dialog');
  await button('Resume…').click();
  await button('Resume').click();
  await dialog.getByText('is changed, but no hub has taken it up yet').waitFor();
  expect(await annotations()).toEqual({});
  await button('Undo…').click();
  await button('Pause').click();
  await dialog.getByText('is changed').waitFor();
  expect(await annotations()).toEqual({ [Annotation.paused]: 'drain' });
  await button('Close').click();
  await button('Resume…').click();
  await button('Resume').click();
  await dialog.getByText('no hub has taken it up yet').waitFor();
  await button('Close').click();
  await page.getByText('paused: its end is asked for; no hub has taken it up yet').waitFor();
  await button('Pause…').click();
  await button('Pause').click();
  await dialog.getByText('is changed').waitFor();
  expect(await annotations()).toEqual({ [Annotation.paused]: 'drain' });
});
