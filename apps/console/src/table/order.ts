/** The order of rows: by a column, else by how much they matter. */
import type { Cell } from '../export/csv.ts';

/** Numbers in texts count by their value: site-9 stands before site-10. */
const { compare: compareTexts } = new Intl.Collator('en', { numeric: true });

/** Cells in ascending order. */
const compareCells = (a: Cell, b: Cell): number =>
  typeof a === 'number' && typeof b === 'number' ? a - b : compareTexts(String(a), String(b));

/** Versions in ascending order; one that leads up to a release stands before it. */
export function compareVersions(a: string, b: string): number {
  const [[release, ...before], [other, ...beforeOther]] = [a.split('-'), b.split('-')];
  return (
    compareCells(release ?? '', other ?? '') ||
    Number(before.length === 0) - Number(beforeOther.length === 0) ||
    compareTexts(before.join('-'), beforeOther.join('-'))
  );
}

/** A column, as far as rows are put in order by it. */
interface Ordered<R> {
  readonly name: string;
  readonly value: (row: R) => Cell;
  /** Value by which rows are put in order; default: the one that is shown. */
  readonly order?: (row: R) => Cell;
  /** Default: numbers by value, texts by letters and numbers. */
  readonly compare?: (a: Cell, b: Cell) => number;
}

interface Order<R> {
  readonly columns: readonly Ordered<R>[];
  /** Name of a column, after `-` the other way round. */
  readonly sort: string | undefined;
  /** Rows of a lower rank stand first where no column is asked for. */
  readonly rank: (row: R) => number;
}

/** Rows in order; those without a value stand last either way. */
export function inOrder<R extends { readonly key: string }>(rows: readonly R[], { columns, sort, rank }: Order<R>): readonly R[] {
  const column = columns.find(({ name }) => name === sort?.replace(/^-/, ''));
  const value = column?.order ?? column?.value ?? rank;
  const compare = column?.compare ?? compareCells;
  const sign = sort?.startsWith('-') && column ? -1 : 1;
  const valued = rows.map((row) => [value(row), row] as const);
  const compareValues = (a: Cell, b: Cell): number =>
    a === null || b === null ? Number(a === null) - Number(b === null) : sign * compare(a, b);
  return valued.toSorted(([a, x], [b, y]) => compareValues(a, b) || compareTexts(x.key, y.key)).map(([, row]) => row);
}
