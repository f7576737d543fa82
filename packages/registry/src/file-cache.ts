import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { RegistryError, RegistryErrorCode } from './errors.ts';
import { isDigest } from './image-reference.ts';
import { normalizeEntryPath } from './layer-tree.ts';

/** Where files of images are kept, and how many. */
interface FileCacheOptions {
  /** A folder of its own for each choice of files; made when it is not there. */
  readonly folder: string;
  /** Images whose files are kept: the pinned ones and those used last; default 4. */
  readonly keep?: number;
  /** All files that are kept together, bytes; default 768 MiB. Pinned images alone may exceed it. */
  readonly maxBytes?: number;
  /** Largest file that is read back, bytes; default 64 MiB. */
  readonly maxFileBytes?: number;
}

/** The list of an entry's files; written last, so that an entry without one does not count. */
const LIST = 'files.json';
const MAX_LIST_BYTES = 16 * 1024 * 1024;
const FileList = z.object({
  digest: z.string(),
  files: z.array(z.object({ path: z.string(), size: z.int().min(0), sha256: z.string() })).max(100_000),
});

/** An entry, and one that was not finished. */
const ENTRY = /^[a-f0-9]{64}$/;
const UNFINISHED = /^\.[a-f0-9-]{36}\.tmp$/;
/** A writer that has not finished for so long was killed, milliseconds. */
const ABANDONED_MS = 60 * 60_000;

/**
 * Files read out of images, by the digest that pins each image. An entry appears whole or not at all, and each of its files is compared
 * with its hash when it is read back: what has changed on the disk counts as not there.
 */
export class FileCache {
  readonly #folder: string;
  readonly #keep: number;
  readonly #maxBytes: number;
  readonly #maxFileBytes: number;

  constructor({ folder, keep = 4, maxBytes = 768 * 1024 * 1024, maxFileBytes = 64 * 1024 * 1024 }: FileCacheOptions) {
    this.#folder = folder;
    this.#keep = keep;
    this.#maxBytes = maxBytes;
    this.#maxFileBytes = maxFileBytes;
  }

  /** Files of an image by path; undefined when they are not all there, as they were. */
  async read(digest: string): Promise<Map<string, Buffer> | undefined> {
    const entry = this.#entryOf(digest);
    const list = await this.#readList(entry);
    if (list?.digest !== digest) return undefined;
    const files = new Map<string, Buffer>();
    for (const { path, size, sha256 } of list.files) {
      const bytes = size > this.#maxFileBytes ? undefined : await readWhole(join(entry, 'files', normalizeEntryPath(path)), size);
      if (bytes === undefined || sha256Of(bytes) !== sha256) return undefined;
      files.set(path, bytes);
    }
    // what is used stays
    const now = new Date();
    await utimes(entry, now, now).catch(() => undefined);
    return files;
  }

  /**
   * Keeps the files of an image, and first drops those of the images that were used longest ago.
   * @param pinned digests of images that are never dropped for another one
   * @throws RegistryError `_TOO_LARGE` for what does not fit beside the pinned images, `_STORE_FAILED` when the disk refuses, `_BAD_LAYER` for a
   * path that leaves its folder
   */
  async write(digest: string, files: ReadonlyMap<string, Buffer>, pinned: ReadonlySet<string> = new Set()): Promise<void> {
    const entry = this.#entryOf(digest);
    const unfinished = join(this.#folder, `.${randomUUID()}.tmp`);
    try {
      await mkdir(join(unfinished, 'files'), { recursive: true });
      await this.#makeRoom(digest, sizeOf(files), pinned);
      const list: z.output<typeof FileList>['files'] = [];
      for (const [path, bytes] of files) {
        const target = join(unfinished, 'files', normalizeEntryPath(path));
        await mkdir(dirname(target), { recursive: true });
        await writeFile(target, bytes, { flag: 'wx' });
        list.push({ path, size: bytes.length, sha256: sha256Of(bytes) });
      }
      await writeFile(join(unfinished, LIST), JSON.stringify({ digest, files: list }), { flag: 'wx', flush: true });
      // a damaged entry, or one that another has written by now: the same content either way
      await rm(entry, { recursive: true, force: true });
      await rename(unfinished, entry);
    } catch (cause) {
      await rm(unfinished, { recursive: true, force: true }).catch(() => undefined);
      if (cause instanceof RegistryError) throw cause;
      throw new RegistryError(RegistryErrorCode.storeFailed, `the files of ${digest} cannot be kept in ${this.#folder}: make room there`, {
        cause,
      });
    }
  }

  #entryOf(digest: string): string {
    if (!isDigest(digest)) throw new RegistryError(RegistryErrorCode.badReference, `"${digest.slice(0, 100)}" is not a sha256 digest`);
    return join(this.#folder, digest.slice('sha256:'.length));
  }

  async #readList(entry: string): Promise<z.output<typeof FileList> | undefined> {
    const found = await stat(join(entry, LIST)).catch(() => undefined);
    const bytes = found && found.size <= MAX_LIST_BYTES ? await readWhole(join(entry, LIST), found.size) : undefined;
    if (bytes === undefined) return undefined;
    try {
      return FileList.parse(JSON.parse(bytes.toString('utf8')));
    } catch {
      return undefined;
    }
  }

  /** Drops before it is written, so that the bound holds while it is. Only what this class has written is ever removed. */
  async #makeRoom(digest: string, bytes: number, pinned: ReadonlySet<string>): Promise<void> {
    const isPinned = (one: string): boolean => pinned.has(one);
    const others = (await this.#entries()).filter((entry) => entry.digest !== digest);
    let count = 1 + others.filter((entry) => isPinned(entry.digest)).length;
    let total = bytes + sum(others.filter((entry) => isPinned(entry.digest)).map((entry) => entry.bytes));
    if (!isPinned(digest) && total > this.#maxBytes)
      throw new RegistryError(
        RegistryErrorCode.tooLarge,
        `the files of ${digest} have ${bytes} bytes, and ${total - bytes} of ${this.#maxBytes} are pinned in ${this.#folder}: give it more room`,
      );
    for (const entry of others.filter(({ digest: other }) => !isPinned(other)).sort((a, b) => b.usedMs - a.usedMs)) {
      count++;
      total += entry.bytes;
      if (count > this.#keep || total > this.#maxBytes) await rm(entry.path, { recursive: true, force: true });
    }
  }

  /** What is kept; what a killed writer left behind goes on the way. */
  async #entries(): Promise<{ readonly path: string; readonly digest: string; readonly usedMs: number; readonly bytes: number }[]> {
    const entries = [];
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      const found = ENTRY.test(name) || UNFINISHED.test(name) ? await stat(path).catch(() => undefined) : undefined;
      if (!found) continue;
      if (ENTRY.test(name)) {
        // an entry without its list cannot be read back either
        const list = await this.#readList(path);
        const bytes = list ? sum(list.files.map(({ size }) => size)) : Number.POSITIVE_INFINITY;
        entries.push({ path, digest: `sha256:${name}`, usedMs: found.mtimeMs, bytes });
      } else if (found.mtimeMs < Date.now() - ABANDONED_MS) await rm(path, { recursive: true, force: true });
    }
    return entries;
  }
}

const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);
const sizeOf = (files: ReadonlyMap<string, Buffer>): number => sum([...files.values()].map(({ length }) => length));
const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** A plain file of exactly this size; undefined when it is anything else. */
async function readWhole(path: string, size: number): Promise<Buffer | undefined> {
  try {
    await using file = await open(path, 'r');
    const found = await file.stat();
    if (!found.isFile() || found.size !== size) return undefined;
    const bytes = Buffer.alloc(size);
    let at = 0;
    for (let read = 1; read > 0 && at < size; at += read) ({ bytesRead: read } = await file.read(bytes, at, size - at));
    return at === size ? bytes : undefined;
  } catch {
    return undefined;
  }
}
