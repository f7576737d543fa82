/** Nodes whose pods could not be removed at the last try: the status of the upgrade says so, and has another writer. */
export class DrainTroubles {
  readonly #byNode = new Map<string, string>();
  readonly #wake: () => void;

  /** @param wake called at each change */
  constructor(wake: () => void) {
    this.#wake = wake;
  }

  note(node: string, message: string): void {
    if (this.#byNode.get(node) === message) return;
    this.#byNode.set(node, message);
    this.#wake();
  }

  /** The last try went well, or there is nothing to remove any more. */
  end(node: string): void {
    if (this.#byNode.delete(node)) this.#wake();
  }

  /** The nodes and why, for people; undefined where there is no trouble. */
  get message(): string | undefined {
    const all = [...this.#byNode].toSorted(([a], [b]) => a.localeCompare(b)).map(([node, message]) => `node ${node}: ${message}`);
    return all.length === 0 ? undefined : `Pods that hold up a drain cannot be removed: ${all.join('; ')}`;
  }
}
