/** Pictures of the console's page for the documents. See `--help`. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cleanupOnExit } from '@flotilla/control-plane/processes';
import { startApiServer } from '@flotilla/control-plane/servers';
import type { Browser, Page } from 'playwright-core';
import { buildConsolePage } from '../../tools/src/console-page/build.ts';
import { hubCrds } from '../fixtures/crds.ts';
import { startBrowser } from '../system/console/browser.ts';
import { startConsole } from '../system/console/console.ts';
import { furnish, NOW } from './fleet.ts';

const USAGE = `pictures
Draws docs/pictures anew: the console on a real API server with a fleet that is always the same, at a time that is always the same. A picture that shows
the same is not written again.`;

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'docs/pictures');
const MOST_BYTES = 150 * 1024;
const SETTLE_MS = 1_000;

/** Picture → where it is taken, and a text by which the view is known to be drawn. */
const VIEWS: Readonly<Record<string, readonly [path: string, text: string]>> = {
  fleet: ['/', 'north-012'],
  rollout: ['/upgrades/ran/north-4.18.9', 'north-012'],
  plan: ['/upgrades/ran/west-4.18.9/plan', 'Planned'],
  spoke: ['/spokes/north-066', 'ran/north-4.18.9'],
  why: ['/?why=north-081', 'north-081'],
};

/** An address of a view that is good once. */
type AddressOf = (path?: string) => Promise<string>;

async function take(page: Page, address: AddressOf, [path, text]: readonly [string, string]): Promise<Buffer | undefined> {
  await page.goto(await address(path));
  await page.getByText('live', { exact: true }).waitFor();
  // A view that this page does not have keeps the picture that is there.
  if (await page.getByText('There is nothing here').isVisible()) return undefined;
  await page.getByText(text).first().waitFor();
  // The server of every run has another port.
  await page.evaluate("for (const one of document.querySelectorAll('.server')) one.textContent = 'https://hub.example.com:6443 as admin'");
  // Answers come one after the other: it is drawn when two pictures in a row are the same.
  for (let before: Buffer | undefined; ; ) {
    const picture = await page.screenshot({ animations: 'disabled', caret: 'hide' });
    if (before?.equals(picture)) return picture;
    before = picture;
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  }
}

async function drawAll(browser: Browser, address: AddressOf): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  for (const colorScheme of ['light', 'dark'] as const) {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 800 },
      colorScheme,
      timezoneId: 'UTC',
      locale: 'en-GB',
      reducedMotion: 'reduce',
    });
    const page = await context.newPage();
    await page.clock.setFixedTime(NOW);
    for (const [name, view] of Object.entries(VIEWS)) {
      const picture = await take(page, address, view);
      if (!picture) {
        process.stdout.write(`${name}-${colorScheme}.png: no such view\n`);
        continue;
      }
      if (picture.length > MOST_BYTES) throw new Error(`picture ${name} has ${picture.length} bytes, at most ${MOST_BYTES} are allowed`);
      const file = join(FOLDER, `${name}-${colorScheme}.png`);
      const known = await readFile(file).catch(() => undefined);
      const isSame = known?.equals(picture) === true;
      if (!isSame) await writeFile(file, picture);
      process.stdout.write(`${name}-${colorScheme}.png: ${picture.length} bytes, ${isSame ? 'as it was' : 'new'}\n`);
    }
    await context.close();
  }
}

async function main(): Promise<void> {
  await buildConsolePage();
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startApiServer({ crds: hubCrds() }));
  await furnish(await server.client());
  const preload = `--import=${join(import.meta.dirname, 'frozen-date.ts')}`;
  const env = { FLOTILLA_PICTURES_NOW: String(NOW), NODE_OPTIONS: preload };
  const running = stack.use(await startConsole(server.kubeconfig, { env }));
  const browser = await startBrowser('--font-render-hinting=none', '--disable-lcd-text');
  if (!browser) throw new Error('no browser: npm run setup installs one, as root');
  stack.defer(() => browser.close());
  await drawAll(browser, running.address);
}

if (parseArgs({ options: { help: { type: 'boolean' } } }).values.help) process.stdout.write(`${USAGE}\n`);
else {
  cleanupOnExit();
  await main();
}
