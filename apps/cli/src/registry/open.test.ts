import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseImageReference } from '@flotilla/registry';
import { afterEach, expect, test, vi } from 'vitest';
import { openRegistry } from './open.ts';

const options = { pullSecret: undefined, registryCa: undefined, insecureRegistry: ['registry.test'] };

afterEach(() => vi.unstubAllEnvs());

test('a registry is asked through the proxy of the environment', async () => {
  const asked: (string | undefined)[] = [];
  const proxy = createServer(({ url }, response) => {
    asked.push(url);
    response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  vi.stubEnv('HTTP_PROXY', `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
  vi.stubEnv('NO_PROXY', '');
  vi.stubEnv('no_proxy', '');
  try {
    await using client = await openRegistry(options);
    await client.fetchManifest(parseImageReference('registry.test/a:1')).catch(() => undefined);
    expect(asked.at(-1)).toBe('http://registry.test/v2/a/manifests/1');
  } finally {
    proxy.closeAllConnections();
    proxy.close();
  }
});

test('a variable that is no URL of a proxy is named', async () => {
  vi.stubEnv('HTTPS_PROXY', 'socks5://proxy:1080');
  await expect(openRegistry(options)).rejects.toThrow('HTTPS_PROXY is no URL of a proxy');
});
