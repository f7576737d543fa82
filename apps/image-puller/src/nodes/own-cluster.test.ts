import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient, systemClock } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createVerifier, listNodes } from './own-cluster.ts';

const COUNT = 130;
const NODE_BYTES = 100_000;

/** Serves nodes that hold many images, a page at a time, and its keys to nobody. */
async function startCluster() {
  const padding = 'x'.repeat(NODE_BYTES);
  const server = createServer(({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://server');
    if (pathname === '/openid/v1/jwks') return void response.writeHead(403).end('keys are for others');
    const from = Number(searchParams.get('continue') ?? 0);
    const to = Math.min(COUNT, from + Number(searchParams.get('limit') ?? COUNT));
    const items = Array.from({ length: to - from }, (_, index) => ({
      metadata: { name: `n${from + index}`, uid: `uid-${from + index}` },
      spec: {},
      status: { images: [{ names: [padding] }] },
    }));
    const metadata = to < COUNT ? { continue: String(to) } : {};
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ metadata, items }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const kubeconfig = JSON.stringify({
    clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token: 'sesame' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
  const client = createClient({ kubeconfig });
  return {
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('nodes with 100 KB each are listed whole', async () => {
  await using cluster = await startCluster();
  const nodes = await listNodes(cluster.client, new AbortController().signal);
  expect(nodes.map(({ name }) => name)).toEqual(Array.from({ length: COUNT }, (_, index) => `n${index}`));
});

test('a token that cannot be verified, because the keys cannot be read, is refused with that', async () => {
  await using cluster = await startCluster();
  const { refusal } = z.object({ refusal: z.string() }).parse(await createVerifier(cluster.client, systemClock)('sesame'));
  expect(refusal).toMatch(/^the keys of the cluster, which verify its token, cannot be read: .*403/);
});
