/** Tables as comma-separated values. */

/** A value of a cell. */
export type Cell = string | number | null;

/** Signs that a spreadsheet takes for the beginning of a formula. */
const FORMULA = /^[=+\-@\t\r]/;
const QUOTED = /[",\r\n]/;

/** A table as RFC 4180 has it. A text that a spreadsheet would run as a formula gets an apostrophe before it, which it does not show. */
export const toCsv = (titles: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  [titles, ...rows].map((row) => `${row.map(cellOf).join(',')}\r\n`).join('');

function cellOf(value: Cell): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return safe !== value || QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
