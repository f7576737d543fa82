import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BlobContent, BlobStore } from './blob-store.ts';
import { RegistryError, RegistryErrorCode } from './errors.ts';
import { isDigest } from './image-reference.ts';

/** Folder and bound of a document cache. */
interface DocumentCacheOptions {
  /** Created when it is missing. */
  readonly folder: string;
  /** Bytes of all documents; default 128 MiB. The least recently used go first. */
  readonly maxBytes?: number;
}

/** Largest document that is kept. */
const MOST_DOCUMENT = 8 * 1024 * 1024;
const NAME = /^[a-f0-9]{64}$/;
const UNFINISHED = /^\.[a-f0-9-]{36}\.tmp$/;
/** Milliseconds after which an unfinished write counts as killed. */
const ABANDONED_MS = 60 * 60_000;
/** A document counts as used at most once in so many milliseconds, because each mark is a write. */
const MARK_EVERY_MS = 24 * 60 * 60_000;

/**
 * Manifests and configurations by their digests, over runs of a program. Each is compared with its digest when it is read, so one that changed on disk
 * counts as missing. A disk that refuses costs requests and nothing else.
 */
export class DocumentCache implements BlobStore, AsyncDisposable {
  readonly #folder: string;
  readonly #maxBytes: number;
  /** Documents that were found and not read yet. */
  readonly #found = new Map<string, Buffer>();
  #hasWritten = false;

  constructor({ folder, maxBytes = 128 * 1024 * 1024 }: DocumentCacheOptions) {
    this.#folder = folder;
    this.#maxBytes = maxBytes;
  }

  async has(digest: string): Promise<boolean> {
    const bytes = await this.#read(digest);
    if (bytes) this.#found.set(digest, bytes);
    return bytes !== undefined;
  }

  async *openBlob(digest: string): AsyncGenerator<Buffer> {
    yield await this.readBlob(digest, MOST_DOCUMENT);
  }

  async readBlob(digest: string, maxBytes: number): Promise<Buffer> {
    const bytes = this.#found.get(digest) ?? (await this.#read(digest));
    this.#found.delete(digest);
    if (bytes && bytes.length <= maxBytes) return bytes;
    throw new RegistryError(RegistryErrorCode.badLayout, `document ${digest} is not in the cache any more`);
  }

  async putBlob(content: BlobContent): Promise<{ digest: string; size: number }> {
    const bytes = Buffer.isBuffer(content) ? content : Buffer.concat(await Array.fromAsync(content));
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
    const path = this.#pathOf(digest);
    try {
      const { size, mtimeMs } = await stat(path);
      const bytes = size <= MOST_DOCUMENT ? await readFile(path) : undefined;
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

  /** A document appears whole or not at all. */
  async #write(digest: string, bytes: Buffer): Promise<void> {
    const unfinished = join(this.#folder, `.${randomUUID()}.tmp`);
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    try {
      await writeFile(unfinished, bytes, { flag: 'wx', mode: 0o600 });
      await rename(unfinished, this.#pathOf(digest));
      this.#hasWritten = true;
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
  }

  #pathOf(digest: string): string {
    if (!isDigest(digest)) throw new RegistryError(RegistryErrorCode.badReference, `"${digest.slice(0, 100)}" is not a sha256 digest`);
    return join(this.#folder, digest.slice('sha256:'.length));
  }

  async #trim(): Promise<void> {
    const entries = [];
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      const found = NAME.test(name) || UNFINISHED.test(name) ? await stat(path).catch(() => undefined) : undefined;
      if (found && NAME.test(name)) entries.push({ path, size: found.size, usedMs: found.mtimeMs });
      else if (found && found.mtimeMs < Date.now() - ABANDONED_MS) await rm(path, { force: true });
    }
    let total = 0;
    for (const { path, size } of entries.sort((a, b) => b.usedMs - a.usedMs)) {
      total += size;
      if (total > this.#maxBytes) await rm(path, { force: true });
    }
  }
}

const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
