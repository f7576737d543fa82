import { refKey } from '@flotilla/api';
import type { WhyAllAnswer, WhyAnswer } from '@flotilla/api/answers';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { answerWhy, foldWaits, Inquiry } from '@flotilla/rollout';
import { checkOptions } from '@flotilla/runtime';
import { Exit, endWith } from '../exit.ts';
import { connect } from '../hub/connect.ts';
import { FactStore } from '../hub/fact-store.ts';
import { HubOptions } from '../hub/options.ts';
import { readUpgrade } from '../hub/upgrades.ts';
import type { Run } from '../run.ts';
import { standardScreen } from '../terminal/screen.ts';
import { whyAllText, whyText } from './print.ts';

/** `flotilla why CGU [CLUSTER]`. */
export const showWhy: Run = async ([name = '', cluster], given) => {
  const options = checkOptions(HubOptions, given);
  await using connected = connect(options);
  const { client } = connected;
  const upgrade = await readUpgrade(client, { namespace: options.namespace ?? connected.namespace, name });
  const store = new FactStore({ client, ...options });
  const screen = standardScreen(options.output === 'wide');
  const answer = cluster === undefined ? await askAll(store, upgrade) : await askOne(store, upgrade, cluster);
  const now = Date.now();
  if (options.output === 'json') screen.write(`${JSON.stringify(answer)}\n`);
  else screen.write(`${'waits' in answer ? whyAllText(answer, screen, now) : whyText(answer, screen, now)}\n`);
  const { cause } = 'waits' in answer ? answer.first : answer;
  if (cause === 'failed' || cause === 'not-a-member') endWith(Exit.no);
};

async function askOne(store: FactStore, upgrade: ClusterGroupUpgrade, cluster: string | undefined): Promise<WhyAnswer> {
  const answer = await store.answer(upgrade, (facts) => answerWhy(new Inquiry(facts), upgrade, cluster, []));
  return { ...answer, notes: store.notes };
}

/** Causes of all by what one list shows; the evidence of single objects for one of them alone. */
async function askAll(store: FactStore, upgrade: ClusterGroupUpgrade): Promise<WhyAllAnswer> {
  await store.readClusters();
  const waits = await store.answerBare(upgrade, (facts) => foldWaits(new Inquiry(facts)));
  return { upgrade: refKey(upgrade.metadata), waits, first: await askOne(store, upgrade, undefined) };
}
