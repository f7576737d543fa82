/** Nodes of a spoke in one process: the real lead, followers and channel over loopback, stores in memory, and a registry that counts. */
import { createHash, randomBytes } from 'node:crypto';
import { DEFAULT_NODE_RULES, type NodeRules, type PullerReport } from '@flotilla/api/ran';
import { BandwidthLimit, backOffMs, type Clock, pause, systemClock } from '@flotilla/pace';
import { RegistryError, RegistryErrorCode } from '@flotilla/registry';
import { createLogger } from '@flotilla/runtime';
import type { BlobSource } from '../src/content/ingest.ts';
import { isPassing } from '../src/content/next-way.ts';
import { obtainShared } from '../src/content/peer-copy.ts';
import { CorruptBlobError, NoSpaceError } from '../src/errors.ts';
import type { LinkCap } from '../src/link-cap.ts';
import { Follower } from '../src/nodes/follower.ts';
import { Lead } from '../src/nodes/lead.ts';
import type { LeadPlace } from '../src/nodes/messages.ts';
import type { BlobSharing, SharedBlobs } from '../src/nodes/peer-blobs.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
/** A link without a cap. */
export const UNCAPPED: LinkCap = new BandwidthLimit(undefined, systemClock);

/** A blob by its digest. */
interface Blob {
  readonly digest: string;
  readonly size: number;
}

/** A registry that counts the bytes it serves, by blob. */
export class MemoryRegistry {
  readonly blobs: readonly Blob[];
  readonly served = new Map<string, number>();
  readonly #bytes = new Map<string, Buffer>();
  readonly #pauseMs: number;
  readonly #pieceBytes: number;
  readonly #clock: Clock;
  /** Called when a blob is asked for. */
  onRead: (digest: string) => void = () => undefined;
  /** Nothing is answered for now: because the link is away, or by the registry itself. */
  away: 'link' | 'registry' | undefined;
  #cuts = 0;

  constructor(sizes: readonly number[], pauseMs = 0, { clock = systemClock, pieceBytes = PIECE }: Partial<Pace> = {}) {
    const all = sizes.map((size) => randomBytes(size));
    this.blobs = all.map((bytes) => ({ digest: digestOf(bytes), size: bytes.length }));
    for (const bytes of all) this.#bytes.set(digestOf(bytes), bytes);
    this.#pauseMs = pauseMs;
    this.#clock = clock;
    this.#pieceBytes = pieceBytes;
  }

  get neededBytes(): number {
    return this.blobs.reduce((sum, { size }) => sum + size, 0);
  }

  get servedBytes(): number {
    return [...this.served.values()].reduce((sum, size) => sum + size, 0);
  }

  /** Breaks off everything that is being read. */
  cut(): void {
    this.#cuts += 1;
  }

  async *read(digest: string, offset: number): AsyncGenerator<Buffer> {
    this.onRead(digest);
    const cuts = this.#cuts;
    const bytes = this.#bytes.get(digest) ?? Buffer.alloc(0);
    for (let at = offset; at < bytes.length; at += this.#pieceBytes) {
      if (this.#pauseMs > 0) await pause(this.#clock, this.#pauseMs);
      if (this.away === 'registry') throw new RegistryError(RegistryErrorCode.unavailable, 'the registry is away');
      if (cuts !== this.#cuts || this.away) throw new RegistryError(RegistryErrorCode.unreachable, 'the link is cut');
      const piece = bytes.subarray(at, at + this.#pieceBytes);
      this.served.set(digest, (this.served.get(digest) ?? 0) + piece.length);
      yield piece;
    }
  }
}

/** Pace of a registry's bytes. */
interface Pace {
  readonly clock: Clock;
  readonly pieceBytes: number;
}

const PIECE = 64 * 1024;
const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** Report of a puller that pulls. */
export const REPORT: PullerReport = {
  phase: 'pulling',
  imagesDone: 0,
  imagesTotal: 1,
  bytesDone: 0,
  bytesTotal: 1,
  bytesPerSecond: 0,
  failures: [],
  at: new Date(0).toISOString(),
};

/** A store in memory. What arrived of a blob stays, as in containerd. */
export class MemoryStore implements SharedBlobs {
  readonly blobs = new Map<string, Buffer>();
  /** Blobs of which the lead knows that they are here. */
  readonly told = new Set<string>();
  readonly #partly = new Map<string, Buffer[]>();
  /** Nothing more can be written. */
  isFull = false;
  /** Reads by others break off in the middle. */
  isCut = false;
  /** Reads by others break off at once. */
  isAway = false;
  /** Reads by others give other bytes. */
  isWrong = false;

  async size(digest: string): Promise<number | undefined> {
    return this.blobs.get(digest)?.length;
  }

  async *read(digest: string, { offset, size }: { offset: number; size: number }): AsyncGenerator<Buffer> {
    const bytes = this.blobs.get(digest)?.subarray(offset, offset + size) ?? Buffer.alloc(0);
    if (this.isAway) throw new Error('the nodes are away from each other');
    if (this.isWrong) return void (yield randomBytes(bytes.length));
    if (!this.isCut) return void (yield bytes);
    yield bytes.subarray(0, Math.floor(bytes.length / 2));
    throw new Error('the nodes are cut off from each other');
  }

  async partials(): Promise<ReadonlyMap<string, number>> {
    return new Map([...this.#partly].map(([digest, chunks]) => [digest, Buffer.concat(chunks).length]));
  }

  async ingest({ digest, size }: Blob, source: BlobSource): Promise<void> {
    if (this.blobs.has(digest)) return;
    const chunks = this.#partly.get(digest) ?? [];
    this.#partly.set(digest, chunks);
    const offset = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    for await (const chunk of source(offset, async () => undefined)) {
      if (this.isFull) throw new NoSpaceError('the disk is full');
      chunks.push(chunk);
    }
    const bytes = Buffer.concat(chunks);
    if (bytes.length < size) throw new Error(`only ${bytes.length} of ${size} bytes`);
    this.#partly.delete(digest);
    if (digestOf(bytes) !== digest) throw new CorruptBlobError(`blob ${digest} is not what its digest says`, { cause: undefined });
    this.blobs.set(digest, bytes);
  }

  async abort(digest: string): Promise<void> {
    this.#partly.delete(digest);
  }
}

/** Milliseconds until a broken fetch is tried again. */
const AGAIN_MS = 200;
const BACK_OFF = { baseMs: 500, maxMs: 20_000, floor: 0.1 };

/** Fills a store with every blob, as a node's content store does; what passes is waited for. */
export async function fillStore(
  store: MemoryStore,
  registry: MemoryRegistry,
  sharing: BlobSharing,
  { signal, clock = systemClock }: { readonly signal: AbortSignal; readonly clock?: Clock },
): Promise<void> {
  const brokenSince = new Map<string, number>();
  const fetchOne = (blob: Blob): Promise<void> => {
    const ingest = (source: BlobSource): Promise<void> => store.ingest(blob, source);
    const own = { has: async () => store.blobs.has(blob.digest), ingest, abort: () => store.abort(blob.digest) };
    const fromRegistry: BlobSource = async function* (offset) {
      let at = offset;
      for await (const chunk of registry.read(blob.digest, offset)) {
        signal.throwIfAborted();
        at += chunk.length;
        sharing.grew(blob.digest, at);
        yield chunk;
      }
    };
    return obtainShared({ ...own, sharing, brokenSince, signal, clock, logger }, blob, { onBytes: () => undefined, fromRegistry });
  };
  const persist = async (blob: Blob): Promise<void> => {
    for (let failures = 1; ; failures += 1) {
      try {
        await fetchOne(blob);
        return void store.told.add(blob.digest);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof NoSpaceError) throw error;
        await pause(clock, isPassing(error) ? backOffMs(BACK_OFF, failures) : AGAIN_MS, signal);
        signal.throwIfAborted();
      }
    }
  };
  await Promise.all(registry.blobs.map(persist));
}

/** A lead with a store, whose place the followers know. */
interface MemoryLead extends AsyncDisposable {
  readonly lead: Lead;
  readonly store: MemoryStore;
  readonly place: LeadPlace;
  readonly signal: AbortSignal;
}

/** Options of a lead. */
interface LeadParts {
  readonly nodes: readonly string[];
  readonly rules?: Partial<NodeRules>;
  readonly clock?: Clock;
  readonly cap?: LinkCap;
  /** The lead may not list the nodes. */
  readonly isCounted?: boolean;
  /** Port of its store; default: a free one. */
  readonly blobPort?: number;
  /** Waits before it gives an answer that was made before. */
  readonly holdExpected?: () => Promise<void>;
  /** The store of its node, with what it has from before. */
  readonly store?: MemoryStore;
  /** The run has had another lead before. */
  readonly succeeds?: boolean;
}

/** Starts a lead on node `n0` for these nodes. A token is a node's name; `stranger` is none. */
export async function startLead({
  nodes,
  rules,
  cap = UNCAPPED,
  isCounted = false,
  holdExpected,
  blobPort = 0,
  clock = systemClock,
  store = new MemoryStore(),
  succeeds = false,
}: LeadParts): Promise<MemoryLead> {
  const stop = new AbortController();
  const place = Promise.withResolvers<LeadPlace>();
  const lead = new Lead({
    nodeName: 'n0',
    goal: 'filled',
    rules: { ...DEFAULT_NODE_RULES, ...rules },
    address: '127.0.0.1',
    port: 0,
    blobPort,
    cap,
    readExpected: async () => {
      const expected = isCounted ? { count: nodes.length } : { nodes: nodes.map((name) => ({ name, uid: `uid-${name}` })) };
      await holdExpected?.();
      return expected;
    },
    verify: async (token) =>
      token === 'stranger' ? { refusal: "its token is nobody's" } : { pod: token, node: { name: token, uid: `uid-${token}` } },
    succeeds: async () => succeeds,
    publish: async (found) => place.resolve(found),
    signal: stop.signal,
    clock,
    logger,
  });
  await lead.start();
  return {
    lead,
    store,
    place: await place.promise,
    signal: stop.signal,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await lead[Symbol.asyncDispose]();
    },
  };
}

/** A node that follows. */
interface MemoryNode extends AsyncDisposable {
  readonly name: string;
  readonly follower: Follower;
  readonly store: MemoryStore;
  /** Fills the store and says so to the lead. */
  readonly fill: (registry: MemoryRegistry) => Promise<void>;
  /** Ends it as a kill does: nothing is said to anybody. */
  readonly kill: () => Promise<void>;
}

/** Options of a node that follows. */
interface NodeParts {
  readonly clock?: Clock;
  readonly isReplaced?: () => boolean;
  readonly readToken?: () => Promise<string>;
}

/** Lets a node follow; a store from before is what it has. */
export async function followLead(
  place: LeadPlace,
  name: string,
  store = new MemoryStore(),
  { clock = systemClock, isReplaced = () => false, readToken = async () => name }: NodeParts = {},
): Promise<MemoryNode> {
  const stop = new AbortController();
  const follower = new Follower({
    nodeName: name,
    lead: place,
    address: '127.0.0.1',
    blobPort: 0,
    readToken,
    report: () => REPORT,
    isReplaced: async () => isReplaced(),
    signal: stop.signal,
    clock,
    logger,
  });
  const kill = async (): Promise<void> => {
    stop.abort();
    await follower[Symbol.asyncDispose]();
  };
  await follower.join();
  follower.start();
  const sharing = follower.sharing();
  await sharing.open(store);
  const fill = (registry: MemoryRegistry): Promise<void> =>
    fillStore(store, registry, sharing, { signal: AbortSignal.any([stop.signal, follower.lost]), clock });
  return { name, follower, store, fill, kill, [Symbol.asyncDispose]: kill };
}
