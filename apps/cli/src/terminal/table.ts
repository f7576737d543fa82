import { safeText } from './safe-text.ts';

/** Layout of a table. */
interface TableOptions {
  /** Columns of the terminal; the last cell of a row is cut to fit. Default: nothing is cut. */
  readonly width?: number | undefined;
  readonly indent?: string;
}

/** Rows below a heading, columns as wide as they need to be. What a spoke wrote is shown escaped. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[], { width, indent = '' }: TableOptions = {}): string {
  const all = [heading, ...rows.map((row) => row.map(safeText))];
  const widths = heading.map((_, column) => Math.max(...all.map((row) => cells(row[column] ?? ''))));
  return all
    .map((row) => cut(`${indent}${row.map((cell, column) => pad(cell, widths[column] ?? 0)).join('   ')}`.trimEnd(), width))
    .join('\n');
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
    lines.push(line);
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
