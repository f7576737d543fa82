import { checkOptions } from '@flotilla/runtime';
import { connect } from '../hub/connect.ts';
import { AnswerOptions, wantsJson } from '../hub/options.ts';
import { Exit, endWith, type Run } from '../run.ts';
import { standardScreen, writeJson, writeOut } from '../terminal/output.ts';
import { fits, table, wrap } from '../terminal/table.ts';
import { judgeTalmHub, type TalmCheck, type Verdict } from './judge.ts';
import { readTalmHub } from './read.ts';

/** `flotilla check talm`: what of a hub that TALM manages carries over. Reads alone; ends with 3 while something stops the move. */
export const checkTalm: Run = async (_, given) => {
  const options = checkOptions(AnswerOptions, given);
  await using connected = connect(options);
  const check = judgeTalmHub(await readTalmHub(connected.client));
  if (wantsJson(options)) writeJson(check);
  else writeOut(`${render(check, standardScreen().width)}\n`);
  if (check.objects.some(({ verdict }) => STOPS.has(verdict))) endWith(Exit.no);
};

/** Verdicts with which a move loses or breaks something. */
const STOPS: ReadonlySet<Verdict> = new Set(['stopFirst', 'refused', 'missing']);

const WORDS: Readonly<Record<Verdict, string>> = {
  stopFirst: 'stop first',
  refused: 'refused',
  missing: 'missing',
  differs: 'differs',
  carriesOver: 'carries over',
};

/** Renders one row an object, and the next step of each below. */
export function render({ objects }: TalmCheck, width?: number): string {
  if (objects.length === 0)
    return 'This hub has no ClusterGroupUpgrade, PreCachingConfig or ImageBasedGroupUpgrade: there is nothing to carry over.';
  const wide = table(
    ['OBJECT', 'VERDICT', 'WHY'],
    objects.map(({ object, verdict, why }) => [object, WORDS[verdict], why]),
  );
  const rows = fits(wide, width) ? wide : narrowly(objects, width);
  const fixes = objects.flatMap(({ object, fix }) => (fix === undefined ? [] : [`${object}: ${fix}`]));
  return fixes.length === 0 ? rows : `${rows}\n\nNext steps:\n${fixes.map((fix) => wrap(`- ${fix}`, width, '  ')).join('\n')}`;
}

/** The reason, which is a sentence, below each object. */
const narrowly = (objects: TalmCheck['objects'], width: number | undefined): string =>
  objects.map(({ object, verdict, why }) => `${object}: ${WORDS[verdict]}\n${wrap(`  ${why}`, width, '  ')}`).join('\n');
