import { refKey } from '@flotilla/api';
import type { StatusAnswer, WhyAllAnswer, WhyAnswer } from '@flotilla/api/answers';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { answerStatus, answerWhy, foldWaits, Inquiry } from '@flotilla/rollout';
import type { FactStore } from './fact-store.ts';

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

/** Asks why one cluster waits, or the upgrade as a whole. */
export async function askOne(store: FactStore, upgrade: ClusterGroupUpgrade, cluster: string | undefined): Promise<WhyAnswer> {
  const answer = await store.answer(upgrade, (facts) => answerWhy(new Inquiry(facts), upgrade, cluster, []));
  return { ...answer, notes: store.notes };
}

/** Causes of all by what one list shows; the evidence of single objects for one of them alone. */
export async function askAll(store: FactStore, upgrade: ClusterGroupUpgrade): Promise<WhyAllAnswer> {
  await store.readClusters([upgrade]);
  const waits = await store.answerBare(upgrade, (facts) => foldWaits(new Inquiry(facts)));
  return { upgrade: refKey(upgrade.metadata), waits, first: await askOne(store, upgrade, undefined) };
}
