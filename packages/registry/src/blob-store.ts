import { createHash } from 'node:crypto';
import { RegistryError, RegistryErrorCode } from './errors.ts';

/** Content of a blob to write: at once or as a stream. */
export type BlobContent = Buffer | AsyncIterable<Buffer>;

/** Store of blobs by digest: a layout directory, or memory for fixtures. */
export interface BlobStore {
  has(digest: string): Promise<boolean>;
  /** Streams an existing blob. */
  openBlob(digest: string): AsyncIterable<Buffer>;
  /** Reads a whole blob and verifies it; refuses more than `maxBytes`. */
  readBlob(digest: string, maxBytes: number): Promise<Buffer>;
  /** Writes a blob and returns its digest and size; an existing one stays. */
  putBlob(content: BlobContent): Promise<{ digest: string; size: number }>;
}

/** Blobs in memory. */
export class MemoryBlobs implements BlobStore {
  readonly #blobs = new Map<string, Buffer>();

  async has(digest: string): Promise<boolean> {
    return this.#blobs.has(digest);
  }

  async *openBlob(digest: string): AsyncGenerator<Buffer> {
    yield await this.readBlob(digest, Number.POSITIVE_INFINITY);
  }

  async readBlob(digest: string, maxBytes: number): Promise<Buffer> {
    const found = this.#blobs.get(digest);
    if (!found) throw new RegistryError(RegistryErrorCode.badLayout, `blob ${digest} is not there`);
    if (found.length > maxBytes) throw new RegistryError(RegistryErrorCode.tooLarge, `blob ${digest} is larger than ${maxBytes} bytes`);
    return found;
  }

  async putBlob(content: BlobContent): Promise<{ digest: string; size: number }> {
    const bytes = Buffer.isBuffer(content) ? content : Buffer.concat(await Array.fromAsync(content));
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    this.#blobs.set(digest, bytes);
    return { digest, size: bytes.length };
  }
}
