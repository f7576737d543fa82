import { createClient, systemClock } from '@flotilla/runtime';
import { startScriptedServer } from '@flotilla/runtime/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createVerifier, listNodes } from './own-cluster.ts';

const COUNT = 130;
const NODE_BYTES = 100_000;

/** Serves nodes that hold many images, a page at a time, and its keys to nobody. */
async function startCluster() {
  const padding = 'x'.repeat(NODE_BYTES);
  const server = await startScriptedServer();
  server.fallback = ({ url = '' }, response) => {
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
  };
  const client = createClient({ kubeconfig: server.kubeconfig });
  return {
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server[Symbol.asyncDispose]();
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
