import type { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { buildClusterGroupUpgrade } from '@flotilla/rollout/testing';
import { ApiError, type Client, RefusedValues, RuntimeErrorCode, SentStatus } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { KeptFields, writeStatus } from './apply.ts';

test('a status of which the server drops a part is sent once, and again when it or the object changes', async () => {
  let stored = buildClusterGroupUpgrade({ metadata: { resourceVersion: '1' }, status: { status: {} } });
  const sent: unknown[] = [];
  // This server keeps records alone.
  const patch = async (_kind: unknown, _ref: unknown, { status }: { status: ClusterGroupUpgradeStatus }) => {
    sent.push(status);
    stored = { ...stored, status: { status: {}, clusters: status.clusters ?? stored.status?.clusters } };
    return stored;
  };
  const memory = { client: { patch } as unknown as Client, kept: new KeptFields(), sent: new SentStatus(), now: 0 };
  const write = (status: Partial<ClusterGroupUpgradeStatus>) => writeStatus(stored, { status: {}, ...status }, memory);
  const waits = [{ for: 'policy p', clusters: 1, names: ['a'] }];
  await write({ waits });
  expect(await write({ waits })).toBeUndefined();
  expect(sent).toEqual([{ waits }]);
  const clusters = [{ name: 'a', state: 'complete' }];
  expect((await write({ waits, clusters }))?.status?.clusters).toEqual(clusters);
  expect(await write({ waits, clusters })).toBeUndefined();
  stored = { ...stored, metadata: { ...stored.metadata, resourceVersion: '3' } };
  await write({ waits, clusters });
  expect(sent).toEqual([{ waits }, { waits, clusters }, { waits }]);
});

test('a server that drops what is packed is asked before it is sent any, and gets the states in full', async () => {
  const stored = buildClusterGroupUpgrade({ status: { status: {} } });
  const sent: ClusterGroupUpgradeStatus[] = [];
  const patch = async (_kind: unknown, _ref: unknown, { status }: { status: ClusterGroupUpgradeStatus }, { dryRun = false }) => {
    if (!dryRun) sent.push(status);
    return { ...stored, status: { ...status, packed: undefined } };
  };
  const plan = [Array.from({ length: 3_000 }, (_, index) => `${index}`.padStart(200, 'a'))];
  const memory = { client: { patch } as unknown as Client, kept: new KeptFields(), sent: new SentStatus(), now: 0 };
  const written = await writeStatus(stored, { status: {}, remediationPlan: plan }, memory);
  expect(sent).toEqual([{ remediationPlan: plan }]);
  expect(written?.status?.remediationPlan).toEqual(plan);
});

test('a value that the served definition refuses costs that value alone, and is written once the definition takes it', async () => {
  let isOld = true;
  const stored = buildClusterGroupUpgrade({ status: { status: {} } });
  const patch = async (_kind: unknown, _ref: unknown, { status }: { status: ClusterGroupUpgradeStatus }) => {
    if (isOld && status.precaching?.pins) {
      const causes = [
        { field: 'status.precaching.pins', reason: 'FieldValueNotSupported', message: 'Unsupported value: supported values: "runtime"' },
      ];
      throw new ApiError(RuntimeErrorCode.invalid, 'PATCH', { status: 422, reason: 'Invalid', serverMessage: 'no', causes });
    }
    return { ...stored, status: { ...stored.status, ...status } };
  };
  const told: string[] = [];
  const refused = new RefusedValues({ tell: ({ field }) => told.push(field) });
  const deps = { client: { patch } as unknown as Client, kept: new KeptFields(), sent: new SentStatus(), now: 0, refused };
  const status: ClusterGroupUpgradeStatus = {
    status: {},
    messages: { a: 'held' },
    precaching: { status: { a: 'Succeeded' }, pins: 'pinned-image-set' },
  };
  const written = await writeStatus(stored, status, deps);
  expect(written?.status).toMatchObject({ messages: { a: 'held' }, precaching: { status: { a: 'Succeeded' } } });
  expect([written?.status?.precaching?.pins, told]).toEqual([undefined, ['status.precaching.pins']]);
  // Nothing is left to write, so nothing is sent.
  expect(await writeStatus(written ?? stored, status, deps)).toBeUndefined();
  isOld = false;
  refused.forget();
  expect((await writeStatus(written ?? stored, status, deps))?.status?.precaching?.pins).toBe('pinned-image-set');
});
