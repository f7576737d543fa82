import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { portOf } from '../../processes/free-port.ts';
import { type RelayFaults, startRelay } from './relay.ts';

const stack: AsyncDisposable[] = [];
afterEach(async () => {
  for (const resource of stack.splice(0).reverse()) await resource[Symbol.asyncDispose]();
});

/** A relay before a server that answers everything with `size` bytes. */
async function relayed(size: number, faults: RelayFaults, seed?: number) {
  const server = createServer((_, response) => response.end(Buffer.alloc(size, 1)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.push({ [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve()).closeAllConnections()) });
  const relay = await startRelay(`http://127.0.0.1:${portOf(server)}`, { faults, ...(seed && { seed }) });
  stack.push(relay);
  return relay;
}

const download = async (url: string): Promise<number> =>
  (await (await fetch(url, { headers: { connection: 'close' }, signal: AbortSignal.timeout(5_000) })).arrayBuffer()).byteLength;

test('passes everything on and counts it', async () => {
  const relay = await relayed(300_000, {});
  expect(await download(relay.url)).toBe(300_000);
  const counts = relay.counts();
  expect(counts).toMatchObject({ connections: 1, cut: 0 });
  expect(counts.toClient).toBeGreaterThan(300_000);
  expect(counts.toTarget).toBeGreaterThan(0);
});

test('cuts exactly after the given bytes, as often as told', async () => {
  const relay = await relayed(300_000, { cutAfterBytes: 100_000, cuts: 1 });
  await expect(download(relay.url)).rejects.toThrow();
  expect(relay.counts()).toMatchObject({ toClient: 100_000, cut: 1 });
  expect(await download(relay.url)).toBe(300_000);
});

test('draws the same cut from the same seed', async () => {
  const bytes = async (seed: number) => {
    const relay = await relayed(300_000, { cutAfterBytes: [1_000, 200_000] }, seed);
    await expect(download(relay.url)).rejects.toThrow();
    return relay.counts().toClient;
  };
  const first = await bytes(7);
  expect(await bytes(7)).toBe(first);
  expect(await bytes(8)).not.toBe(first);
});

test('refuses while told to, and delays', async () => {
  const relay = await relayed(10, { refuse: true });
  await expect(download(relay.url)).rejects.toThrow();
  relay.setFaults({ delayMs: 150 });
  const start = performance.now();
  expect(await download(relay.url)).toBe(10);
  expect(performance.now() - start).toBeGreaterThan(140);
});

test('keeps to a pace', async () => {
  const relay = await relayed(500_000, { bytesPerSecond: 1_000_000 });
  const start = performance.now();
  expect(await download(relay.url)).toBe(500_000);
  // The last chunk, at most 64 KiB, is not waited for.
  expect(performance.now() - start).toBeGreaterThan(400);
});

test('ends open connections at once', async () => {
  const relay = await relayed(50_000_000, {});
  const response = await fetch(relay.url);
  const reading = response.arrayBuffer();
  relay.cutNow();
  await expect(reading).rejects.toThrow();
});
