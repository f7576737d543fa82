/** Tables as comma-separated values. */
import { escapeUnseen } from '../words/safe-text.ts';

/** A value of a cell. */
export type Cell = string | number | null;

/** Signs that a spreadsheet takes for the beginning of a formula. */
const FORMULA = /^[=+\-@\t]/;
const QUOTED = /[",\n]/;

/**
 * A table as RFC 4180 has it. A text that a spreadsheet would run as a formula gets an apostrophe before it, which it does not show; what would move
 * the cursor of a terminal is escaped.
 */
export const toCsv = (titles: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  [titles, ...rows].map((row) => `${row.map(cellOf).join(',')}\r\n`).join('');

function cellOf(value: Cell): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = escapeUnseen(value);
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return safe !== text || QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
