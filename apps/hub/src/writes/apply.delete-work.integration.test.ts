import { ManifestWork, transportCrds, WORK_FINALIZER } from '@flotilla/api/ocm';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deleteWork } from './apply.ts';

let server: ApiServer;
let client: Client;

beforeAll(async () => {
  server = await startApiServer({ crds: transportCrds() });
  client = await server.client();
});
afterAll(() => server?.stop());

const ref = { namespace: 'default', name: 'full' };
const create = (length: number) =>
  client.create(ManifestWork, {
    metadata: { ...ref, finalizers: [WORK_FINALIZER, 'example.com/another'] },
    spec: { workload: { manifests: [{ apiVersion: 'v1', kind: 'ConfigMap', data: { x: 'x'.repeat(length) } }] } },
  });

/** True when the store accepts a work of this size. */
async function isTaken(length: number): Promise<boolean> {
  try {
    await create(length);
  } catch {
    return false;
  }
  await client.patch(ManifestWork, ref, { metadata: { finalizers: null } }, { type: 'merge' });
  await client.delete(ManifestWork, ref);
  return true;
}

test('a work that leaves no room for the time of its deletion goes all the same', async () => {
  let length = 1_400_000;
  for (let step = 131_072; step >= 1; step = Math.floor(step / 2)) if (await isTaken(length + step)) length += step;
  const work = await create(length);
  await expect(client.delete(ManifestWork, ref)).rejects.toThrow('request is too large');
  await deleteWork(client, work);
  expect(await client.get(ManifestWork, ref)).toBeUndefined();
});

test('another work of the name is left alone', async () => {
  const { metadata } = await client.create(ManifestWork, { metadata: { ...ref, name: 'other' }, spec: {} });
  await deleteWork(client, { metadata: { ...metadata, uid: 'of-one-that-went' } });
  expect(await client.get(ManifestWork, metadata)).toBeDefined();
});
