/** Images as a list of software is made of them: what a registry is asked, and what it answers. */
import type { DocumentStore, RegistryClient } from '@flotilla/registry';

/** One compressed layer. */
export interface Layer {
  readonly digest: string;
  /** Compressed size in bytes. */
  readonly size: number;
  /** Digest of the unpacked layer, where the image says it. */
  readonly diffId?: string;
}

/** Result of resolving a pull spec. */
export interface ResolvedImage {
  readonly pullSpec: string;
  /** Digest of this platform's manifest, which identifies the image. */
  readonly digest: string;
  /** Digest behind the tag or reference itself: the index's, where there is one. */
  readonly referenceDigest: string;
  readonly layers: readonly Layer[];
  readonly labels: Readonly<Record<string, string>>;
}

/** Files to read from an image's layers; give `match` or `paths`. */
interface FileSelection {
  readonly match?: (path: string) => boolean;
  /** Exact paths: layers below the first that has them all are not fetched. */
  readonly paths?: readonly string[];
  readonly maxFileBytes: number;
  readonly maxTotalBytes: number;
}

/** A store that keeps what is read for the list. */
export interface ListContent {
  /** Manifests and configurations. */
  readonly documents: DocumentStore;
  /** Streams a blob after it is stored, or from the registry where the store refuses it. */
  streamBlob: RegistryClient['streamBlob'];
  /** Bytes that the store refused, and that its images bring again. */
  readonly bytesBeside: number;
}

/** Registry, as the list uses it. */
export interface ImageSource {
  /** Bytes of blobs read so far that their images bring again. */
  readonly bytesRead: number;
  resolve(pullSpec: string, signal: AbortSignal): Promise<ResolvedImage>;
  readFiles(image: ResolvedImage, selection: FileSelection, signal: AbortSignal): Promise<ReadonlyMap<string, Uint8Array>>;
}
