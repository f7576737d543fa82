import { setImmediate as nextTurn } from 'node:timers/promises';
import { errorMessage } from '@flotilla/api';
import type { RegistryClient } from './client.ts';
import { RegistryError, RegistryErrorCode } from './errors.ts';
import { formatImageReference } from './image-reference.ts';
import {
  ENTRIES_PER_TURN,
  EntryBudget,
  type FileNode,
  type LayerEntry,
  LayerTree,
  normalizeEntryPath,
  parseWhiteout,
} from './layer-tree.ts';
import type { Descriptor } from './manifest.ts';
import type { ResolvedImage } from './resolve.ts';
import { type EntrySink, type TarEntry, TarScanner } from './tar-scanner.ts';
import { unpackLayer } from './unpacked-layer.ts';

/** Selection of files from an image, and bounds. Give `match` or `paths`. */
export interface ReadLayerFilesOptions {
  /** Selects files by their path in the image, with links to directories resolved (`configs/pkg/catalog.json`). */
  match?: (path: string) => boolean;
  /** Exact paths. Layers below the one that decides all of them are not read. */
  paths?: readonly string[];
  /** Largest single file, bytes; default 64 MiB. */
  maxFileBytes?: number;
  /** All files together, bytes; default 512 MiB. */
  maxTotalBytes?: number;
  /** Tar entries over all layers with their implied directories, and names visited through links; default 500,000. */
  maxEntries?: number;
  /** Unpacked bytes over all layers, against decompression bombs; default 8 GiB. */
  maxUnpackedBytes?: number;
  signal?: AbortSignal;
}

/**
 * Reads files of an image as a container would see them: layers in order, whiteouts and opaque directories applied, links resolved inside the image.
 * Every used layer is verified. A missing path is absent from the result.
 * @throws RegistryError `_BAD_LAYER` for path tricks and broken archives, `_TOO_LARGE` for any bound, and errors of fetching
 */
export async function readLayerFiles(
  client: LayerClient,
  image: LayeredImage,
  options: ReadLayerFilesOptions,
): Promise<Map<string, Buffer>> {
  return new LayerReading(client, image, options).run();
}

type LayerClient = Pick<RegistryClient, 'streamBlob'>;
type LayeredImage = Pick<ResolvedImage, 'reference' | 'layers'>;

/** Average bound of a path's characters: real images have half as many. */
const PATH_CHARACTERS = 128;

class LayerReading {
  readonly #client: LayerClient;
  readonly #image: LayeredImage;
  readonly #options: ReadLayerFilesOptions;
  readonly #paths: ReadonlySet<string> | undefined;
  readonly #limits;
  /** Captured files by layer, then by path in the archive. */
  readonly #captured = new Map<number, Map<string, Buffer>>();
  readonly #entries = new Map<number, LayerEntry[]>();
  readonly #covered;
  #entryCount = 0;
  #pathCharacters = 0;
  #unpacked = 0;
  #kept = 0;

  constructor(client: LayerClient, image: LayeredImage, options: ReadLayerFilesOptions) {
    this.#client = client;
    this.#image = image;
    this.#options = options;
    this.#paths = options.paths && new Set(options.paths.map(normalizeEntryPath));
    this.#limits = {
      file: options.maxFileBytes ?? 64 * 2 ** 20,
      total: options.maxTotalBytes ?? 512 * 2 ** 20,
      entries: options.maxEntries ?? 500_000,
      unpacked: options.maxUnpackedBytes ?? 8 * 2 ** 30,
    };
    this.#covered = new CoveredPaths(this.#budget());
  }

  async run(): Promise<Map<string, Buffer>> {
    for (let layer = this.#image.layers.length - 1; layer >= 0; layer--) {
      await this.#scan(layer, (path) => this.#wants(path) && !this.#covered.has(path), { keepEntries: true });
      const early = this.#decided();
      if (early) return early;
      await this.#covered.addLayer(this.#entries.get(layer) ?? []);
    }
    const found = await this.#resolveWanted();
    await this.#rescanMissing(found);
    return new Map([...found].map(([path, file]) => [path, this.#captured.get(file.layer)?.get(file.path) ?? Buffer.alloc(0)]));
  }

  /** Creates a budget that counts implied directories like entries. */
  #budget(): EntryBudget {
    return new EntryBudget(this.#limits.entries, () => this.#tooMany());
  }

  #tooMany(): RegistryError {
    return this.#tooLarge(`more than ${this.#limits.entries} entries (directories counted that no entry names)`);
  }

  #wants(path: string): boolean {
    return this.#paths ? this.#paths.has(path) : (this.#options.match?.(path) ?? false);
  }

  /** Returns the files once all exact paths were plain files in upper layers: lower layers cannot change them. */
  #decided(): Map<string, Buffer> | undefined {
    if (!this.#paths) return undefined;
    const found = new Map<string, Buffer>();
    for (const files of this.#captured.values()) for (const [path, bytes] of files) if (!found.has(path)) found.set(path, bytes);
    return found.size === this.#paths.size ? found : undefined;
  }

  async #resolveWanted(): Promise<Map<string, FileNode>> {
    const tree = new LayerTree(this.#budget());
    for (let layer = 0; layer < this.#image.layers.length; layer++) await tree.addLayer(layer, this.#entries.get(layer) ?? []);
    const found = new Map<string, FileNode>();
    for (const path of this.#paths ?? []) {
      const file = tree.findFile(path);
      if (file) found.set(path, file);
    }
    if (!this.#paths) for (const { path, file } of tree.files(this.#limits.entries)) if (this.#wants(path)) found.set(path, file);
    return found;
  }

  /** Reads files that are wanted under a link's name: the links are known only after the first scan. */
  async #rescanMissing(found: ReadonlyMap<string, FileNode>): Promise<void> {
    const missing = Map.groupBy(
      [...found.values()].filter((file) => !this.#captured.get(file.layer)?.has(file.path)),
      (file) => file.layer,
    );
    for (const [layer, files] of missing) {
      const wanted = new Set(files.map((file) => file.path));
      await this.#scan(layer, (path) => wanted.has(path), { keepEntries: false });
    }
  }

  async #scan(layer: number, capture: (path: string) => boolean, { keepEntries }: { keepEntries: boolean }): Promise<void> {
    const descriptor = this.#image.layers[layer];
    if (!descriptor) return;
    const entries: LayerEntry[] = [];
    const captured = this.#captured.get(layer) ?? new Map<string, Buffer>();
    this.#captured.set(layer, captured);
    const scanner = new TarScanner((raw) => {
      const entry = toLayerEntry(raw);
      if (!entry) return undefined;
      this.#pathCharacters += entry.path.length + entry.target.length;
      const most = this.#limits.entries * (keepEntries ? 1 : 2);
      if (++this.#entryCount > most || this.#pathCharacters > most * PATH_CHARACTERS) throw this.#tooMany();
      entries.push(entry);
      if (entry.type === 'file' && capture(entry.path)) return this.#keep(captured, entry);
      // A later entry of the same name wins, even when it is no file.
      if (keepEntries && entry.type !== 'directory') captured.delete(entry.path);
      return undefined;
    });
    await this.#unpack(descriptor, scanner);
    if (keepEntries) this.#entries.set(layer, entries);
  }

  #keep(captured: Map<string, Buffer>, { path, size }: LayerEntry): EntrySink {
    if (size > this.#limits.file)
      throw this.#tooLarge(`file "${path.slice(0, 200)}" has ${size} bytes, at most ${this.#limits.file} are read`);
    this.#kept += size - (captured.get(path)?.length ?? 0);
    if (this.#kept > this.#limits.total) throw this.#tooLarge(`the files to read have more than ${this.#limits.total} bytes`);
    // Not filled, so that a header which lies about its size takes no memory; and no second copy at the end.
    const content = Buffer.allocUnsafeSlow(size);
    let have = 0;
    captured.set(path, Buffer.alloc(0));
    return (piece) => {
      have += piece.copy(content, have);
      if (have === size) captured.set(path, content);
    };
  }

  async #unpack(descriptor: Descriptor, scanner: TarScanner): Promise<void> {
    // The client's stream throws on a wrong digest before it ends, and it is read whole.
    const source = this.#client.streamBlob(this.#image.reference, descriptor, { signal: this.#options.signal });
    try {
      for await (const chunk of unpackLayer(source)) {
        this.#unpacked += chunk.length;
        if (this.#unpacked > this.#limits.unpacked) throw this.#tooLarge(`its layers unpack to more than ${this.#limits.unpacked} bytes`);
        scanner.write(chunk);
      }
      scanner.end();
    } catch (error) {
      throw this.#located(error, descriptor);
    }
  }

  #tooLarge(problem: string): RegistryError {
    const image = formatImageReference(this.#image.reference);
    return new RegistryError(RegistryErrorCode.tooLarge, `${image}: ${problem}`, { image, host: this.#image.reference.host });
  }

  #located(error: unknown, descriptor: Descriptor): RegistryError {
    const image = formatImageReference(this.#image.reference);
    const isOurs = error instanceof RegistryError;
    if (isOurs && error.image !== undefined) return error;
    const code = isOurs ? error.code : RegistryErrorCode.badLayer;
    const message = `${image}: layer ${descriptor.digest}: ${errorMessage(error)}`;
    return new RegistryError(code, message, { image, host: this.#image.reference.host, cause: error });
  }
}

function toLayerEntry({ name, type, linkName, size }: TarEntry): LayerEntry | undefined {
  const path = normalizeEntryPath(name);
  if (path === '') return undefined;
  return { path, type, target: type === 'hardlink' ? normalizeEntryPath(linkName) : linkName.slice(0, 4096), size };
}

interface CoveredNode {
  /** Hidden with everything below: files, links, whiteouts. */
  hidden: boolean;
  /** Opaque directory: hides everything below. */
  opaque: boolean;
  readonly children: Map<string, CoveredNode>;
}

/** Paths that upper layers decide, as a tree: a look-up costs only the path's length. */
class CoveredPaths {
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
