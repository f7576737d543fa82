import type { LimitsAnswer, LimitUse, RateUse } from '@flotilla/api/answers';
import { bytes, figure } from '@flotilla/api/units';
import { checkOptions } from '@flotilla/runtime';
import { connect } from '../hub/connect.ts';
import { LimitsOptions } from '../hub/options.ts';
import { Exit, endWith, type Run } from '../run.ts';
import { safeText, standardScreen, writeJson } from '../terminal/output.ts';
import { table, wrap } from '../terminal/table.ts';
import { askLimits, clustersInWords, doesInWords } from './ask.ts';

/** `flotilla limits`. */
export const showLimits: Run = async (_, given) => {
  const options = checkOptions(LimitsOptions, given);
  await using connected = connect(options);
  const answer = await askLimits(connected.client, options.hubNamespace);
  const screen = standardScreen(options.output === 'wide');
  if (options.output === 'json') writeJson(answer);
  else screen.write(`${limitsText(answer, screen)}\n`);
  if (answer.problem !== undefined) endWith(Exit.no);
};

const HEADS = ['CLUSTERS', 'MAY', 'PLACES', 'WAIT', 'HELD BY', 'WAITED FOR BY'];

/** One row for each limit that is used, and a line for those that are not. */
function limitsText(answer: LimitsAnswer, look: { readonly width?: number | undefined }): string {
  const { configMap, isThere, problem, limits, rates, notes } = answer;
  const say = (text: string): string => wrap(safeText(text), look.width, '  ');
  if (!isThere) return say(`There is no ConfigMap ${configMap}: nothing is limited but by options of the hub.`);
  if (problem !== undefined) return say(`${problem}.`);
  const rows = [...limits.map(placesRow), ...rates.map(rateRow)];
  if (rows.length === 0) return say(`ConfigMap ${configMap} limits nothing.`);
  return [table(HEADS, rows, look), ...notes.map((note) => say(`? ${note}`))].join('\n');
}

function placesRow(use: LimitUse): string[] {
  const { most, taken, waiting, holders, waiters } = use;
  const waits = waiting === 0 ? '-' : String(waiting);
  return [clustersInWords(use), doesInWords(use), `${taken}/${most}`, waits, shares(holders), shares(waiters)];
}

const rateRow = (use: RateUse): string[] => [
  clustersInWords(use),
  doesInWords(use),
  `${figure(use.taken, bytes)}/${bytes(use.most)}`,
  '-',
  shares(use.pullers),
  '-',
];

const shares = (all: LimitUse['holders']): string => all.map(({ upgrade, clusters }) => `${upgrade} ${clusters}`).join(', ') || '-';
