import { parseImageReference } from '@flotilla/registry';
import { startHostileRegistry } from '@flotilla/registry/testing';
import { expect, test } from 'vitest';
import { UNCAPPED } from '../testing/memory-spoke.ts';
import { readConfig } from './config.ts';
import { openRegistryClient } from './node-registries.ts';

test('a wait that a registry asks for is told by the run, so the client does not make it', async () => {
  await using registry = await startHostileRegistry();
  registry.handlers.push((_, response) => {
    response.writeHead(429, { 'retry-after': '30' }).end();
    return true;
  });
  const config = readConfig({ REGISTRY_CONFIG: JSON.stringify([{ source: registry.host, mirrors: [], insecure: true }]) }, []);
  await using client = await openRegistryClient(config, { auths: {} }, UNCAPPED);
  const failure = { code: 'FLOTILLA_REGISTRY_RATE_LIMITED', retryAfterMs: 30_000 };
  await expect(client.fetchManifest(parseImageReference(`${registry.host}/team/app:1`))).rejects.toMatchObject(failure);
  expect(registry.requests).toHaveLength(1);
});
