import type { StatusAnswer } from '@flotilla/api/answers';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { answerStatus } from '@flotilla/rollout';
import type { FactStore } from '../hub/fact-store.ts';

/** Answers by one list of clusters, the hub's Lease and blocking upgrades, and reads no single cluster. */
export async function askStatus(store: FactStore, upgrade: ClusterGroupUpgrade): Promise<StatusAnswer> {
  await store.readClusters([upgrade]);
  return judgeStatus(store, upgrade);
}

/** The same by clusters that were read before, or by none. */
export async function judgeStatus(store: FactStore, upgrade: ClusterGroupUpgrade): Promise<StatusAnswer> {
  const answer = await store.answerBare(upgrade, (facts) => answerStatus(facts));
  return { ...answer, notes: store.notes };
}
