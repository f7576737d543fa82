import type { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { buildClusterGroupUpgrade } from '@flotilla/rollout/testing';
import type { Client } from '@flotilla/runtime';
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
