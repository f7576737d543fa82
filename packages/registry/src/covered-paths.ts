import { setImmediate as nextTurn } from 'node:timers/promises';
import { ENTRIES_PER_TURN, type EntryBudget, type LayerEntry, parseWhiteout } from './layer-tree.ts';

interface CoveredNode {
  /** Hidden with everything below: files, links, whiteouts. */
  hidden: boolean;
  /** Opaque directory: hides everything below. */
  opaque: boolean;
  readonly children: Map<string, CoveredNode>;
}

/** Paths that upper layers decide, as a tree: a look-up costs only the path's length. */
export class CoveredPaths {
  readonly #root = node();
  readonly #budget: EntryBudget;

  constructor(budget: EntryBudget) {
    this.#budget = budget;
  }

  has(path: string): boolean {
    const segments = path.split('/');
    let at = this.#root;
    for (const segment of segments) {
      if (at.hidden || at.opaque) return true;
      const next = at.children.get(segment);
      if (!next) return false;
      at = next;
    }
    return at.hidden;
  }

  /**
   * Records the paths that a layer decides for those below.
   * @throws RegistryError `FLOTILLA_REGISTRY_TOO_LARGE`
   */
  async addLayer(entries: readonly LayerEntry[]): Promise<void> {
    for (const [index, { path, type }] of entries.entries()) {
      if (index % ENTRIES_PER_TURN === ENTRIES_PER_TURN - 1) await nextTurn();
      const whiteout = parseWhiteout(path);
      if (whiteout) this.#cover(whiteout.hides, whiteout.childrenOnly ? 'opaque' : 'hidden');
      else if (type !== 'directory') this.#cover(path, 'hidden');
    }
  }

  #cover(path: string, how: 'hidden' | 'opaque'): void {
    let at = this.#root;
    for (const segment of path === '' ? [] : path.split('/')) {
      if (at.hidden || at.opaque) return;
      const next = at.children.get(segment) ?? node();
      if (!at.children.has(segment)) {
        this.#budget.take();
        at.children.set(segment, next);
      }
      at = next;
    }
    at[how] = true;
    at.children.clear();
  }
}

const node = (): CoveredNode => ({ hidden: false, opaque: false, children: new Map() });
