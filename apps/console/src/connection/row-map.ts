/** Rows by key, and their changes as messages say them. */

interface Keyed {
  readonly key: string;
}

/** Changes of a table, as a message says them. */
export interface Changes<R extends Keyed> {
  readonly isWhole: boolean;
  readonly rows: readonly R[];
  readonly cells: readonly ({ readonly key: string } & Partial<R>)[];
  readonly gone: readonly string[];
}

/** Takes changes into rows. */
export function takeChanges<R extends Keyed>(into: Map<string, R>, { isWhole, rows, cells, gone }: Changes<R>): void {
  if (isWhole) into.clear();
  for (const key of gone) into.delete(key);
  for (const row of rows) into.set(row.key, row);
  for (const changed of cells) {
    const row = into.get(changed.key);
    if (row) into.set(changed.key, { ...row, ...changed });
  }
}
