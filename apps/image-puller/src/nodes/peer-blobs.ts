/** Blobs of one node's store for the others: ranges over the channel. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Semaphore } from '@flotilla/pace';
import { ChannelClient, type ChannelCredential, ChannelError, type ChannelPlace, type ChannelRequest } from './channel.ts';
import { MAX_PARTIALS } from './messages.ts';

/** Bytes of one range: what a cut costs at most. */
const RANGE_BYTES = 8 * 1024 * 1024;
/** Blobs that are read for others at once; more would slow the node's own pull. */
const PARALLEL_READS = 6;
/** Time for one range: 64 KiB a second at least. */
const RANGE_MS = 120_000;
const PROBE_MS = 3_000;
const PATH = /^\/blobs\/(sha256:[0-9a-f]{64})$/;
const RANGE = /^bytes=(\d{1,15})-(\d{1,15})$/;

/** Read access to a store of blobs. */
export interface SharedBlobs {
  /** Size of a whole blob; undefined when it is not there. */
  size(digest: string): Promise<number | undefined>;
  read(digest: string, range: { readonly offset: number; readonly size: number }): AsyncIterable<Buffer>;
  /** Bytes of blobs that are there in part, by digest. */
  partials(): Promise<ReadonlyMap<string, number>>;
}

/** Reads how much a store has of blobs, of the longest ones; undefined while it does not say. */
export async function readPartials(blobs: SharedBlobs | undefined): Promise<Record<string, number> | undefined> {
  const partials = await blobs?.partials().catch(() => undefined);
  if (!partials) return undefined;
  return Object.fromEntries([...partials].toSorted(([, a], [, b]) => b - a).slice(0, MAX_PARTIALS));
}

/** Answers other nodes' requests for blobs. */
export function createBlobServer(blobs: SharedBlobs): (request: ChannelRequest, response: ServerResponse) => Promise<void> {
  const slots = new Semaphore(PARALLEL_READS);
  return async ({ method, path, range }, response) => {
    const digest = PATH.exec(path)?.[1];
    const size = digest === undefined ? undefined : await blobs.size(digest);
    if (digest === undefined || size === undefined) return void response.writeHead(404).end();
    if (method === 'HEAD') return void response.writeHead(200, { 'content-length': size }).end();
    const [, from, to] = RANGE.exec(range ?? '') ?? [];
    const [first, last] = [Number(from), Number(to)];
    if (method !== 'GET' || !(first <= last && last < size)) return void response.writeHead(416).end();
    await slots.run(() => send(response, blobs.read(digest, { offset: first, size: last - first + 1 }), last - first + 1));
  };
}

async function send(response: ServerResponse, bytes: AsyncIterable<Buffer>, length: number): Promise<void> {
  if (response.destroyed) return;
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  response.writeHead(206, { 'content-length': length });
  for await (const chunk of bytes) {
    if (response.destroyed) return;
    if (!response.write(chunk)) await once(response, 'drain', { signal: closed.signal });
  }
  response.end();
}

/** Another node of this run. */
export interface Peer extends ChannelPlace {
  readonly id: string;
}

/** Connections to other nodes, by their places. */
export class Peers implements Disposable {
  readonly #key: ChannelCredential;
  readonly #clients = new Map<string, ChannelClient>();

  constructor(key: ChannelCredential) {
    this.#key = key;
  }

  /** True when a node has a blob; undefined when the node, or its store, gives no answer. */
  async hasBlob(peer: Peer, digest: string): Promise<boolean | undefined> {
    try {
      const answer = await this.#client(peer).open({ method: 'HEAD', path: `/blobs/${digest}`, timeoutMs: PROBE_MS });
      answer.resume();
      return { 200: true, 404: false }[answer.statusCode ?? 0];
    } catch {
      return undefined;
    }
  }

  /**
   * Streams a blob of another node from an offset on. `settle` runs before each range.
   * @throws ChannelError; the reader judges the bytes
   */
  async *stream(
    peer: Peer,
    blob: { readonly digest: string; readonly size: number },
    { offset, settle, signal }: { readonly offset: number; readonly settle: () => Promise<void>; readonly signal: AbortSignal },
  ): AsyncGenerator<Buffer> {
    for (let at = offset; at < blob.size; ) {
      await settle();
      const end = Math.min(blob.size, at + RANGE_BYTES);
      const range = `bytes=${at}-${end - 1}`;
      const answer = await this.#client(peer).open({ method: 'GET', path: `/blobs/${blob.digest}`, range, timeoutMs: RANGE_MS, signal });
      if (answer.statusCode !== 206) {
        answer.resume();
        throw new ChannelError(`node ${peer.id} gives no ${blob.digest}`, { status: answer.statusCode ?? 0 });
      }
      try {
        for await (const chunk of answer as AsyncIterable<Buffer>) {
          at += chunk.length;
          if (at > end) throw new ChannelError(`node ${peer.id} gives more than was asked for`);
          yield chunk;
        }
      } catch (error) {
        signal.throwIfAborted();
        throw error instanceof ChannelError ? error : new ChannelError(`node ${peer.id} broke off`, { cause: error });
      }
      if (at < end) throw new ChannelError(`node ${peer.id} broke off at byte ${at}`);
    }
  }

  #client(peer: Peer): ChannelClient {
    const name = `${peer.address} ${peer.port}`;
    const known = this.#clients.get(name);
    if (known) return known;
    const client = new ChannelClient(peer, this.#key);
    this.#clients.set(name, client);
    return client;
  }

  [Symbol.dispose](): void {
    for (const client of this.#clients.values()) client[Symbol.dispose]();
    this.#clients.clear();
  }
}

/** A blob's identity. */
export interface BlobIdentity {
  readonly digest: string;
  readonly size: number;
}

/** Sharing of blobs between a puller's content store and the other nodes, as the store uses it. */
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
