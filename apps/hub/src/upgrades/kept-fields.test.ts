import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { buildClusterGroupUpgrade } from '@flotilla/rollout/testing';
import type { Client } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { KeptFields } from './kept-fields.ts';

const plain = buildClusterGroupUpgrade({ status: { status: {} } });
const asking: ClusterGroupUpgrade = {
  ...plain,
  metadata: { ...plain.metadata, annotations: { 'flotilla.io/proof-within': '2h' } },
  spec: { ...plain.spec, preCaching: true } as never,
};

/** A server whose CRD has the field or not. */
function serverOf(state: { keeps: boolean }) {
  const patches: { readonly patch: unknown; readonly dryRun: unknown }[] = [];
  const patch = async (_kind: unknown, _ref: unknown, sent: unknown, { dryRun }: { dryRun?: boolean }) => {
    patches.push({ patch: sent, dryRun });
    return state.keeps ? { ...plain, ...(sent as object) } : plain;
  };
  return { patches, client: { patch } as unknown as Client };
}

test('the server is asked once, and again only when the answer is old; nothing is written', async () => {
  const state = { keeps: false };
  const { client, patches } = serverOf(state);
  const kept = new KeptFields();
  await kept.ask(plain, { client, now: 0 });
  expect([kept.areProofsKept, patches.length]).toEqual([true, 0]);
  await kept.ask(asking, { client, now: 0 });
  await kept.ask(asking, { client, now: 29_999 });
  expect([kept.areProofsKept, kept.askAgainAt, patches.length]).toEqual([false, 30_000, 1]);
  state.keeps = true;
  await kept.ask(asking, { client, now: 30_000 });
  await kept.ask(asking, { client, now: 600_000 });
  expect([kept.areProofsKept, kept.askAgainAt, patches.length]).toEqual([true, undefined, 2]);
  expect(patches).toEqual(Array(2).fill({ patch: { status: { precaching: { proofs: [] } } }, dryRun: true }));
});

test('a write that loses proofs says so at once, and one that keeps them ends it', async () => {
  const { client, patches } = serverOf({ keeps: true });
  const kept = new KeptFields();
  await kept.ask(asking, { client, now: 0 });
  const sent = { precaching: { spec: 'a', proofs: ['x'] }, packed: 'y' };
  kept.learn(sent, { precaching: { spec: 'a' } });
  expect([kept.areProofsKept, kept.askAgainAt, kept.isPackedKept]).toEqual([false, 30_000, false]);
  expect([kept.changesNothing({ precaching: { proofs: ['z'] } }), kept.changesNothing({ precaching: { spec: 'b' } })]).toEqual([
    true,
    false,
  ]);
  await kept.ask(asking, { client, now: 30_000 });
  expect([kept.areProofsKept, kept.isPackedKept, patches.length]).toEqual([true, false, 2]);
});
