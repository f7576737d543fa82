import { FlotillaError } from '@flotilla/api';
import type { WhyAllAnswer, WhyAnswer } from '@flotilla/api/answers';
import { ManagedCluster } from '@flotilla/api/ocm';
import { age } from '@flotilla/api/units';
import { type Client, checkOptions, isForbidden } from '@flotilla/runtime';
import { connect } from '../hub/connect.ts';
import { askAll, askOne, FactStore } from '../hub/fact-store.ts';
import { WhyOptions } from '../hub/options.ts';
import { readUpgrade, upgradesWith } from '../hub/upgrades.ts';
import { Exit, endWith, type Run } from '../run.ts';
import { type Screen, safeText, standardScreen, writeJson } from '../terminal/output.ts';
import { cut, fits, table, wrap } from '../terminal/table.ts';

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

type Look = Pick<Screen, 'width'>;

/** Narrower, evidence goes below its link. */
const BESIDE = 130;
/** Lines that a sentence may take, which is all that a status keeps of a failure, and a value. */
const [MOST_LINES, MOST_OF_VALUE] = [20, 4];

/** The chain, each link below what waits for it, with its evidence. */
export function whyText({ chain, release, notes, isCertain }: WhyAnswer, { width }: Look, now: number): string {
  const said = chain.map(
    ({ says, isUnknown }, depth) => `${depth === 0 ? '' : `${'  '.repeat(depth - 1)}└ `}${isUnknown ? '? ' : ''}${safeText(says)}`,
  );
  const [most, mostOfValue] = width === undefined ? [] : [MOST_LINES * width, MOST_OF_VALUE * width];
  // The value alone is cut: how old it is stands behind it.
  const shown = chain.map(({ object, field, value, observedAt }) =>
    `${cut(safeText(`${object}  ${field}=${value}`), mostOfValue)}  ${age(observedAt, now)} ago`.replace('? ago', 'age unknown'),
  );
  const column = Math.min(Math.max(...said.map((text) => text.length)), 70);
  const beside = said.map((text, depth) => `${text.padEnd(column)}   ${shown[depth]}`);
  const isBeside = width === undefined || (width >= BESIDE && beside.every((line) => fits(line, width)));
  const below = said.flatMap((text, depth) => {
    const indent = '  '.repeat(depth + 1);
    return [wrap(cut(text, most), width, indent), wrap(`${indent}${shown[depth]}`, width, `${indent}  `)];
  });
  const lines = isBeside ? beside : below;
  const at = release.at === undefined ? '' : ` (${release.at})`;
  return [
    ...lines,
    ...(isCertain ? [] : ['what is marked ? is not known to be so now']),
    wrap(safeText(`${release.byItself ? 'releases by itself: ' : 'to release it: '}${release.says}${at}`), width, '  '),
    ...notes.map((note) => wrap(`? ${safeText(note)}`, width, '  ')),
  ].join('\n');
}

/** Cells of a cause on a terminal, so that the other columns have room. */
const MOST_OF_CAUSE = 70;

/** Causes with counts, then the chain of the first. */
export function whyAllText({ waits, first }: WhyAllAnswer, look: Look, now: number): string {
  const rows = waits.map(({ says, clusters, example, since }) => [
    cut(says, look.width === undefined ? undefined : MOST_OF_CAUSE),
    String(clusters),
    example,
    since === undefined ? '-' : age(since, now),
  ]);
  const folded = rows.length > 0 ? [table(['WAITING FOR', 'COUNT', 'EXAMPLE', 'SINCE'], rows, look), ''] : [];
  return [...folded, whyText(first, look, now)].join('\n');
}
