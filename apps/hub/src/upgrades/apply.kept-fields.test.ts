import type { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { buildClusterGroupUpgrade } from '@flotilla/rollout/testing';
import type { Client } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { KeptFields } from './apply.ts';

const upgrade = buildClusterGroupUpgrade({ status: { status: {} } });

/** A server whose CRD has the fields or not. */
function serverOf(state: { keeps: boolean }) {
  const patches: { readonly patch: unknown; readonly dryRun: unknown }[] = [];
  const patch = async (_kind: unknown, _ref: unknown, sent: unknown, { dryRun }: { dryRun?: boolean }) => {
    patches.push({ patch: sent, dryRun });
    return state.keeps ? { ...upgrade, ...(sent as object) } : upgrade;
  };
  return { patches, client: { patch } as unknown as Client };
}

test('the server is asked once, and again only when the answer is old; nothing is written', async () => {
  const state = { keeps: false };
  const { client, patches } = serverOf(state);
  const kept = new KeptFields();
  expect([kept.areProofsKept, kept.isPackedKept]).toEqual([true, true]);
  await kept.ask(upgrade, { client, now: 0 });
  await kept.ask(upgrade, { client, now: 29_999 });
  expect([kept.areProofsKept, kept.isPackedKept, kept.askAgainAt, patches.length]).toEqual([false, false, 30_000, 1]);
  state.keeps = true;
  await kept.ask(upgrade, { client, now: 30_000 });
  await kept.ask(upgrade, { client, now: 600_000 });
  expect([kept.areProofsKept, kept.isPackedKept, kept.askAgainAt, patches.length]).toEqual([true, true, undefined, 2]);
  expect(patches).toEqual(Array(2).fill({ patch: { status: { packed: {}, precaching: { proofs: [] } } }, dryRun: true }));
});

test('a write that loses proofs says so at once, and one that keeps them ends it', async () => {
  const { client, patches } = serverOf({ keeps: true });
  const kept = new KeptFields();
  await kept.ask(upgrade, { client, now: 0 });
  const sent: ClusterGroupUpgradeStatus = { status: {}, precaching: { proofs: [] }, packed: {} };
  kept.learn(sent, { status: {}, precaching: {} });
  expect([kept.areProofsKept, kept.askAgainAt, kept.isPackedKept]).toEqual([false, 30_000, false]);
  kept.learn({ status: {} }, { status: {} });
  expect(kept.areProofsKept).toBe(false);
  await kept.ask(upgrade, { client, now: 30_000 });
  expect([kept.areProofsKept, kept.isPackedKept, patches.length]).toEqual([true, true, 2]);
});
