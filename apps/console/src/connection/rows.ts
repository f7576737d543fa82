import { type ReadonlySignal, signal } from '@preact/signals';

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

/** Rows of a table as the server has them. */
export class Rows<R extends Keyed> {
  readonly #rows = new Map<string, R>();
  readonly #version = signal(0);

  /** Changes with every change: whoever reads it is drawn again. */
  get version(): ReadonlySignal<number> {
    return this.#version;
  }

  get(key: string): R | undefined {
    return this.#rows.get(key);
  }

  values(): R[] {
    return [...this.#rows.values()];
  }

  clear(): void {
    this.#rows.clear();
    this.#version.value += 1;
  }

  take({ isWhole, rows, cells, gone }: Changes<R>): void {
    if (isWhole) this.#rows.clear();
    for (const key of gone) this.#rows.delete(key);
    for (const row of rows) this.#rows.set(row.key, row);
    for (const changed of cells) {
      const row = this.#rows.get(changed.key);
      if (row) this.#rows.set(changed.key, { ...row, ...changed });
    }
    this.#version.value += 1;
  }
}
