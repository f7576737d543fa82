import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, test, vi } from 'vitest';
import type { Feed } from './rows/feed.ts';
import { stream } from './stream.ts';

test('a page that takes nothing any more and may look no longer ends alone', async () => {
  const ended = new AbortController();
  const heard = Promise.withResolvers<{ say: (sent: { data: string }) => void; response: ServerResponse }>();
  let isHeard = true;
  const errors: unknown[] = [];
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const server = createServer((_, response) => {
    response.on('error', (error) => errors.push(error));
    const listen = (_wish: unknown, say: (sent: { data: string }) => void) => {
      heard.resolve({ say, response });
      return () => {
        isHeard = false;
      };
    };
    const feed = { listen } as unknown as Feed;
    stream(response, { feed, greeting: {}, ended: ended.signal } as never, { upgrades: [], fresh: [] } as never);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  socket.pause();
  socket.write('GET /api/stream HTTP/1.1\r\nhost: console\r\n\r\n');
  const { say, response } = await heard.promise;
  // Until the sockets between are full.
  for (let tries = 0; response.writableLength < 2 ** 20; tries += 1) {
    expect(tries).toBeLessThan(500);
    say({ data: 'x'.repeat(2 ** 18) });
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  ended.abort();
  expect(isHeard).toBe(false);
  vi.advanceTimersByTime(30_000);
  vi.useRealTimers();
  await new Promise((resolve) => setImmediate(resolve));
  expect(errors).toEqual([]);
  socket.destroy();
  server.closeAllConnections();
  server.close();
});
