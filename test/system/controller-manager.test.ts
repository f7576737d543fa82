import { Namespace } from '@flotilla/api/core';
import { startApiServer, startControllerManager } from '@flotilla/control-plane/servers';
import { eventually } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';

test('a namespace is gone once it is deleted beside a controller manager', async () => {
  await using server = await startApiServer();
  await using _controllers = await startControllerManager(server);
  const client = await server.client();
  await client.create(Namespace, { metadata: { name: 'short-lived' } });
  await client.delete(Namespace, { name: 'short-lived' });
  await eventually(async () => (await client.get(Namespace, { name: 'short-lived' })) === undefined, 'the namespace to be gone', 30_000);
  expect(await client.get(Namespace, { name: 'default' })).toBeDefined();
});
