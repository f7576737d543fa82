/** Figures of the console's page in a real browser. */
import { request } from 'node:http';
import { ManagedCluster } from '@flotilla/api/ocm';
import type { Client } from '@flotilla/runtime';
import type { CDPSession, Page } from 'playwright-core';
import { z } from 'zod';
import { PROBES } from './busy-hub.ts';

/** Runs in the page before its own scripts: notes when rows and probes are drawn, and tasks that are long. */
const NOTES = `
  globalThis.bench = { first: 0, probes: {}, long: [] };
  new PerformanceObserver((list) => bench.long.push(...list.getEntries().map(({ startTime, duration }) => ({ at: performance.timeOrigin + startTime, ms: duration })))).observe({ type: 'longtask', buffered: true });
  const look = () => requestAnimationFrame(() => {
    const cells = document.querySelectorAll('[role=grid] [role=gridcell]:nth-child(2)');
    if (bench.first === 0 && cells.length > 0) bench.first = Date.now();
    for (const { textContent } of cells) if (textContent.startsWith('probe-') && !(textContent in bench.probes)) bench.probes[textContent] = Date.now();
  });
  document.addEventListener('DOMContentLoaded', () => new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true }));
`;

const Noted = z.object({
  first: z.number(),
  probes: z.record(z.string(), z.number()),
  long: z.array(z.object({ at: z.number(), ms: z.number() })),
});
const Shown = z.array(z.object({ name: z.string(), version: z.string(), cached: z.string() }));
/** Between two probes. */
const PROBE_MS = 250;

/** A page that is measured. */
export class MeasuredPage {
  readonly page: Page;
  readonly #protocol: CDPSession;
  /** Probe to when its write was sent, and when the server had it. */
  readonly #sent = new Map<string, { readonly at: number; acknowledged: number }>();

  private constructor(page: Page, protocol: CDPSession) {
    this.page = page;
    this.#protocol = protocol;
  }

  static async open(page: Page): Promise<MeasuredPage> {
    await page.addInitScript(NOTES);
    return new MeasuredPage(page, await page.context().newCDPSession(page));
  }

  async notes(): Promise<z.output<typeof Noted>> {
    return Noted.parse(await this.page.evaluate('bench'));
  }

  /** MiB of the page's objects after a full collection. */
  async heapMiB(): Promise<number> {
    await this.#protocol.send('HeapProfiler.collectGarbage');
    const { usedSize } = await this.#protocol.send('Runtime.getHeapUsage');
    return usedSize / 2 ** 20;
  }

  /** Writes to rows in sight, one after the other, until the signal aborts. */
  probe(client: Client, names: readonly string[], signal: AbortSignal): void {
    let number = 0;
    const timer = setInterval(() => {
      number += 1;
      const name = names[number % PROBES] ?? '';
      const label = `probe-${number}`;
      const sent = { at: Date.now(), acknowledged: Number.NaN };
      this.#sent.set(label, sent);
      void client.patch(ManagedCluster, { name }, { metadata: { labels: { openshiftVersion: label } } }, { type: 'merge' }).then(
        () => {
          sent.acknowledged = Date.now();
        },
        () => this.#sent.delete(label),
      );
    }, PROBE_MS);
    signal.addEventListener('abort', () => clearInterval(timer));
  }

  /** Milliseconds from the sending of each write, and from the server's answer, to the pixel; how many were never seen. */
  async delays(): Promise<{ readonly sent: number[]; readonly acknowledged: number[]; readonly unseen: number }> {
    const { probes } = await this.notes();
    const seen = [...this.#sent].flatMap(([label, sent]) => (probes[label] === undefined ? [] : [{ seen: probes[label], ...sent }]));
    return {
      sent: seen.map((one) => one.seen - one.at),
      acknowledged: seen.map((one) => Math.max(one.seen - one.acknowledged, 0)),
      unseen: this.#sent.size - seen.length,
    };
  }

  /** Rows in sight after a leap to a place. @param place from 0, the top, to 1 */
  async rowsAt(place: number): Promise<z.output<typeof Shown>> {
    await this.page.evaluate(
      `(() => { const grid = document.querySelector('[role=grid][aria-label=Spokes]'); grid.scrollTo(0, grid.scrollHeight * ${place}); })()`,
    );
    await this.page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(drawn, 50))))');
    return Shown.parse(
      await this.page.evaluate(`(() => {
        const grid = document.querySelector('[role=grid][aria-label=Spokes]');
        const heads = [...grid.querySelectorAll('[role=columnheader]')].map(({ textContent }) => textContent.replace(/ [▲▼]$/, ''));
        // The hub's own word for a state is a title.
        const at = (row, title) => { const cell = row.querySelectorAll('[role=gridcell]')[heads.indexOf(title)]; return cell?.querySelector('[title]')?.title || cell?.textContent || ''; };
        return [...grid.querySelectorAll('.rows [role=row]')].map((row) => ({ name: at(row, 'Spoke'), version: at(row, 'Version'), cached: at(row, 'Pre-cache') }));
      })()`),
    );
  }
}

/** A viewer that counts what comes over the wire, as a browser would have it sent. */
export function countBytes(
  base: string,
  headers: Readonly<Record<string, string>>,
): { readonly bytes: () => number; readonly end: () => void } {
  let bytes = 0;
  const asking = request(`${base}/api/stream`, { headers: { ...headers, 'accept-encoding': 'gzip, deflate, br, zstd' } }, (response) => {
    response.on('data', (part: Buffer) => {
      bytes += part.length;
    });
    response.on('error', () => undefined);
  });
  asking.on('error', () => undefined);
  asking.end();
  return { bytes: () => bytes, end: () => void asking.destroy() };
}
