import { isDeepStrictEqual } from 'node:util';

/** A row with the key by which it is found. */
interface Keyed {
  readonly key: string;
}

/** Changed cells of a row. */
type Cells<R> = { readonly key: string } & Partial<R>;

/** Changes of a table, as a message says them. */
interface TableChanges<R> {
  readonly isWhole: boolean;
  readonly rows: R[];
  readonly cells: Cells<R>[];
  readonly gone: string[];
}

/** Rows, and what has changed in them since somebody took the changes. */
export class RowTable<R extends Keyed> {
  readonly #rows = new Map<string, R>();
  readonly #fresh = new Set<string>();
  readonly #cells = new Map<string, Cells<R>>();
  readonly #gone = new Set<string>();

  get(key: string): R | undefined {
    return this.#rows.get(key);
  }

  keys(): MapIterator<string> {
    return this.#rows.keys();
  }

  put(row: R): void {
    const { key } = row;
    const before = this.#rows.get(key);
    this.#rows.set(key, row);
    if (before === undefined) {
      // One that went and came between two messages may differ in every cell.
      this.#gone.delete(key);
      this.#fresh.add(key);
      return;
    }
    if (this.#fresh.has(key)) return;
    const changed = changedCells(before, row);
    if (changed) this.#cells.set(key, { ...this.#cells.get(key), ...changed });
  }

  drop(key: string): void {
    if (!this.#rows.delete(key)) return;
    this.#cells.delete(key);
    this.#fresh.delete(key);
    this.#gone.add(key);
  }

  /** Puts these rows, and drops all others. */
  replace(rows: Iterable<R>): void {
    const kept = new Set<string>();
    for (const row of rows) {
      kept.add(row.key);
      this.put(row);
    }
    for (const key of [...this.#rows.keys()]) if (!kept.has(key)) this.drop(key);
  }

  /** Changes since the last time; undefined where there are none. */
  take(): TableChanges<R> | undefined {
    if (this.#fresh.size === 0 && this.#cells.size === 0 && this.#gone.size === 0) return undefined;
    const rows = [...this.#fresh].flatMap((key) => this.#rows.get(key) ?? []);
    const changes = { isWhole: false, rows, cells: [...this.#cells.values()], gone: [...this.#gone] };
    this.#fresh.clear();
    this.#cells.clear();
    this.#gone.clear();
    return changes;
  }

  /** All rows, for somebody who has none. */
  whole(): TableChanges<R> {
    return { isWhole: true, rows: [...this.#rows.values()], cells: [], gone: [] };
  }
}

function changedCells<R extends Keyed>(before: R, after: R): Cells<R> | undefined {
  const changed: Partial<R> = {};
  let isChanged = false;
  for (const name in after) {
    if (Object.is(before[name], after[name]) || isDeepStrictEqual(before[name], after[name])) continue;
    changed[name] = after[name];
    isChanged = true;
  }
  return isChanged ? { ...changed, key: after.key } : undefined;
}
