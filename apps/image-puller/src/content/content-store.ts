import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { errorMessage } from '@flotilla/api';
import { type Clock, Semaphore } from '@flotilla/pace';
import {
  type Descriptor,
  type DocumentStore,
  formatImageReference,
  type parseImageReference,
  type RegistryClient,
} from '@flotilla/registry';
import type { Logger } from '@flotilla/runtime';
import { NoSpaceError, PullerErrorCode, StoreError } from '../errors.ts';
import type { BlobSharing } from '../nodes/peer-blobs.ts';
import type { CriConnection } from '../socket/connection.ts';
import { blobSize, isUnpacked, listIngests, orAbsent, readContent } from '../socket/containerd.ts';
import { abortIngest, type BlobSource, dropIngests, type IngestDeps, ingestBlob, ingestRef } from './ingest.ts';
import { ContentLease } from './lease.ts';
import { obtainShared } from './peer-copy.ts';
import { dropBlobs } from './presence.ts';
import type { ExpectedBlob } from './writer.ts';

type ImageReference = ReturnType<typeof parseImageReference>;

/** Time for reading one blob back from the node's disk. */
const READ_MS = 10 * 60_000;
/** Bytes asked for at once where nothing is capped. A kill costs at most what one range has on its way. */
const RANGE_BYTES = 4 * 1024 * 1024;
/** Blobs on their way at once, over all images; each has some mebibytes in memory. */
const PARALLEL_BLOBS = 8;
/** Largest manifest or configuration that is read. */
const MAX_DOCUMENT_BYTES = 8 * 1024 * 1024;

/** Dependencies of a content store. */
export interface ContentOptions {
  readonly connection: CriConnection;
  readonly client: RegistryClient;
  /** Other nodes of the spoke; undefined: this one fetches everything. */
  readonly sharing?: BlobSharing | undefined;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Receives the bytes of a blob as they arrive. */
type OnBytes = (bytes: number) => void;

/** Milliseconds for letting go: a pod that is told to end has half a minute. */
const RELEASE_MS = 10_000;

/** containerd's content store, filled from registries by this program. A lease holds everything. */
export class ContentStore {
  /** Bytes read from registries that are not in the store, and are fetched again. */
  bytesBeside = 0;
  readonly #deps: IngestDeps & ContentOptions & { readonly lease: ContentLease };
  /** Since when other nodes have broken off. */
  readonly #brokenSince = new Map<string, number>();
  readonly #fetching = new Map<string, Promise<void>>();
  /** Documents that were found and not read yet. */
  readonly #found = new Map<string, Buffer>();
  readonly #slots = new Semaphore(PARALLEL_BLOBS);

  constructor(options: ContentOptions) {
    this.#deps = { ...options, lease: new ContentLease(options.connection, options.clock) };
  }

  /**
   * Asks whether containerd lets us write content.
   * @throws StoreError where it does not
   */
  async probe(): Promise<void> {
    await this.#deps.lease.hold(this.#deps.signal);
  }

  /** Removes what has arrived of layers that nobody fetches: the runtime would go on from it. */
  async drop(layers: readonly ExpectedBlob[]): Promise<void> {
    const idle = layers.filter(({ digest }) => !this.#fetching.has(digest));
    await this.#tolerate('Removing parts of layers', () => dropIngests(this.#deps, idle));
  }

  /** Lets the collector take what no image uses, also after the run was told to end: the nodes' pods go once their lead is done. */
  async release(): Promise<void> {
    await this.#deps.lease.release(AbortSignal.timeout(RELEASE_MS));
  }

  /** True when the store has the whole blob. */
  async has(digest: string): Promise<boolean> {
    return (await this.size(digest)) !== undefined;
  }

  /** True when the layers up to this chain id are unpacked. */
  hasSnapshot(snapshotter: string, key: string): Promise<boolean> {
    return isUnpacked(this.#deps, snapshotter, key);
  }

  /**
   * Fetches a blob from the registry into the store by ranges, from where an earlier fetch ended. Calls for one blob share one fetch.
   * @throws RegistryError, StoreError, CorruptBlobError or NoSpaceError
   */
  async fetch(reference: ImageReference, blob: Descriptor, onBytes: OnBytes = () => {}): Promise<void> {
    const other = this.#fetching.get(blob.digest);
    if (other) {
      // Another repository may refuse the blob that this one gives.
      const isThere = await other.then(
        () => true,
        () => false,
      );
      return isThere ? undefined : await this.fetch(reference, blob, onBytes);
    }
    const fetching = this.#obtain(reference, blob, onBytes);
    this.#fetching.set(blob.digest, fetching);
    try {
      await fetching;
    } finally {
      this.#fetching.delete(blob.digest);
    }
  }

  async #obtain(reference: ImageReference, blob: Descriptor, onBytes: OnBytes): Promise<void> {
    const { sharing } = this.#deps;
    if (!sharing) return this.#ingest(blob, this.#fromRegistry(reference, blob, onBytes));
    // A slot is for bytes under way: waiting for another node takes none.
    const ingest = (source: BlobSource): Promise<void> => this.#ingest(blob, source);
    const abort = (): Promise<void> => abortIngest(this.#deps, ingestRef('layer', blob.digest));
    const has = (): Promise<boolean> => this.has(blob.digest);
    const deps = { ...this.#deps, sharing, has, ingest, abort, brokenSince: this.#brokenSince };
    await obtainShared(deps, blob, { onBytes, fromRegistry: this.#fromRegistry(reference, blob, onBytes) });
  }

  #ingest(blob: Descriptor, source: BlobSource): Promise<void> {
    return this.#slots.run(async () => void (await ingestBlob(this.#deps, ingestRef('layer', blob.digest), blob, source)));
  }

  #fromRegistry(reference: ImageReference, blob: Descriptor, onBytes: OnBytes): BlobSource {
    const { client, signal, logger, sharing } = this.#deps;
    const fields = { blob: blob.digest, image: formatImageReference(reference), bytes: blob.size };
    return async function* (offset, settle) {
      if (offset > 0) logger.info({ ...fields, offset }, 'Resuming a blob');
      // A range is in the ingest before the next is asked for, so no kill costs a finished one.
      const ranges = { bytes: RANGE_BYTES, before: settle };
      let at = offset;
      for await (const chunk of client.streamRanges(reference, blob, { offset, ranges, signal })) {
        onBytes(chunk.length);
        at += chunk.length;
        sharing?.grew(blob.digest, at);
        yield chunk;
      }
    };
  }

  /** Size of a stored blob; undefined when it is not there. */
  size(digest: string): Promise<number | undefined> {
    return blobSize(this.#deps, digest);
  }

  /** Bytes of layers that are there in part. */
  async partials(): Promise<ReadonlyMap<string, number>> {
    const layer = ingestRef('layer', '');
    const parts = (await listIngests(this.#deps)).filter(({ ref }) => /^sha256:[0-9a-f]{64}$/.test(ref.slice(layer.length)));
    return new Map(parts.map(({ ref, offset }) => [ref.slice(layer.length), offset]));
  }

  /** Streams a stored blob, or a range of it. */
  read(digest: string, range?: { readonly offset: number; readonly size: number }): AsyncGenerator<Buffer> {
    return readContent(this.#deps, { digest, ...range, deadlineMs: READ_MS });
  }

  /** Stores a small blob whose bytes we have. */
  async #put(bytes: Buffer, digest: string): Promise<void> {
    const ref = ingestRef('manifest', digest);
    await ingestBlob(this.#deps, ref, { digest, size: bytes.length }, async function* (offset) {
      yield bytes.subarray(offset);
    });
  }

  /** Manifests and configurations: they are stored as they are read, so the runtime does not ask for them again. */
  get documents(): DocumentStore {
    const obtainShared: DocumentStore['obtainShared'] = (reference, blob, signal) =>
      buffer(this.streamBlob(reference, blob, signal && { signal }));
    return {
      has: async (digest) => (await this.#readDocument(digest)) !== undefined,
      readBlob: async (digest, maxBytes) => {
        const bytes = this.#found.get(digest) ?? (await this.#readDocument(digest));
        this.#found.delete(digest);
        if (bytes && bytes.length <= maxBytes) return bytes;
        throw new StoreError(PullerErrorCode.storeRefused, `document ${digest} is not in the store any more`, { transient: true });
      },
      putBlob: async (bytes) => {
        const digest = digestOf(bytes);
        await this.#tolerate('Storing a document', () => this.#put(bytes, digest));
        return { digest, size: bytes.length };
      },
      ...(this.#deps.sharing && { obtainShared }),
    };
  }

  /** Reads and verifies a document; undefined when the store has none, or none that can be used. A damaged one gives way to the right one. */
  async #readDocument(digest: string): Promise<Buffer | undefined> {
    const bytes = await this.#tolerate('Reading a document', () => orAbsent(this.#readWhole(digest)));
    if (!bytes) return undefined;
    if (digestOf(bytes) !== digest) {
      await this.#tolerate('Removing a damaged document', () => dropBlobs(this.#deps, [digest]));
      return undefined;
    }
    // The next call reads it.
    this.#found.set(digest, bytes);
    return bytes;
  }

  async #readWhole(digest: string): Promise<Buffer | undefined> {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of this.read(digest)) {
      size += chunk.length;
      if (size > MAX_DOCUMENT_BYTES) return undefined;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  /**
   * Streams a blob that is read for the list: it is stored once and read from there. Where the store refuses it comes from the registry, and the image
   * brings it again.
   */
  async *streamBlob(reference: ImageReference, blob: Descriptor, options: { signal?: AbortSignal } = {}): AsyncGenerator<Buffer> {
    const { client, signal } = this.#deps;
    const isStored = await this.#tolerate('Storing a blob of the list', async () => {
      try {
        await this.fetch(reference, blob);
        return true;
      } catch (error) {
        // A full disk gets back what is half there.
        if (error instanceof NoSpaceError) await abortIngest({ ...this.#deps, signal }, ingestRef('layer', blob.digest));
        throw error;
      }
    });
    if (isStored) return yield* this.read(blob.digest);
    this.bytesBeside += blob.size;
    yield* client.streamBlob(reference, blob, options);
  }

  /** Logs a refusal of the store and returns undefined; the list is not the store's. */
  async #tolerate<T>(doing: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#deps.signal.throwIfAborted();
      if (!(error instanceof StoreError || error instanceof NoSpaceError)) throw error;
      this.#deps.logger.warn({ err: errorMessage(error) }, `${doing} failed`);
      return undefined;
    }
  }
}

const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
