import { ManualClock } from '@flotilla/pace/testing';
import { ApiError, type Client, createLogger, RuntimeErrorCode } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { noteCachedRelease } from './after-run.ts';

const IMAGE = 'registry.test/release@sha256:aa';
const conflict = new ApiError(RuntimeErrorCode.conflict, 'patching', {
  status: 409,
  reason: 'Conflict',
  serverMessage: 'changed',
} as never);

/** A ConfigMap that another run writes to in so many tries. */
function clusterOf(conflicts: number) {
  const written: unknown[] = [];
  let version = 0;
  const client = {
    get: async () => ({ metadata: { name: 'm', uid: 'map', resourceVersion: String(version) }, data: {} }),
    getText: async () => JSON.stringify({ items: [{ metadata: { name: 'a', uid: '1' }, spec: {} }], metadata: {} }),
    patch: async (_kind: unknown, _ref: unknown, patch: { metadata: unknown }) => {
      version += 1;
      if (version <= conflicts) throw conflict;
      written.push(patch.metadata);
    },
  };
  return { client: client as unknown as Client, written };
}

test.each([
  { conflicts: 2, versions: [{ uid: 'map', resourceVersion: '2' }] },
  { conflicts: 3, versions: [] },
])('a note that meets $conflicts of other runs is made over what they left, three times at most', async ({ conflicts, versions }) => {
  const { client, written } = clusterOf(conflicts);
  await noteCachedRelease(client, {
    spec: { platformImage: IMAGE } as never,
    names: [{ pullSpec: IMAGE, referenceDigest: 'sha256:aa' } as never],
    filled: [{ name: 'a' }],
    upgrade: undefined,
    signal: new AbortController().signal,
    clock: new ManualClock(),
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  expect(written).toEqual(versions);
});
