import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { RegistryError, RegistryErrorCode } from './errors.ts';
import { isDigest } from './image-reference.ts';
import { normalizeEntryPath } from './layer-tree.ts';

/** Where files of images are kept, and how many. */
export interface FileCacheOptions {
  /** A folder of its own for each choice of files; made when it is not there. */
  readonly folder: string;
  /** Images whose files are kept: those used last; default 4. */
  readonly keep?: number;
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
  readonly #maxFileBytes: number;

  constructor({ folder, keep = 4, maxFileBytes = 64 * 1024 * 1024 }: FileCacheOptions) {
    this.#folder = folder;
    this.#keep = keep;
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
   * Keeps the files of an image, and drops those of the images that were used longest ago.
   * @throws RegistryError `_STORE_FAILED` when the disk refuses, `_BAD_LAYER` for a path that leaves its folder
   */
  async write(digest: string, files: ReadonlyMap<string, Buffer>): Promise<void> {
    const entry = this.#entryOf(digest);
    const unfinished = join(this.#folder, `.${randomUUID()}.tmp`);
    try {
      await mkdir(join(unfinished, 'files'), { recursive: true });
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
      await this.#prune(digest);
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

  /** Only what this class has written is ever removed. */
  async #prune(written: string): Promise<void> {
    const used = new Map<string, number>();
    for (const name of await readdir(this.#folder)) {
      if (!ENTRY.test(name) && !UNFINISHED.test(name)) continue;
      const found = await stat(join(this.#folder, name)).catch(() => undefined);
      if (found) used.set(name, found.mtimeMs);
    }
    const entries = [...used].filter(([name]) => ENTRY.test(name) && name !== written.slice('sha256:'.length));
    const old = entries.sort(([, a], [, b]) => b - a).slice(Math.max(0, this.#keep - 1));
    const abandoned = [...used].filter(([name, at]) => UNFINISHED.test(name) && at < Date.now() - ABANDONED_MS);
    for (const [name] of [...old, ...abandoned]) await rm(join(this.#folder, name), { recursive: true, force: true });
  }
}

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
