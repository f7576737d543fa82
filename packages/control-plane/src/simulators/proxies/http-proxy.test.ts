import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { startHttpProxy } from './http-proxy.ts';

async function startTarget() {
  const server = createServer((asked, answer) => answer.end(`${asked.method} ${asked.url} for ${asked.headers.host}`)).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    at: `127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => void (await new Promise((resolve) => server.close(resolve).closeAllConnections())),
  };
}

/** Asks for a URL as a client that was given the proxy. */
async function getThrough(port: number, url: string): Promise<{ status: number | undefined; text: string }> {
  const asked = request({ host: '127.0.0.1', port, path: url, headers: { host: new URL(url).host } }).end();
  const [answer] = await once(asked, 'response');
  return { status: answer.statusCode, text: (await buffer(answer)).toString() };
}

/** Opens a tunnel and sends a request through it; the status is the proxy's. */
async function getThroughTunnel(port: number, authority: string): Promise<{ status: number | undefined; text: string }> {
  const asked = request({ host: '127.0.0.1', port, method: 'CONNECT', path: authority }).end();
  const [answer, socket] = await once(asked, 'connect');
  if (answer.statusCode !== 200) return { status: answer.statusCode, text: '' };
  socket.end('GET /inside HTTP/1.1\r\nhost: name.test\r\nconnection: close\r\n\r\n');
  return { status: 200, text: (await buffer(socket)).toString() };
}

test('lets requests and tunnels through to its targets, and counts what clients got', async () => {
  await using target = await startTarget();
  await using proxy = await startHttpProxy({ targets: { 'name.test:443': target.at, 'plain.test:5000': target.at } });
  expect(await getThrough(proxy.port, 'http://plain.test:5000/v2/?n=1')).toEqual({ status: 200, text: 'GET /v2/?n=1 for plain.test:5000' });
  const tunnel = await getThroughTunnel(proxy.port, 'name.test:443');
  expect(tunnel.text).toMatch(/^HTTP\/1.1 200 OK\r\n.*GET \/inside for name.test/s);
  expect(proxy.bytesToClients()).toEqual({ 'plain.test:5000': 32, 'name.test:443': tunnel.text.length });
  expect(proxy.refused()).toEqual([]);
});

test('refuses what is no target', async () => {
  await using target = await startTarget();
  await using proxy = await startHttpProxy({ targets: { 'name.test:443': target.at } });
  expect((await getThroughTunnel(proxy.port, target.at)).status).toBe(502);
  expect((await getThrough(proxy.port, 'http://name.test/')).status).toBe(502);
  expect(proxy.refused()).toEqual([target.at, 'name.test:80']);
  expect(proxy.bytesToClients()).toEqual({});
});
