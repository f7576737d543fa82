import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, test, vi } from 'vitest';
import type { Feed } from './rows/feed.ts';
import { stream } from './stream.ts';

/** A server of one stream, and a page that has asked for it and reads nothing yet. */
async function startPage(signal: AbortSignal, first?: { readonly data: string }) {
  const heard = Promise.withResolvers<{ say: (sent: { data: string }) => void; response: ServerResponse }>();
  const page = { isHeard: true, errors: [] as unknown[] };
  const server = createServer((_, response) => {
    response.on('error', (error) => page.errors.push(error));
    const listen = (_wish: unknown, say: (sent: { data: string }) => void) => {
      if (first) say(first);
      heard.resolve({ say, response });
      return () => {
        page.isHeard = false;
      };
    };
    const feed = { listen } as unknown as Feed;
    stream(response, { feed, greeting: {}, ended: signal } as never, { upgrades: [], fresh: [] } as never);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  socket.pause();
  socket.write('GET /api/stream HTTP/1.1\r\nhost: console\r\n\r\n');
  const stop = () => {
    socket.destroy();
    server.closeAllConnections();
    server.close();
  };
  return { page, socket, ...(await heard.promise), [Symbol.dispose]: stop };
}

test('a first message of any size arrives, and only a page that takes nothing after it is cut off', async () => {
  const size = 20 * 2 ** 20;
  using running = await startPage(new AbortController().signal, { data: 'x'.repeat(size) });
  const { socket, say, response, page } = running;
  let read = 0;
  socket.on('data', (part) => {
    read += part.length;
  });
  socket.resume();
  await vi.waitFor(() => expect(read).toBeGreaterThan(size), 20_000);
  expect(page.isHeard).toBe(true);
  socket.pause();
  for (let tries = 0; !response.destroyed; tries += 1) {
    expect(tries).toBeLessThan(500);
    say({ data: 'x'.repeat(2 ** 18) });
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await vi.waitFor(() => expect(page.isHeard).toBe(false), 20_000);
});

test('a page that takes nothing any more and may look no longer ends alone', async () => {
  const ended = new AbortController();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  using running = await startPage(ended.signal);
  const { say, response, page } = running;
  // Until the sockets between are full.
  for (let tries = 0; response.writableLength < 2 ** 20; tries += 1) {
    expect(tries).toBeLessThan(500);
    say({ data: 'x'.repeat(2 ** 18) });
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  ended.abort();
  expect(page.isHeard).toBe(false);
  vi.advanceTimersByTime(30_000);
  vi.useRealTimers();
  await new Promise((resolve) => setImmediate(resolve));
  expect(page.errors).toEqual([]);
});
