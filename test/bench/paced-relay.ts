import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A TCP relay that lets bytes towards the client through at a bounded rate, as a link does. */
interface PacedRelay extends AsyncDisposable {
  url: string;
}

/** Small slices: what stands in buffers behind the relay at a cut is about this much per connection. */
const SLICE = 16 * 1024;
const CATCH_UP_MS = 20;

/** Starts a relay before `target` that passes `bytesPerSecond` over all connections together. */
export async function startPacedRelay(target: string, bytesPerSecond: number): Promise<PacedRelay> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let nextAt = 0;
  const pace = async (bytes: number) => {
    const now = performance.now();
    // Late timers are caught up, but only as far as a slice or two: no burst that a link would not have.
    const at = Math.max(nextAt, now - CATCH_UP_MS);
    nextAt = at + (bytes * 1000) / bytesPerSecond;
    if (at - now >= 1) await delay(at - now);
  };
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ host: hostname, port: Number(port), noDelay: true });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      // Broken connections are what is measured here; the other side learns of them by `close`.
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    }
    client.on('close', () => upstream.destroy());
    client.pipe(upstream);
    void forward(upstream, client, pace).catch(() => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the relay has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function forward(from: Socket, to: Socket, pace: (bytes: number) => Promise<void>): Promise<void> {
  for await (const chunk of from) {
    if (!Buffer.isBuffer(chunk)) continue;
    for (let at = 0; at < chunk.length; at += SLICE) {
      const slice = chunk.subarray(at, at + SLICE);
      await pace(slice.length);
      if (to.destroyed) return;
      if (!to.write(slice)) await Promise.race([once(to, 'drain'), once(to, 'close')]);
    }
  }
  to.end();
}
