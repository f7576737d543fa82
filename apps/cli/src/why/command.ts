import { FlotillaError } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { type Client, checkOptions, isForbidden } from '@flotilla/runtime';
import { Exit, endWith } from '../exit.ts';
import { connect } from '../hub/connect.ts';
import { FactStore } from '../hub/fact-store.ts';
import { upgradesWith } from '../hub/memberships.ts';
import { WhyOptions } from '../hub/options.ts';
import { readUpgrade } from '../hub/upgrades.ts';
import type { Run } from '../run.ts';
import { writeJson } from '../terminal/output.ts';
import { standardScreen } from '../terminal/screen.ts';
import { askAll, askOne } from './ask.ts';
import { whyAllText, whyText } from './print.ts';

/** `flotilla why CGU [CLUSTER]`. */
export const showWhy: Run = async ([name = '', cluster], given) => {
  const options = checkOptions(WhyOptions, given);
  await using connected = connect(options);
  const { client, refOf } = connected;
  const upgrade = await readUpgrade(client, refOf(name)).catch(async (error: unknown) => {
    throw (cluster === undefined && isNoUpgrade(error) && (await meantCluster(client, name))) || error;
  });
  const store = new FactStore({ client, ...options });
  const screen = standardScreen(options.output === 'wide');
  const answer = cluster === undefined ? await askAll(store, upgrade) : await askOne(store, upgrade, cluster);
  const now = Date.now();
  if (options.output === 'json') writeJson(answer);
  else screen.write(`${'waits' in answer ? whyAllText(answer, screen, now) : whyText(answer, screen, now)}\n`);
  const { cause } = 'waits' in answer ? answer.first : answer;
  if (cause === 'failed' || cause === 'not-a-member') endWith(Exit.no);
};

const isNoUpgrade = (error: unknown): boolean => error instanceof FlotillaError && error.code === 'FLOTILLA_NO_UPGRADE';

/** Names the commands about a cluster that is asked about without its upgrade; undefined where there is no such cluster. */
async function meantCluster(client: Client, name: string): Promise<FlotillaError | undefined> {
  const found = await client.get(ManagedCluster, { name }).catch((error: unknown) => {
    if (isForbidden(error)) return undefined;
    throw error;
  });
  const upgrades = found && (await upgradesWith(client, name));
  if (!upgrades) return undefined;
  const commands = upgrades.slice(0, MOST_COMMANDS).map((upgrade) => `flotilla why ${upgrade} ${name}`);
  const says = commands.length === 0 ? 'and in no upgrade' : `ask about it in an upgrade: ${commands.join(', ')}`;
  return new FlotillaError('FLOTILLA_NO_UPGRADE', `${name} is a ManagedCluster${commands.length === 0 ? ', ' : '; '}${says}`);
}

/** Commands that an error lists at most. */
const MOST_COMMANDS = 5;
