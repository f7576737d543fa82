import type { ImageReference } from './image-reference.ts';
import type { Descriptor } from './manifest.ts';

/** Content of a blob to write: at once or as a stream. */
export type BlobContent = Buffer | AsyncIterable<Buffer>;

/** Store of manifests and configurations by digest. */
export interface DocumentStore {
  has(digest: string): Promise<boolean>;
  /** Reads a whole blob and verifies it; refuses more than `maxBytes`. */
  readBlob(digest: string, maxBytes: number): Promise<Buffer>;
  /** Writes a blob and returns its digest and size; an existing one stays. */
  putBlob(content: Buffer): Promise<{ digest: string; size: number }>;
  /** Fetches a large blob on a way of the store's own, by which others may have it too, and reads it. Absent: it is read from the registry. */
  obtainShared?(reference: ImageReference, blob: Descriptor, signal?: AbortSignal): Promise<Buffer>;
}

/** Store of blobs by digest: a layout directory, or memory for fixtures. */
export interface BlobStore extends DocumentStore {
  /** Streams an existing blob. */
  openBlob(digest: string): AsyncIterable<Buffer>;
  putBlob(content: BlobContent): Promise<{ digest: string; size: number }>;
}
