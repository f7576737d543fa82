import { refKey } from '@flotilla/api';
import type { StatusAnswer } from '@flotilla/api/answers';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { type Client, checkOptions } from '@flotilla/runtime';
import { connect } from '../hub/connect.ts';
import { askStatus, FactStore, judgeStatus } from '../hub/fact-store.ts';
import { WaitOptions } from '../hub/options.ts';
import { followUpgrade, readUpgrade, type UpgradeRef } from '../hub/upgrades.ts';
import { Exit, endWith, type Run } from '../run.ts';
import { statusLine } from '../status/print.ts';
import { safeText, standardScreen, writeErr, writeJson, writeOut } from '../terminal/output.ts';
import { table } from '../terminal/table.ts';
import { judgeGoal, type Verdict, whyNot } from './judge.ts';

/** `flotilla wait CGU`. */
export const waitFor: Run = async ([name = ''], given) => {
  const options = checkOptions(WaitOptions, given);
  await using connected = connect(options);
  const { client } = connected;
  const ref = connected.refOf(name);
  const { verdict, upgrade } = await untilJudged(client, ref, options);
  const store = new FactStore({ client, ...options });
  const answer = await askStatus(store, upgrade);
  if (options.output === 'json') writeJson(answer);
  if (verdict === 'yes') return;
  if (options.output !== 'json') writeOut(causes(answer));
  writeErr(`flotilla: ${refKey(ref)} ${safeText(whyNot(verdict, answer, options))}\n`);
  endWith(verdict === 'no' ? Exit.no : Exit.timeUp);
};

/** By the upgrade alone: a look at all clusters for each change would cost the server more than the wait is worth. */
async function untilJudged(
  client: Client,
  ref: UpgradeRef,
  options: WaitOptions,
): Promise<{ verdict: Verdict; upgrade: ClusterGroupUpgrade }> {
  const screen = standardScreen();
  const store = new FactStore({ client, ...options });
  let upgrade = await readUpgrade(client, ref);
  let last = '';
  const say = (answer: StatusAnswer): void => {
    const line = statusLine(answer);
    if (options.output !== 'json' && line !== last) screen.write(`${line}\n`);
    last = line;
  };
  const first = await judgeStatus(store, upgrade);
  let verdict = judgeGoal(options.for, first);
  if (verdict === 'yes') say(first);
  if (verdict !== 'not yet' || options.timeout === 0) return { verdict, upgrade };
  for await (const next of followUpgrade(client, ref, AbortSignal.timeout(options.timeout))) {
    upgrade = next;
    // The hub's Lease and what blocks the upgrade are of a moment, too.
    store.forget();
    const answer = await judgeStatus(store, upgrade);
    verdict = judgeGoal(options.for, answer);
    say(answer);
    if (verdict !== 'not yet') break;
  }
  return { verdict, upgrade };
}

/** Causes of the wait and of failures, the most first. */
function causes({ waits, failures }: StatusAnswer): string {
  const rows = [
    ...failures.map(({ says, clusters, example }) => ['failed', String(clusters), example, says]),
    ...waits.map(({ says, clusters, example }) => ['waits for', String(clusters), example, says]),
  ];
  return rows.length === 0 ? '' : `${table(['', 'COUNT', 'EXAMPLE', 'CAUSE'], rows, standardScreen())}\n`;
}
