/** Answers of `flotilla status` and `flotilla why` without a process of their own, for tests of the whole. */
import type { StatusAnswer, WhyAllAnswer, WhyAnswer } from '@flotilla/api/answers';
import type { Client } from '@flotilla/runtime';
import { askAll, askOne, askStatus, FactStore } from '../src/hub/fact-store.ts';
import { readUpgrade, type UpgradeRef } from '../src/hub/upgrades.ts';

export { askLimits } from '../src/limits/ask.ts';

/** Where and when is asked. */
interface Asking {
  readonly client: Client;
  readonly hubNamespace: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** As `flotilla why UPGRADE [CLUSTER]`. */
export const answerWhyOf = async (asking: Asking, ref: UpgradeRef, cluster?: string): Promise<WhyAnswer> =>
  askOne(new FactStore(asking), await readUpgrade(asking.client, ref), cluster);

/** As `flotilla why UPGRADE`, all causes. */
export const answerWhyAllOf = async (asking: Asking, ref: UpgradeRef): Promise<WhyAllAnswer> =>
  askAll(new FactStore(asking), await readUpgrade(asking.client, ref));

/** As `flotilla status UPGRADE`. */
export const answerStatusOf = async (asking: Asking, ref: UpgradeRef): Promise<StatusAnswer> =>
  askStatus(new FactStore(asking), await readUpgrade(asking.client, ref));
