import { mkdir, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readJson } from '@flotilla/api';
import { z } from 'zod';
import { DigestFolder, digestOf, readWhole, writeWhole } from './digest-folder.ts';
import { RegistryError, RegistryErrorCode } from './errors.ts';
import { normalizeEntryPath } from './layer-tree.ts';

interface FileCacheOptions {
  /** Folder for one choice of files; created when missing. */
  readonly folder: string;
  /** Images to keep: the pinned ones and the most recently used; default 4. */
  readonly keep?: number;
  /** Bytes of all kept files; default 768 MiB. Pinned images alone may exceed it. */
  readonly maxBytes?: number;
  /** Bytes of the largest file that is read back; default 64 MiB. */
  readonly maxFileBytes?: number;
}

/** List of an entry's files; written last, so that an entry without it does not count. */
const LIST = 'files.json';
const MAX_LIST_BYTES = 16 * 1024 * 1024;
const FileList = z.object({
  digest: z.string(),
  files: z.array(z.object({ path: z.string(), size: z.int().min(0), sha256: z.string() })).max(100_000),
});

/**
 * Files read from images, by the digest that pins each image. An entry appears whole or not at all. Each file is compared with its hash when it is
 * read back, so a file that changed on disk counts as missing.
 */
export class FileCache {
  readonly #folder: DigestFolder;
  readonly #keep: number;
  readonly #maxBytes: number;
  readonly #maxFileBytes: number;

  constructor({ folder, keep = 4, maxBytes = 768 * 1024 * 1024, maxFileBytes = 64 * 1024 * 1024 }: FileCacheOptions) {
    this.#folder = new DigestFolder(folder);
    this.#keep = keep;
    this.#maxBytes = maxBytes;
    this.#maxFileBytes = maxFileBytes;
  }

  /** Reads an image's files by path; undefined when one is missing or changed. */
  async read(digest: string): Promise<Map<string, Buffer> | undefined> {
    const entry = this.#folder.entryOf(digest);
    const list = await this.#readList(entry);
    if (list?.digest !== digest) return undefined;
    const files = new Map<string, Buffer>();
    for (const { path, sha256 } of list.files) {
      const bytes = await readWhole(join(entry, 'files', normalizeEntryPath(path)), this.#maxFileBytes);
      if (bytes === undefined || sha256Of(bytes) !== sha256) return undefined;
      files.set(path, bytes);
    }
    // a used entry stays longest
    const now = new Date();
    await utimes(entry, now, now).catch(() => undefined);
    return files;
  }

  /**
   * Stores the files of an image after it drops the least recently used images.
   * @param pinned digests of images that are never dropped
   * @throws RegistryError `_TOO_LARGE` for files that do not fit beside the pinned images, `_STORE_FAILED` when the disk refuses, `_BAD_LAYER` for a
   * path outside its folder
   */
  async write(digest: string, files: ReadonlyMap<string, Buffer>, pinned: ReadonlySet<string> = new Set()): Promise<void> {
    const entry = this.#folder.entryOf(digest);
    try {
      await writeWhole(this.#folder.unfinished(), async (unfinished) => {
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
        // the entry is damaged, or another process wrote the same content meanwhile
        await rm(entry, { recursive: true, force: true });
        return entry;
      });
    } catch (cause) {
      if (cause instanceof RegistryError) throw cause;
      throw new RegistryError(
        RegistryErrorCode.storeFailed,
        `the files of ${digest} cannot be kept in ${this.#folder.path}: make room there`,
        {
          cause,
        },
      );
    }
  }

  async #readList(entry: string): Promise<z.output<typeof FileList> | undefined> {
    const bytes = await readWhole(join(entry, LIST), MAX_LIST_BYTES);
    return bytes && FileList.safeParse(readJson(bytes.toString('utf8'))).data;
  }

  /** Drops entries before the write, so that the bound holds during it. It removes only entries of this class. */
  async #makeRoom(digest: string, bytes: number, pinned: ReadonlySet<string>): Promise<void> {
    const others = (await this.#entries()).filter((entry) => entry.digest !== digest);
    const kept = others.filter((entry) => pinned.has(entry.digest));
    let count = 1 + kept.length;
    let total = bytes + sum(kept.map((entry) => entry.bytes));
    if (!pinned.has(digest) && total > this.#maxBytes)
      throw new RegistryError(
        RegistryErrorCode.tooLarge,
        `the files of ${digest} have ${bytes} bytes, and ${total - bytes} of ${this.#maxBytes} are pinned in ${this.#folder.path}: give it more room`,
      );
    for (const entry of others.filter((other) => !kept.includes(other))) {
      count++;
      total += entry.bytes;
      if (count > this.#keep || total > this.#maxBytes) await rm(entry.path, { recursive: true, force: true });
    }
  }

  async #entries(): Promise<{ readonly path: string; readonly digest: string; readonly bytes: number }[]> {
    const entries = [];
    for (const { path, digest } of await this.#folder.entries()) {
      // an entry without its list cannot be read back
      const list = await this.#readList(path);
      entries.push({ path, digest, bytes: list ? sum(list.files.map(({ size }) => size)) : Number.POSITIVE_INFINITY });
    }
    return entries;
  }
}

const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);
const sizeOf = (files: ReadonlyMap<string, Buffer>): number => sum([...files.values()].map(({ length }) => length));
const sha256Of = (bytes: Buffer): string => digestOf(bytes).slice('sha256:'.length);
