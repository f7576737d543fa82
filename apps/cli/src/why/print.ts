import type { WhyAllAnswer, WhyAnswer } from '@flotilla/api/answers';
import { age } from '@flotilla/api/units';
import { safeText } from '../terminal/safe-text.ts';
import type { Screen } from '../terminal/screen.ts';
import { cut, fits, table, wrap } from '../terminal/table.ts';

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

/** Causes with counts, then the chain of the first. */
export function whyAllText({ waits, first }: WhyAllAnswer, look: Look, now: number): string {
  const rows = waits.map(({ says, clusters, example, since }) => [
    cut(says, 70),
    String(clusters),
    example,
    since === undefined ? '-' : age(since, now),
  ]);
  const folded = rows.length > 0 ? [table(['WAITING FOR', 'COUNT', 'EXAMPLE', 'SINCE'], rows, look), ''] : [];
  return [...folded, whyText(first, look, now)].join('\n');
}
