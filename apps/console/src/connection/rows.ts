import { signal } from '@preact/signals';

interface Keyed {
  readonly key: string;
}

/** Changes of a table, as a message says them. */
interface Changes<R extends Keyed> {
  readonly isWhole: boolean;
  readonly rows: readonly R[];
  readonly cells: readonly ({ readonly key: string } & Partial<R>)[];
  readonly gone: readonly string[];
}

/** Rows of a table as the server has them. Whoever reads them while being drawn is drawn again with every change. */
export class Rows<R extends Keyed> {
  readonly #rows = new Map<string, R>();
  readonly #version = signal(0);
  #values: readonly R[] | undefined;

  get(key: string): R | undefined {
    void this.#version.value;
    return this.#rows.get(key);
  }

  /** The same array until something changes. */
  values(): readonly R[] {
    void this.#version.value;
    this.#values ??= [...this.#rows.values()];
    return this.#values;
  }

  clear(): void {
    this.#rows.clear();
    this.#changed();
  }

  take({ isWhole, rows, cells, gone }: Changes<R>): void {
    if (isWhole) this.#rows.clear();
    for (const key of gone) this.#rows.delete(key);
    for (const row of rows) this.#rows.set(row.key, row);
    for (const changed of cells) {
      const row = this.#rows.get(changed.key);
      if (row) this.#rows.set(changed.key, { ...row, ...changed });
    }
    this.#changed();
  }

  #changed(): void {
    this.#values = undefined;
    this.#version.value += 1;
  }
}
