import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { EnvHttpProxyAgent, request } from 'undici';
import { afterEach, describe, expect, test } from 'vitest';
import { playChains, trustByRule } from '../testing/chain-case.ts';
import { type AddressGuard, openConnections } from './connections.ts';

const stack: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of stack.splice(0).reverse()) await close();
});

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.push(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as AddressInfo).port;
}

test.each<[string, string, boolean]>([
  ['an address in a network of NO_PROXY', 'https://10.128.3.4', false],
  ['an address outside', 'https://10.1.2.3', true],
  ['an IPv6 address in a network', 'https://[fd02::7]:5000', false],
  ['an IPv6 address outside', 'https://[fd03::7]', true],
  ['loopback', 'https://127.0.0.9:5000', false],
  ['localhost', 'https://localhost:5000', false],
  ['plain HTTP where only HTTPS has a proxy', 'http://registry.test', false],
  ['a host', 'https://registry.test', true],
])('%s', async (_, url, isProxied) => {
  await using connections = openConnections({
    proxy: { https: 'http://proxy.test:3128', no: '10.128.0.0/14,fd02::/112,,300.1.0.0/8,1.2.3.4/99' },
  });
  expect(connections.dispatcherFor(new URL(url)) instanceof EnvHttpProxyAgent).toBe(isProxied);
});

test('a CA file is trusted as Go trusts it', async () => {
  const outcomes = await playChains(async (url, ca) => {
    await using connections = openConnections({ ca });
    return (await request(url, { dispatcher: connections.dispatcherFor(url) })).body.text();
  });
  expect(outcomes).toEqual(trustByRule);
});

describe('a guard', () => {
  /** Requests a URL over the connections, as often as given. */
  async function ask(url: string, guard: AddressGuard, proxy = {}): Promise<string[]> {
    await using connections = openConnections({ connectMs: 5_000, proxy, guard });
    const answer = await request(url, { dispatcher: connections.dispatcherFor(new URL(url)) });
    return [await answer.body.text()];
  }

  test.each(['localhost', '127.0.0.1', '[::ffff:127.0.0.1]'])('sees the address of %s before anything is connected', async (host) => {
    let connected = 0;
    const server = createServer((_, response) => void response.end());
    server.on('connection', () => connected++);
    const port = await listen(server);
    const seen: string[] = [];
    const guard: AddressGuard = (address, asked) => {
      seen.push(asked);
      return /127\.0\.0\.1|::1|7f00:1/.test(address) ? new Error('not there') : undefined;
    };
    await expect(ask(`http://${host}:${port}/`, guard)).rejects.toThrow('not there');
    expect(connected).toBe(0);
    expect(new Set(seen)).toEqual(new Set([`${new URL(`http://${host}`).host}:${port}`]));
  });

  test('that gets an address only after the connection ends it before anything is sent', async () => {
    let asked = 0;
    const port = await listen(createServer((_, response) => void response.end(String(asked++))));
    let looks = 0;
    // Every address passes except the connected one.
    const guard: AddressGuard = () => (++looks > 1 ? new Error('not there') : undefined);
    await expect(ask(`http://127.0.0.1:${port}/`, guard)).rejects.toThrow('not there');
    expect(asked).toBe(0);
  });

  test('that allows an address changes nothing, and proxies are not checked', async () => {
    const port = await listen(createServer((_, response) => void response.end('here')));
    expect(await ask(`http://localhost:${port}/`, () => undefined)).toEqual(['here']);
    expect(await ask('http://far.invalid/', () => new Error('not there'), { http: `http://127.0.0.1:${port}` })).toEqual(['here']);
  });
});
