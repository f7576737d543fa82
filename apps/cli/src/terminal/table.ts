import cells from 'string-width';
import { safeText } from './output.ts';

/** Layout of a table. */
interface TableOptions {
  /** Columns of the terminal: the widest columns shrink, else columns go below the first ones. Default: nothing is cut. */
  readonly width?: number | undefined;
  readonly indent?: string;
}

/** Rows below a heading, columns as wide as they need to be. What a spoke wrote is shown escaped. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[], { width, indent = '' }: TableOptions = {}): string {
  const all = [heading, ...rows.map((row) => row.map(safeText))];
  const natural = heading.map((_, column) => Math.max(...all.map((row) => cells(row[column] ?? ''))));
  const fitting = width === undefined ? natural : shrink(natural, width - cells(indent));
  const lines = fitting ? [fitting.map((of, column) => ({ column, of }))] : part(natural, (width ?? 0) - cells(indent));
  return all
    .flatMap((row) =>
      lines.flatMap((line, below) => {
        const isEmpty = line.every(({ column }) => row[column] === '' || row[column] === '-');
        if (below > 0 && isEmpty) return [];
        const said = line.map(({ column, of }) => pad(cut(row[column] ?? '', of), of)).join(GAP);
        return [cut(`${indent}${below > 0 ? BELOW : ''}${said}`.trimEnd(), width)];
      }),
    )
    .join('\n');
}

/** A column, and its cells. */
interface Column {
  readonly column: number;
  readonly of: number;
}

/** Columns that do not fit beside each other, on as many lines as they need. */
function part(natural: readonly number[], width: number): Column[][] {
  const lines: Column[][] = [];
  let used = 0;
  for (const [column, of] of natural.entries()) {
    const line = lines.at(-1);
    if (line && used + GAP.length + of <= width) {
      line.push({ column, of });
      used += GAP.length + of;
      continue;
    }
    used = of + (lines.length > 0 ? BELOW.length : 0);
    lines.push([{ column, of }]);
  }
  return lines;
}

/** Blanks between two columns. */
const GAP = '   ';
/** Blanks before columns that are below the first ones. */
const BELOW = '  ';
/** Names keep so many cells, and the last column, which often is a sentence, so many beside the others. */
const LEAST = { name: 28, last: 20 } as const;

/** Widths that fit into so many cells: the widest columns give way first, alike. Undefined where there is no room for them. */
function shrink(natural: readonly number[], width: number): readonly number[] | undefined {
  const room = width - GAP.length * (natural.length - 1);
  const last = natural.length - 1;
  const within = (most: number) =>
    natural.map((cells, column) => Math.min(cells, Math.max(most, column === last ? LEAST.last : LEAST.name)));
  const total = (most: number) => within(most).reduce((sum, cells) => sum + cells, 0);
  let most = Math.max(...natural);
  while (most > LEAST.last && total(most) > room) most--;
  return total(most) <= room || last === 0 ? within(most) : undefined;
}

/** Parts a text into what stands as one on the screen: a letter with its marks, a picture of several. */
const signs = new Intl.Segmenter();

/** The text in at most so many cells, with `…` for what is left out. */
export function cut(text: string, width: number | undefined): string {
  if (width === undefined || cells(text) <= width) return text;
  let used = 0;
  let kept = '';
  for (const { segment: sign } of signs.segment(text)) {
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
