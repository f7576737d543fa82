import { setImmediate as nextTurn } from 'node:timers/promises';
import { RegistryError, RegistryErrorCode } from './errors.ts';

/** Entry of one layer for one path. */
export interface LayerEntry {
  /** Normalised path: no leading or trailing slash, no dots, never empty. */
  path: string;
  type: 'file' | 'directory' | 'symlink' | 'hardlink' | 'other';
  /** Target of a symlink (as written) or of a hard link (normalised). */
  target: string;
  size: number;
}

/** Location of a file's content. */
export interface FileNode {
  kind: 'file';
  /** Index in the manifest's list of layers. */
  layer: number;
  /** Path of the entry with the bytes. */
  path: string;
}
interface DirectoryNode {
  kind: 'directory';
  children: Map<string, TreeNode>;
}
interface LinkNode {
  kind: 'symlink';
  target: string;
}
type TreeNode = FileNode | DirectoryNode | LinkNode | { kind: 'other' };

const WHITEOUT = '.wh.';
const OPAQUE = '.wh..wh..opq';
/** The kernel's own limit. */
const MAX_LINKS = 40;
const MAX_PATH = 4096;
const MAX_DEPTH = 256;

/**
 * Normalises an archive's name to a path from the image's root. An absolute name lies in the image too, as for container runtimes.
 * @throws RegistryError `FLOTILLA_REGISTRY_BAD_LAYER` for `..`, NUL, and names too long or too deep.
 */
export function normalizeEntryPath(name: string): string {
  const refuse = (problem: string) =>
    new RegistryError(RegistryErrorCode.badLayer, `layer entry ${JSON.stringify(name.slice(0, 200))}: ${problem}`);
  if (name.includes('\0')) throw refuse('NUL in the path');
  if (name.length > MAX_PATH) throw refuse(`longer than ${MAX_PATH} characters`);
  const segments = segmentsOf(name);
  if (segments.includes('..')) throw refuse('".." in the path');
  if (segments.length > MAX_DEPTH) throw refuse(`deeper than ${MAX_DEPTH} directories`);
  return segments.join('/');
}

/** Splits a whiteout's path into the hidden path, and whether only its children are hidden. */
export function parseWhiteout(path: string): { hides: string; childrenOnly: boolean } | undefined {
  const slash = path.lastIndexOf('/');
  const [parent, name] = [path.slice(0, Math.max(slash, 0)), path.slice(slash + 1)];
  if (name === OPAQUE) return { hides: parent, childrenOnly: true };
  if (!name.startsWith(WHITEOUT)) return undefined;
  const bare = name.slice(WHITEOUT.length);
  return { hides: parent ? `${parent}/${bare}` : bare, childrenOnly: false };
}

/** Budget of tree nodes. */
export class EntryBudget {
  #left: number;
  readonly #refuse: () => RegistryError;

  constructor(most: number, refuse: () => RegistryError) {
    this.#left = most;
    this.#refuse = refuse;
  }

  /**
   * Counts one node.
   * @throws RegistryError when the budget is spent
   */
  take(): void {
    if (--this.#left < 0) throw this.#refuse();
  }
}

/** Entries per turn of the event loop. */
export const ENTRIES_PER_TURN = 1_000;

/** File system of stacked layers. */
export class LayerTree {
  readonly #root: DirectoryNode = { kind: 'directory', children: new Map() };
  readonly #budget: EntryBudget;

  /** Creates an empty tree; `budget` bounds its nodes: entries and implied directories. */
  constructor(budget: EntryBudget) {
    this.#budget = budget;
  }

  /** Adds a layer on top: its whiteouts first, then its entries in order, later ones winning. */
  async addLayer(layer: number, entries: readonly LayerEntry[]): Promise<void> {
    for (const { path } of entries) this.#applyWhiteout(path);
    for (const [index, entry] of entries.entries()) {
      if (index % ENTRIES_PER_TURN === ENTRIES_PER_TURN - 1) await nextTurn();
      if (!parseWhiteout(entry.path)) this.#addEntry(layer, entry);
    }
  }

  #applyWhiteout(path: string): void {
    const whiteout = parseWhiteout(path);
    if (!whiteout) return;
    if (whiteout.childrenOnly) {
      const node = this.#resolve(whiteout.hides);
      if (node?.kind === 'directory') node.children.clear();
      return;
    }
    const { parent, name } = splitPath(whiteout.hides);
    const directory = this.#resolve(parent);
    if (directory?.kind === 'directory') directory.children.delete(name);
  }

  #addEntry(layer: number, entry: LayerEntry): void {
    const { parent, name } = splitPath(entry.path);
    const directory = this.#makeDirectory(parent);
    const before = directory.children.get(name);
    if (!before) this.#budget.take();
    if (entry.type === 'directory') {
      // A directory merges with a directory, and replaces anything else.
      if (before?.kind !== 'directory') directory.children.set(name, { kind: 'directory', children: new Map() });
    } else if (entry.type === 'file') directory.children.set(name, { kind: 'file', layer, path: entry.path });
    else if (entry.type === 'symlink') directory.children.set(name, { kind: 'symlink', target: entry.target });
    else if (entry.type === 'hardlink') {
      const target = this.#lookupItself(entry.target);
      if (!target || target.kind === 'directory') throw badLink(entry.path, `hard link to "${entry.target}", which is not a file`);
      directory.children.set(name, target);
    } else directory.children.set(name, { kind: 'other' });
  }

  /** Creates a directory as container runtimes do: links of lower layers are resolved inside the root, missing directories are created. */
  #makeDirectory(path: string): DirectoryNode {
    const real = this.#resolve(path, true);
    if (real?.kind !== 'directory') throw badLink(path, 'a parent directory is a link or file that leads nowhere');
    return real;
  }

  /** Finds the node of this name without resolving it: a hard link to a link is that link. */
  #lookupItself(path: string): TreeNode | undefined {
    const { parent, name } = splitPath(path);
    const directory = this.#resolve(parent);
    return directory?.kind === 'directory' ? directory.children.get(name) : undefined;
  }

  /**
   * Resolves a path from the root through every link; undefined where it leads nowhere.
   * @throws RegistryError `FLOTILLA_REGISTRY_BAD_LAYER` for links out of the root and for link loops.
   */
  #resolve(path: string, create = false): TreeNode | undefined {
    const pending = segmentsOf(path).reverse();
    const trail: DirectoryNode[] = [this.#root];
    for (let links = 0; pending.length > 0; ) {
      const segment = pending.pop();
      if (segment === undefined) break;
      if (segment === '..') {
        if (trail.length === 1) throw badLink(path, 'a link leads out of the image');
        trail.pop();
        continue;
      }
      const next = this.#childOf(trail.at(-1), segment, create);
      if (next?.kind === 'directory') trail.push(next);
      else if (next?.kind === 'symlink') {
        if (++links > MAX_LINKS) throw badLink(path, `more than ${MAX_LINKS} links, or a loop of links`);
        if (next.target.startsWith('/')) trail.length = 1;
        pending.push(...segmentsOf(next.target).reverse());
        if (pending.length > MAX_PATH) throw badLink(path, 'links make the path too long');
      } else return pending.length > 0 ? undefined : next;
    }
    return trail.at(-1);
  }

  #childOf(directory: DirectoryNode | undefined, name: string, create: boolean): TreeNode | undefined {
    const found = directory?.children.get(name);
    if (found || !create) return found;
    this.#budget.take();
    const made: DirectoryNode = { kind: 'directory', children: new Map() };
    directory?.children.set(name, made);
    return made;
  }

  /**
   * Finds the file behind a path through links.
   * @throws RegistryError for links out of the root and for link loops
   */
  findFile(path: string): FileNode | undefined {
    const node = this.#resolve(path);
    return node?.kind === 'file' ? node : undefined;
  }

  /**
   * Lists every file under each of its names, also through links to directories. Links that loop, dangle or leave the image have no file and are
   * skipped.
   * @throws RegistryError `FLOTILLA_REGISTRY_TOO_LARGE` after `maxVisits` names.
   */
  *files(maxVisits: number): Generator<{ path: string; file: FileNode }> {
    const budget = { left: maxVisits };
    yield* this.#walk(this.#root, { prefix: '', above: [this.#root], budget });
  }

  *#walk(directory: DirectoryNode, at: WalkPosition): Generator<{ path: string; file: FileNode }> {
    for (const [name, child] of directory.children) {
      if (--at.budget.left < 0)
        throw new RegistryError(RegistryErrorCode.tooLarge, 'the image has too many names for its files (links to directories)');
      const path = at.prefix ? `${at.prefix}/${name}` : name;
      const node = child.kind === 'symlink' ? this.#lookupQuietly(path) : child;
      if (node?.kind === 'file') yield { path, file: node };
      // A directory that is its own ancestor comes from a loop of links.
      else if (node?.kind === 'directory' && !at.above.includes(node) && at.above.length < MAX_DEPTH) {
        yield* this.#walk(node, { prefix: path, above: [...at.above, node], budget: at.budget });
      }
    }
  }

  #lookupQuietly(path: string): TreeNode | undefined {
    try {
      return this.#resolve(path);
    } catch (error) {
      if (error instanceof RegistryError) return undefined;
      throw error;
    }
  }
}

interface WalkPosition {
  prefix: string;
  above: DirectoryNode[];
  budget: { left: number };
}

const segmentsOf = (path: string) => path.split('/').filter((segment) => segment !== '' && segment !== '.');

function splitPath(path: string): { parent: string; name: string } {
  const slash = path.lastIndexOf('/');
  return { parent: path.slice(0, Math.max(slash, 0)), name: path.slice(slash + 1) };
}

const badLink = (path: string, problem: string) =>
  new RegistryError(RegistryErrorCode.badLayer, `layer path ${JSON.stringify(path.slice(0, 200))}: ${problem}`);
