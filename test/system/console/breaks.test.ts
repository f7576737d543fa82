/** Rows of the page beside a fresh list after everything between browser and API server was broken, and what the page says meanwhile. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Lease } from '@flotilla/api/core';
import { ManagedCluster } from '@flotilla/api/ocm';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { type HttpProxy, registerSpokes, startHttpProxy, startRelay } from '@flotilla/control-plane/simulators';
import { mapConcurrently } from '@flotilla/pace';
import { eventually } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import type { Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { z } from 'zod';
import { hubCrds } from '../../fixtures/crds.ts';
import { testIn } from '../../integration/world.ts';
import { look, NO_BROWSER, startBrowserProcess } from './browser.ts';
import { startConsole } from './console.ts';

const SPOKES = 150;
const names = Array.from({ length: SPOKES }, (_, index) => `site-${String(index).padStart(3, '0')}`);

/** An API server with spokes whose versions change. */
class Fleet implements AsyncDisposable {
  readonly server: ApiServer;
  readonly client: Client;
  #turn = 0;

  private constructor(server: ApiServer, client: Client) {
    this.server = server;
    this.client = client;
  }

  static async start(): Promise<Fleet> {
    const server = await startApiServer({ own: true, crds: hubCrds() });
    const client = await server.client();
    await registerSpokes(client, names);
    return new Fleet(server, client);
  }

  /** Every seventh spoke has another version, one has left and one has come. */
  async change(): Promise<void> {
    this.#turn += 1;
    const turn = this.#turn;
    const labels = { openshiftVersion: `4.18.${turn}` };
    await mapConcurrently(
      names.filter((_, index) => index % 7 === turn % 7),
      8,
      (name) => this.client.patch(ManagedCluster, { name }, { metadata: { labels } }, { type: 'merge' }),
    );
    await this.client.create(ManagedCluster, { metadata: { name: `new-${turn}`, labels }, spec: { hubAcceptsClient: true } });
    if (turn > 1) await this.client.delete(ManagedCluster, { name: `new-${turn - 1}` });
  }

  /** Name and version of each spoke, as a fresh list has them. */
  async rows(): Promise<Record<string, string>> {
    const { items } = await this.client.list(ManagedCluster);
    return Object.fromEntries(items.map(({ metadata }) => [metadata.name, metadata.labels?.openshiftVersion ?? '–']));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.server.stop();
  }
}

const test = testIn(() => Fleet.start());

const SHOWN = `(async () => {
  const grid = document.querySelector('[role=grid][aria-label=Spokes]');
  const rows = {};
  for (let top = 0; top <= grid.scrollHeight; top += grid.clientHeight / 2) {
    grid.scrollTo(0, top);
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(drawn, 20))));
    for (const row of grid.querySelectorAll('.rows [role=row]')) {
      const [name, , , version] = row.querySelectorAll('[role=gridcell]');
      rows[name.textContent] = version.textContent;
    }
  }
  grid.scrollTo(0, 0);
  return rows;
})()`;

/** Name and version of each row of the page, from the first to the last. */
const shown = async (page: Page): Promise<Record<string, string>> => z.record(z.string(), z.string()).parse(await page.evaluate(SHOWN));

async function untilTrue(fleet: Fleet, page: Page, after: string): Promise<void> {
  let [wanted, seen]: Record<string, string>[] = [{}, {}];
  await eventually(
    async () => {
      // Other tests change the same fleet meanwhile.
      [wanted, seen] = [await fleet.rows(), await shown(page)];
      return isDeepStrictEqual(seen, wanted);
    },
    `rows to equal a fresh list after ${after}`,
    60_000,
  ).catch((error: unknown) => {
    expect(seen, after).toEqual(wanted);
    throw error;
  });
}

/** Sentences that say of the page that it is old. */
const NOTES = `
  globalThis.warned = [];
  document.addEventListener('DOMContentLoaded', () => new MutationObserver(() => {
    for (const { textContent } of document.querySelectorAll('.stale-says, .bar-top .problem')) if (!warned.includes(textContent)) warned.push(textContent);
  }).observe(document.body, { subtree: true, childList: true, characterData: true }));
`;
const warned = async (page: Page): Promise<string[]> => z.array(z.string()).parse(await page.evaluate('warned'));

/** A page on a console, both reached by ways that can be broken. */
async function lookThroughRelays(fleet: Fleet) {
  await using starting = new AsyncDisposableStack();
  const toServer = starting.use(await startRelay(fleet.server.url));
  const kubeconfig = join(fleet.server.dir, `by-${toServer.port}.kubeconfig`);
  const direct = await readFile(fleet.server.kubeconfig, 'utf8');
  await writeFile(kubeconfig, direct.replace(fleet.server.url, toServer.url), { mode: 0o600 });
  const running = starting.use(await startConsole(kubeconfig));
  const { host } = new URL(running.base);
  const proxy: HttpProxy = starting.use(await startHttpProxy({ targets: { [host]: host } }));
  const toConsole = starting.use(await startRelay(`http://127.0.0.1:${proxy.port}`));
  const browser = await startBrowserProcess(`--proxy-server=${toConsole.url}`, '--proxy-bypass-list=<-loopback>');
  if (!browser) return undefined;
  starting.use(browser);
  const seen = starting.use(await look(browser.browser, 'about:blank'));
  await seen.page.addInitScript(NOTES);
  await seen.page.goto(await running.address());
  await seen.page.getByText('live', { exact: true }).waitFor();
  const stack = starting.move();
  return { toServer, toConsole, running, browser, page: seen.page, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const STALE = /^Everything below is old/;

describe('rows equal a fresh list, and the page has said that it was old, after', () => {
  test.concurrent('links between browser and console that are cut, or fall silent', async ({ world, skip }) => {
    await using looked = await lookThroughRelays(world);
    if (!looked) return skip(NO_BROWSER);
    const { page, toConsole } = looked;
    await world.change();
    await untilTrue(world, page, 'changes');

    toConsole.setFaults({ refuse: true });
    toConsole.cutNow();
    await world.change();
    await page.getByText(STALE).waitFor();
    await page.getByText(/^not live: nothing heard/).waitFor();
    toConsole.setFaults({});
    await page.getByText('live', { exact: true }).waitFor();
    await untilTrue(world, page, 'a cut');
    expect(await page.getByText(STALE).count()).toBe(0);

    // A proxy that takes connections and passes nothing on.
    toConsole.setFaults({ stall: true });
    toConsole.silence();
    await world.change();
    await page.getByText(STALE).waitFor();
    toConsole.setFaults({});
    await page.getByText('live', { exact: true }).waitFor();
    await untilTrue(world, page, 'a stall');

    expect(toConsole.silence()).toBeGreaterThan(0);
    await world.change();
    await page.getByText(STALE).waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    await untilTrue(world, page, 'a silence');
  });

  test.concurrent('links between console and API server that fall silent', async ({ world, skip }) => {
    await using looked = await lookThroughRelays(world);
    if (!looked) return skip(NO_BROWSER);
    const { page, toServer } = looked;
    toServer.setFaults({ refuse: true });
    toServer.cutNow();
    await world.change();
    await page.getByText(/does not answer: everything is as it was/).waitFor();
    toServer.setFaults({});
    await untilTrue(world, page, 'a silent API server');
    await page.getByText(/does not answer/).waitFor({ state: 'detached' });
  });

  test.concurrent('a page that was frozen', async ({ world, skip }) => {
    await using looked = await lookThroughRelays(world);
    if (!looked) return skip(NO_BROWSER);
    const { page, toConsole } = looked;
    const protocol = await page.context().newCDPSession(page);
    await protocol.send('Page.setWebLifecycleState', { state: 'frozen' });
    await world.change();
    toConsole.cutNow();
    await world.change();
    await protocol.send('Page.setWebLifecycleState', { state: 'active' });
    await untilTrue(world, page, 'a freeze');
  });

  test.concurrent('a machine that slept, with browser and console, and woke up with dead connections', async ({ world, skip }) => {
    await using looked = await lookThroughRelays(world);
    if (!looked) return skip(NO_BROWSER);
    const { page, toServer, toConsole, running, browser } = looked;
    browser.signal('SIGSTOP');
    running.signal('SIGSTOP');
    toServer.silence();
    toConsole.silence();
    await world.change();
    // As long as it takes until both ends count as silent.
    await asleep(22_000);
    running.signal('SIGCONT');
    browser.signal('SIGCONT');
    await untilTrue(world, page, 'a sleep');
    expect((await warned(page)).some((text) => STALE.test(text))).toBe(true);
  });
});

test('a page says in front of everything that no hub leads, until one does', async ({ world, skip }) => {
  const { client } = world;
  await client.request('POST', '/api/v1/namespaces', { body: { metadata: { name: 'flotilla' } } });
  const metadata = { namespace: 'flotilla', name: 'flotilla-hub' };
  const spec = { holderIdentity: 'hub-1', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z' };
  await client.create(Lease, { metadata, spec });
  await using looked = await lookThroughRelays(world);
  if (!looked) return skip(NO_BROWSER);
  const banner = looked.page.getByRole('alert').filter({ hasText: 'No hub leads' });
  await banner.waitFor();
  const [wide, high] = [looked.page.viewportSize()?.width, (await looked.page.getByRole('heading', { level: 1 }).boundingBox())?.y ?? 0];
  const box = await looked.page.locator('.banner').boundingBox();
  expect([box?.width, (box?.y ?? high) < high]).toEqual([wide, true]);
  const renewTime = new Date().toISOString().replace('Z', '000Z');
  await client.patch(Lease, metadata, { spec: { renewTime, leaseDurationSeconds: 3_600 } }, { type: 'merge' });
  await banner.waitFor({ state: 'detached' });
});

test('rows equal a fresh list after an API server that was away, and has forgotten the versions that were watched', {
  timeout: 180_000,
}, async ({ world, skip }) => {
  await using looked = await lookThroughRelays(world);
  if (!looked) return skip(NO_BROWSER);
  const { page } = looked;
  await world.server.restart({ forgets: true });
  await world.change();
  await untilTrue(world, page, 'a restart');
  expect(await warned(page)).toContainEqual(expect.stringMatching(/ManagedCluster is not seen|does not answer/));
});

/** A sleep is what is tested here. */
const asleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
