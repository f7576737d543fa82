import { checkOptions } from '@flotilla/runtime';
import { Exit, endWith } from '../exit.ts';
import { connect } from '../hub/connect.ts';
import { FactStore } from '../hub/fact-store.ts';
import { HubOptions } from '../hub/options.ts';
import { readUpgrade } from '../hub/upgrades.ts';
import type { Run } from '../run.ts';
import { safeJson } from '../terminal/safe-text.ts';
import { standardScreen } from '../terminal/screen.ts';
import { askAll, askOne } from './ask.ts';
import { whyAllText, whyText } from './print.ts';

/** `flotilla why CGU [CLUSTER]`. */
export const showWhy: Run = async ([name = '', cluster], given) => {
  const options = checkOptions(HubOptions, given);
  await using connected = connect(options);
  const { client, refOf } = connected;
  const upgrade = await readUpgrade(client, refOf(name));
  const store = new FactStore({ client, ...options });
  const screen = standardScreen(options.output === 'wide');
  const answer = cluster === undefined ? await askAll(store, upgrade) : await askOne(store, upgrade, cluster);
  const now = Date.now();
  if (options.output === 'json') screen.write(`${safeJson(answer)}\n`);
  else screen.write(`${'waits' in answer ? whyAllText(answer, screen, now) : whyText(answer, screen, now)}\n`);
  const { cause } = 'waits' in answer ? answer.first : answer;
  if (cause === 'failed' || cause === 'not-a-member') endWith(Exit.no);
};
