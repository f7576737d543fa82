import { setImmediate as nextTurn } from 'node:timers/promises';
import { RegistryError, RegistryErrorCode } from './errors.ts';

/** What one layer says about one path. */
export interface LayerEntry {
  /** Normalised: no leading or trailing slash, no dots. Never empty. */
  path: string;
  type: 'file' | 'directory' | 'symlink' | 'hardlink' | 'other';
  /** Target of a symlink (as written) or of a hard link (normalised). */
  target: string;
  size: number;
}

/** Where a file's content stands. */
export interface FileNode {
  kind: 'file';
  /** Index in the manifest's list of layers. */
  layer: number;
  /** Path of the entry that holds the bytes. */
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
 * An archive's name as a path from the image's root.
 * An absolute one is in the image too, as for container runtimes.
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

/** Splits a whiteout's path: what it hides, and whether it hides only the children. */
export function parseWhiteout(path: string): { hides: string; childrenOnly: boolean } | undefined {
  const slash = path.lastIndexOf('/');
  const [parent, name] = [path.slice(0, Math.max(slash, 0)), path.slice(slash + 1)];
  if (name === OPAQUE) return { hides: parent, childrenOnly: true };
  if (!name.startsWith(WHITEOUT)) return undefined;
  const bare = name.slice(WHITEOUT.length);
  return { hides: parent ? `${parent}/${bare}` : bare, childrenOnly: false };
}

/** How many of something may still be made. */
export class EntryBudget {
  #left: number;
  readonly #refuse: () => RegistryError;

  constructor(most: number, refuse: () => RegistryError) {
    this.#left = most;
    this.#refuse = refuse;
  }

  /** Counts one more. @throws RegistryError when there were too many. */
  take(): void {
    if (--this.#left < 0) throw this.#refuse();
  }
}

/** Entries that are handled before others of the process have their turn. */
export const ENTRIES_PER_TURN = 1_000;

/** The file system that the layers give when laid over one another. */
export class LayerTree {
  readonly #root: DirectoryNode = { kind: 'directory', children: new Map() };
  readonly #budget: EntryBudget;

  /** `budget` bounds the nodes of the tree: entries, and the directories that their paths imply. */
  constructor(budget: EntryBudget) {
    this.#budget = budget;
  }

  /** Lays a layer on top: its whiteouts first, then its entries in order, later ones winning. */
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
      const node = this.#lookup(whiteout.hides);
      if (node?.kind === 'directory') node.children.clear();
      return;
    }
    const { parent, name } = splitPath(whiteout.hides);
    const directory = this.#lookup(parent);
    if (directory?.kind === 'directory') directory.children.delete(name);
  }

  #addEntry(layer: number, entry: LayerEntry): void {
    const { parent, name } = splitPath(entry.path);
    const directory = this.#makeDirectory(parent);
    const before = directory.children.get(name);
    if (!before) this.#budget.take();
    if (entry.type === 'directory') {
      // A directory over a directory is the same directory; over anything else it replaces it.
      if (before?.kind !== 'directory') directory.children.set(name, { kind: 'directory', children: new Map() });
    } else if (entry.type === 'file') directory.children.set(name, { kind: 'file', layer, path: entry.path });
    else if (entry.type === 'symlink') directory.children.set(name, { kind: 'symlink', target: entry.target });
    else if (entry.type === 'hardlink') {
      const target = this.#lookupItself(entry.target);
      if (!target || target.kind === 'directory') throw badLink(entry.path, `hard link to "${entry.target}", which is not a file`);
      directory.children.set(name, target);
    } else directory.children.set(name, { kind: 'other' });
  }

  /** As a container runtime does: links of lower layers are followed inside the root, missing directories are made. */
  #makeDirectory(path: string): DirectoryNode {
    const real = this.#resolve(path, { create: true });
    if (real?.kind !== 'directory') throw badLink(path, 'a parent directory is a link or file that leads nowhere');
    return real;
  }

  #lookup(path: string): TreeNode | undefined {
    return this.#resolve(path, { create: false });
  }

  /** What has this name, be it a link: a hard link to a link is that link, wherever it leads. */
  #lookupItself(path: string): TreeNode | undefined {
    const { parent, name } = splitPath(path);
    const directory = this.#lookup(parent);
    return directory?.kind === 'directory' ? directory.children.get(name) : undefined;
  }

  /**
   * Walks a path from the root, following every link. Undefined where it leads nowhere.
   * @throws RegistryError `FLOTILLA_REGISTRY_BAD_LAYER` for links out of the root and for link loops.
   */
  #resolve(path: string, { create }: { create: boolean }): TreeNode | undefined {
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

  /** The file behind a path, links followed. @throws RegistryError as the links deserve. */
  findFile(path: string): FileNode | undefined {
    const node = this.#lookup(path);
    return node?.kind === 'file' ? node : undefined;
  }

  /**
   * Every file under every name it has, also through links to directories. Links that loop, dangle or lead out of the
   * image have no file behind them and are passed over.
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
      return this.#lookup(path);
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
