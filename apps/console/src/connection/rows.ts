import { signal } from '@preact/signals';
import { type Changes, takeChanges } from './row-map.ts';

/** Rows of a table as the server has them. Whoever reads them while being drawn is drawn again with every change. */
export class Rows<R extends { readonly key: string }> {
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

  take(changes: Changes<R>): void {
    takeChanges(this.#rows, changes);
    this.#changed();
  }

  #changed(): void {
    this.#values = undefined;
    this.#version.value += 1;
  }
}
