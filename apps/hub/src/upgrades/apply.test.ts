import type { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { buildClusterGroupUpgrade } from '@flotilla/rollout/testing';
import { ApiError, type Client, RefusedValues, RuntimeErrorCode } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { writeStatus } from './apply.ts';
import { KeptFields } from './kept-fields.ts';

test('writes that are under way beside one another both teach what the server drops: neither is sent again', async () => {
  const stored = buildClusterGroupUpgrade({ status: { status: {} } });
  const answers: (() => void)[] = [];
  // This server drops every field.
  const patch = () => new Promise((resolve) => answers.push(() => resolve(stored)));
  const client = { patch } as unknown as Client;
  const kept = new KeptFields();
  const write = (status: Partial<ClusterGroupUpgradeStatus>) => writeStatus(stored, { status: {}, ...status }, { client, kept });
  const waits = { waits: [{ for: 'policy p', clusters: 1, names: ['a'] }] };
  const messages = { messages: { a: 'held' } };
  const under = [write(waits), write(messages)];
  for (const answer of answers) answer();
  await Promise.all(under);
  expect([kept.changesNothing({ waits: [], messages: {} }), kept.changesNothing({ status: {} })]).toEqual([true, false]);
  expect([await write(waits), await write(messages), answers.length]).toEqual([undefined, undefined, 2]);
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
  const deps = { client: { patch } as unknown as Client, kept: new KeptFields(), refused };
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
