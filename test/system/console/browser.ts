/** A real browser that looks at the console's page. */

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { findProgram } from '@flotilla/control-plane/processes';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { z } from 'zod';

const PROGRAMS = ['chromium-headless-shell', 'chromium'];

/** Why tests of pages are skipped. */
export const NO_BROWSER = `no ${PROGRAMS.join(' or ')} on PATH: npm run setup installs one, as root`;

/** A page, and everything that its browser complained of. */
interface Looked extends AsyncDisposable {
  readonly page: Page;
  readonly complaints: string[];
}

async function launchOptions(args: readonly string[]) {
  const [executablePath] = (await Promise.all(PROGRAMS.map((name) => findProgram(name)))).filter((path) => path !== undefined);
  // A browser's sandbox does not start as root; it opens pages of our own alone.
  return executablePath === undefined ? undefined : { executablePath, args: ['--no-sandbox', ...args] };
}

/** Starts Debian's browser; undefined where there is none. @param args more of its own flags */
export async function startBrowser(...args: readonly string[]): Promise<Browser | undefined> {
  const options = await launchOptions(args);
  return options && chromium.launch(options);
}

/** A browser whose processes can be stopped. */
interface BrowserProcess extends AsyncDisposable {
  readonly browser: Browser;
  /** Stops all of them as a sleeping machine would, or lets them go on. */
  readonly signal: (name: 'SIGSTOP' | 'SIGCONT') => void;
}

/** The same, with its processes at hand. */
export async function startBrowserProcess(...args: readonly string[]): Promise<BrowserProcess | undefined> {
  const options = await launchOptions(args);
  if (!options) return undefined;
  const server = await chromium.launchServer(options);
  const { pid = 0 } = server.process();
  // It leads a group of its own.
  const signal = (name: 'SIGSTOP' | 'SIGCONT'): void => void process.kill(-pid, name);
  const browser = await chromium.connect(server.wsEndpoint());
  return {
    browser,
    signal,
    async [Symbol.asyncDispose]() {
      signal('SIGCONT');
      await browser.close();
      await server.close();
    },
  };
}

/** Opens an address. */
export async function look(browser: Browser, address: string, options: BrowserContextOptions = {}): Promise<Looked> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  // A busy machine draws late: a bound, not a wait.
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(address);
  return { page, complaints, [Symbol.asyncDispose]: () => context.close() };
}

const Violations = z.object({
  violations: z.array(z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string(), failureSummary: z.string().optional() })) })),
});

/** Violations that axe finds on the page as it is, one line each. */
export async function violations(page: Page): Promise<string[]> {
  const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  // By the protocol: the content policy would stop a script of another origin, and it is under test.
  await page.evaluate(source);
  const { violations: found } = Violations.parse(await page.evaluate('axe.run(document, { resultTypes: ["violations"] })'));
  return found.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary = '' }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`));
}
