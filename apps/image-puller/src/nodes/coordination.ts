/** Sharing of blobs between a puller's content store and the other nodes. Types alone. */
import type { Peer, SharedBlobs } from './peer-blobs.ts';

/** A blob's identity. */
export interface BlobIdentity {
  readonly digest: string;
  readonly size: number;
}

/** Sharing of blobs, as one node's store uses it. */
export interface BlobSharing {
  /** Offers this node's blobs; undefined where its runtime shares none. */
  open(blobs: SharedBlobs | undefined): Promise<void>;
  /** Waits until this node is to fetch the blob itself, or returns nodes that have it. */
  source(blob: BlobIdentity, signal: AbortSignal): Promise<'registry' | readonly Peer[]>;
  /** Reads a blob of another node. */
  stream(
    peer: Peer,
    blob: BlobIdentity,
    options: { readonly offset: number; readonly settle: () => Promise<void>; readonly signal: AbortSignal },
  ): AsyncIterable<Buffer>;
  /** Bytes of a fetch from the registry so far. */
  grew(digest: string, offset: number): void;
  /** The blob is in this node's store. */
  has(blob: BlobIdentity): Promise<void>;
  /** The blob could not be had from the registry, or from that node. */
  failed(blob: BlobIdentity, from?: string): Promise<void>;
  /** Fetches nothing more, and waits until other nodes have what is on this one alone. */
  handOver(signal: AbortSignal): Promise<void>;
}
