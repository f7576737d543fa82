import { mkdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { DigestFolder, digestOf, readWhole, writeWhole } from './digest-folder.ts';
import { RegistryError, RegistryErrorCode } from './errors.ts';
import type { DocumentStore } from './image-graph.ts';

interface DocumentCacheOptions {
  /** Created when it is missing. */
  readonly folder: string;
  /** Bytes of all documents; default 128 MiB. The least recently used go first. */
  readonly maxBytes?: number;
}

const MOST_DOCUMENT = 8 * 1024 * 1024;
/** A document counts as used at most once in so many milliseconds, because each mark is a write. */
const MARK_EVERY_MS = 24 * 60 * 60_000;

/**
 * Manifests and configurations by their digests, over runs of a program. Each is compared with its digest when it is read, so one that changed on disk
 * counts as missing. A disk that refuses costs requests and nothing else.
 */
export class DocumentCache implements DocumentStore, AsyncDisposable {
  readonly #folder: DigestFolder;
  readonly #maxBytes: number;
  /** Documents that were found and not read yet. */
  readonly #found = new Map<string, Buffer>();
  #hasWritten = false;

  constructor({ folder, maxBytes = 128 * 1024 * 1024 }: DocumentCacheOptions) {
    this.#folder = new DigestFolder(folder);
    this.#maxBytes = maxBytes;
  }

  async has(digest: string): Promise<boolean> {
    const bytes = await this.#read(digest);
    if (bytes) this.#found.set(digest, bytes);
    return bytes !== undefined;
  }

  async readBlob(digest: string, maxBytes: number): Promise<Buffer> {
    const bytes = this.#found.get(digest) ?? (await this.#read(digest));
    this.#found.delete(digest);
    if (bytes && bytes.length <= maxBytes) return bytes;
    throw new RegistryError(RegistryErrorCode.badLayout, `document ${digest} is not in the cache any more`);
  }

  async putBlob(bytes: Buffer): Promise<{ digest: string; size: number }> {
    const digest = digestOf(bytes);
    if (bytes.length <= MOST_DOCUMENT) await this.#write(digest, bytes).catch(() => undefined);
    return { digest, size: bytes.length };
  }

  /** Drops what is beyond the bound, the least recently used first. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#hasWritten) return;
    await this.#trim().catch(() => undefined);
  }

  async #read(digest: string): Promise<Buffer | undefined> {
    const path = this.#folder.entryOf(digest);
    try {
      const { mtimeMs } = await stat(path);
      const bytes = await readWhole(path, MOST_DOCUMENT);
      if (!bytes || digestOf(bytes) !== digest) {
        await rm(path, { force: true });
        return undefined;
      }
      const now = new Date();
      if (now.getTime() - mtimeMs > MARK_EVERY_MS) await utimes(path, now, now);
      return bytes;
    } catch {
      return undefined;
    }
  }

  async #write(digest: string, bytes: Buffer): Promise<void> {
    await mkdir(this.#folder.path, { recursive: true, mode: 0o700 });
    await writeWhole(this.#folder.unfinished(), async (unfinished) => {
      await writeFile(unfinished, bytes, { flag: 'wx', mode: 0o600 });
      return this.#folder.entryOf(digest);
    });
    this.#hasWritten = true;
  }

  async #trim(): Promise<void> {
    let total = 0;
    for (const { path, size } of await this.#folder.entries()) {
      total += size;
      if (total > this.#maxBytes) await rm(path, { force: true });
    }
  }
}
