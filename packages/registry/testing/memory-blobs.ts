import { digestOf } from '../src/digest-folder.ts';
import { RegistryError, RegistryErrorCode } from '../src/errors.ts';
import type { BlobContent, BlobStore } from '../src/image-graph.ts';

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
    const digest = digestOf(bytes);
    this.#blobs.set(digest, bytes);
    return { digest, size: bytes.length };
  }
}
