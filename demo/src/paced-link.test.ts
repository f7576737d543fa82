import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { programOf } from './node-program.ts';
import { PacedLink } from './paced-link.ts';

test.each([
  { image: 'registry.flotilla.test/flotilla/image-puller@sha256:abc', want: 'image-puller' },
  { image: 'registry.flotilla.test:5000/flotilla/spoke-agent:v1', want: 'spoke-agent' },
  { image: 'registry.flotilla.test/release/components@sha256:abc', want: undefined },
])('the program of $image is $want', ({ image, want }) => expect(programOf(image)).toBe(want));

test('a link carries its rate, and nothing while it is cut', async () => {
  const server = createServer((_, response) => response.end(Buffer.alloc(500_000)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('no port');
  const at = `127.0.0.1:${address.port}`;
  await using link = new PacedLink();
  await link.start([at]);
  const url = `http://${link.translate(at)}/`;
  const fetchAll = async () =>
    (await (await fetch(url, { headers: { connection: 'close' }, signal: AbortSignal.timeout(5_000) })).bytes()).length;
  try {
    link.setRate('8mbit');
    const start = performance.now();
    expect(await fetchAll()).toBe(500_000);
    // Half a second by arithmetic; the last slice is not waited for.
    expect(performance.now() - start).toBeGreaterThan(400);
    link.cut();
    await expect(fetchAll()).rejects.toThrow();
    link.restore();
    expect(await fetchAll()).toBe(500_000);
  } finally {
    server.close().closeAllConnections();
  }
});
