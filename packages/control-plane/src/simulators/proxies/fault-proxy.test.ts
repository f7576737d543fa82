import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { portOf } from '../../processes/free-port.ts';
import { type Faults, startFaultProxy } from './fault-proxy.ts';

const stack: AsyncDisposable[] = [];
afterEach(async () => {
  for (const resource of stack.splice(0).reverse()) await resource[Symbol.asyncDispose]();
});

/** A proxy before a server that answers everything with `size` bytes. */
async function proxied(size: number, faults: Faults, seed?: number) {
  const server = createServer((_, response) => response.end(Buffer.alloc(size, 1)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.push({ [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve()).closeAllConnections()) });
  const proxy = await startFaultProxy(`http://127.0.0.1:${portOf(server)}`, { faults, ...(seed && { seed }) });
  stack.push(proxy);
  return proxy;
}

const download = async (url: string): Promise<number> =>
  (await (await fetch(url, { headers: { connection: 'close' }, signal: AbortSignal.timeout(5_000) })).arrayBuffer()).byteLength;

test('passes everything on and counts it', async () => {
  const proxy = await proxied(300_000, {});
  expect(await download(proxy.url)).toBe(300_000);
  const counts = proxy.counts();
  expect(counts).toMatchObject({ connections: 1, cut: 0 });
  expect(counts.toClient).toBeGreaterThan(300_000);
  expect(counts.toTarget).toBeGreaterThan(0);
});

test('cuts exactly after the given bytes, as often as told', async () => {
  const proxy = await proxied(300_000, { cutAfterBytes: 100_000, cuts: 1 });
  await expect(download(proxy.url)).rejects.toThrow();
  expect(proxy.counts()).toMatchObject({ toClient: 100_000, cut: 1 });
  expect(await download(proxy.url)).toBe(300_000);
});

test('draws the same cut from the same seed', async () => {
  const bytes = async (seed: number) => {
    const proxy = await proxied(300_000, { cutAfterBytes: [1_000, 200_000] }, seed);
    await expect(download(proxy.url)).rejects.toThrow();
    return proxy.counts().toClient;
  };
  const first = await bytes(7);
  expect(await bytes(7)).toBe(first);
  expect(await bytes(8)).not.toBe(first);
});

test('refuses while told to, and delays', async () => {
  const proxy = await proxied(10, { refuse: true });
  await expect(download(proxy.url)).rejects.toThrow();
  proxy.setFaults({ delayMs: 150 });
  const start = performance.now();
  expect(await download(proxy.url)).toBe(10);
  expect(performance.now() - start).toBeGreaterThan(140);
});

test('keeps to a pace', async () => {
  const proxy = await proxied(500_000, { bytesPerSecond: 1_000_000 });
  const start = performance.now();
  expect(await download(proxy.url)).toBe(500_000);
  // The last chunk, at most 64 KiB, is not waited for.
  expect(performance.now() - start).toBeGreaterThan(400);
});

test('ends open connections at once', async () => {
  const proxy = await proxied(50_000_000, {});
  const response = await fetch(proxy.url);
  const reading = response.arrayBuffer();
  proxy.cutNow();
  await expect(reading).rejects.toThrow();
});
