import { safeText } from './safe-text.ts';

/** Layout of a table. */
interface TableOptions {
  /** Columns of the terminal: the widest columns shrink until the rows fit, else rows are cut. Default: nothing is cut. */
  readonly width?: number | undefined;
  readonly indent?: string;
}

/** Rows below a heading, columns as wide as they need to be. What a spoke wrote is shown escaped. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[], { width, indent = '' }: TableOptions = {}): string {
  const all = [heading, ...rows.map((row) => row.map(safeText))];
  const natural = heading.map((_, column) => Math.max(...all.map((row) => cells(row[column] ?? ''))));
  const widths = width === undefined ? natural : shrink(natural, width - cells(indent));
  const last = heading.length - 1;
  const line = (row: readonly string[]) =>
    cut(`${indent}${row.map((cell, column) => pad(cut(cell, widths[column]), widths[column] ?? 0)).join(GAP)}`.trimEnd(), width);
  if (widths.length === heading.length) return all.map(line).join('\n');
  // There is no room beside the other columns for what the last one says: it goes below them.
  const below = (row: readonly string[]) => (row[last] === '' || row[last] === '-' ? [] : [cut(`${indent}  ${row[last]}`, width)]);
  return all.flatMap((row) => [line(row.slice(0, last)), ...below(row)]).join('\n');
}

/** Blanks between two columns. */
const GAP = '   ';
/** Names keep so many cells, and the last column, which often is a sentence, so many beside the others. */
const LEAST = { name: 28, last: 20 } as const;

/** Widths that fit into so many cells: the widest columns give way first, alike. Without one for the last column where it has no room. */
function shrink(natural: readonly number[], width: number): readonly number[] {
  const room = width - GAP.length * (natural.length - 1);
  const last = natural.length - 1;
  const within = (most: number) =>
    natural.map((cells, column) => Math.min(cells, Math.max(most, column === last ? LEAST.last : LEAST.name)));
  const total = (most: number) => within(most).reduce((sum, cells) => sum + cells, 0);
  let most = Math.max(...natural);
  while (most > LEAST.last && total(most) > room) most--;
  return total(most) <= room || last === 0 ? within(most) : natural.slice(0, last);
}

/** The text in at most so many cells, with `…` for what is left out. */
export function cut(text: string, width: number | undefined): string {
  if (width === undefined || cells(text) <= width) return text;
  let used = 0;
  let kept = '';
  for (const sign of Array.from(text)) {
    const size = cells(sign);
    if (used + size > width - 1) break;
    kept += sign;
    used += size;
  }
  return `${kept}…`;
}

/** True where no line has more cells. */
export const fits = (text: string, width: number | undefined): boolean =>
  width === undefined || text.split('\n').every((line) => cells(line) <= width);

/** A sentence on as many lines as it needs, parted between words. @param hang what further lines begin with */
export function wrap(text: string, width: number | undefined, hang = ''): string {
  if (width === undefined || cells(text) <= width) return text;
  const [indent = ''] = /^ */.exec(text) ?? [];
  const [first = '', ...words] = text.slice(indent.length).split(' ');
  const lines: string[] = [];
  let line = `${indent}${first}`;
  for (const word of words) {
    if (cells(line) + 1 + cells(word) <= width) {
      line += ` ${word}`;
      continue;
    }
    if (word === '') continue;
    lines.push(line.trimEnd());
    line = `${hang}${word}`;
  }
  return [...lines, line].join('\n');
}

const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(width - cells(text), 0));

/** Signs of East Asian scripts and most pictures take two cells. */
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}]/u;

function cells(text: string): number {
  let count = 0;
  for (const sign of text) count += WIDE.test(sign) ? 2 : 1;
  return count;
}
