import { expect, test } from 'vitest';
import { createObjectAccess } from './any-kind.ts';
import type { Client } from './client.ts';
import { ApiError, RuntimeErrorCode } from './errors.ts';

const resources = { resources: [{ name: 'boats', singularName: 'boat', namespaced: true, kind: 'Boat' }] };

test('a kind that has gone since it was looked up is looked up again', async () => {
  let isServed = true;
  const request = async (_method: string, path: string) => {
    if (path === '/apis/test.io/v1' && isServed) return resources;
    throw new ApiError(RuntimeErrorCode.notFound, `GET ${path}`, { status: 404, reason: '', serverMessage: '' });
  };
  const access = createObjectAccess({ request } as unknown as Client, 'test');
  const boats = await access.findKind('test.io/v1', 'Boat');
  expect(boats).toMatchObject({ plural: 'boats' });
  isServed = false;
  expect(await access.findKind('test.io/v1', 'Boat')).toMatchObject({ plural: 'boats' });
  await expect(access.find(boats ?? expect.fail('no such kind'), 'n', 'a')).rejects.toThrow('could not find the requested resource');
  expect(await access.findKind('test.io/v1', 'Boat')).toBeUndefined();
});
