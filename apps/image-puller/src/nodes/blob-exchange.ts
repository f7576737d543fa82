/** Decides which node fetches a blob over the spoke's link, and from whom the others take it. Pure but for its memory. */
import { createHash } from 'node:crypto';

/** Order about a blob: fetch it from the registry, take it from one of these nodes, or ask again. */
type BlobOrder = { readonly do: 'fetch' } | { readonly do: 'copy'; readonly from: readonly string[] } | { readonly do: 'wait' };

/** Milliseconds for which the node that the hash picks may come first, while something else is on the link. */
const HEAD_START_MS = 1_500;
/** Milliseconds for which a fetch may stand still before another node takes it over. */
const STILL_MS = 45_000;
/** Times longer than blobs have taken so far that a fetch may take, whatever its node says of it. */
const SLOW = 8;
/** Least time for a fetch, and its rate before any blob is finished. */
const LEAST_FETCH_MS = 180_000;
const SLOWEST_BYTES_PER_MS = 32;
/** Milliseconds for which a vanished node with the only copy is waited for: a restart of its puller takes less than a fetch. */
const AWAITED_MS = 45_000;
/** Nodes that are named to one that asks. */
const MOST_SOURCES = 3;
/** Blobs on the link at once. With more, all would end together, and nobody could copy or unpack meanwhile. */
const LINK_FETCHES = 8;

interface Blob {
  readonly size: number;
  readonly askedAt: number;
  readonly holders: Set<string>;
  /** Nodes whose copy was of no use, by the node that says so: it counts for that one alone. */
  readonly refused: Map<string, Set<string>>;
  /** Nodes that could not fetch it. */
  readonly failed: Set<string>;
  fetcher: { readonly node: string; readonly since: number; offset: number; grewAt: number } | undefined;
  /** Until then a node with the only copy may come back. */
  awaitedUntil: number;
  /** Node that the hash picked, and the nodes it picked from: hundreds ask for one blob. */
  picked: { readonly node: string | undefined; readonly changes: number } | undefined;
}

/** Score of a node for a blob: the highest fetches it. */
export const scoreOf = (node: string, digest: string): string => createHash('sha256').update(`${node}/${digest}`).digest('hex');

/** Blobs of one run: each is fetched by one node, and taken over when that node vanishes or stands still. */
export class BlobExchange {
  readonly #blobs = new Map<string, Blob>();
  /** Nodes that fetch and serve. */
  readonly #nodes = new Set<string>();
  /** Nodes that only serve. */
  readonly #retired = new Set<string>();
  /** Blobs that are being fetched. */
  readonly #fetching = new Set<Blob>();
  readonly #since: number;
  #bytesFetched = 0;
  /** Changes of the nodes that fetch. */
  #changes = 0;

  /** @param now milliseconds since the epoch */
  constructor(now: number) {
    this.#since = now;
  }

  /** True while nothing is on the link. */
  get isIdle(): boolean {
    return this.#fetching.size === 0;
  }

  /** True for a blob that some node has, or fetches. */
  isFound(digest: string): boolean {
    const blob = this.#blobs.get(digest);
    return blob !== undefined && (blob.holders.size > 0 || blob.fetcher !== undefined);
  }

  join(node: string): void {
    this.#nodes.add(node);
    this.#retired.delete(node);
    this.#changes += 1;
  }

  /** Sends nobody to a node whose place is not known, until it joins again or leaves: its fetches and its blobs stay its own. */
  away(node: string): void {
    this.#nodes.delete(node);
    this.#changes += 1;
  }

  /** Takes a vanished node out: its fetches go to others, and nobody is sent to it. */
  leave(node: string, now: number): void {
    this.#nodes.delete(node);
    this.#changes += 1;
    for (const blob of this.#blobs.values()) {
      if (blob.holders.delete(node) && blob.holders.size === 0) blob.awaitedUntil = now + AWAITED_MS;
      if (blob.fetcher?.node === node) this.#end(blob);
    }
  }

  /** Gives a node nothing more to fetch, while the others take from it what it has. */
  retire(node: string): void {
    this.#retired.add(node);
    this.#changes += 1;
  }

  /** True for a node with a blob that no other has. */
  isAlone(node: string): boolean {
    return [...this.#blobs.values()].some(({ holders }) => holders.size === 1 && holders.has(node));
  }

  /** Decides for a node that needs a blob. */
  ask(node: string, { digest, size }: { readonly digest: string; readonly size: number }, now: number): BlobOrder {
    const blob = this.#blobs.get(digest) ?? this.#open(digest, size, now);
    const refused = blob.refused.get(node);
    const holders = [...blob.holders].filter((holder) => holder !== node && !refused?.has(holder));
    const sources = holders.filter((holder) => this.#nodes.has(holder));
    if (sources.length > 0) return { do: 'copy', from: this.#best(blob, sources, `${node}/${digest}`) };
    if (holders.length > 0) return { do: 'wait' };
    if (blob.fetcher?.node === node) return { do: 'fetch' };
    if ((blob.fetcher && !this.#isStill(blob, now)) || now < blob.awaitedUntil) return { do: 'wait' };
    const isHeadStart = now - blob.askedAt < HEAD_START_MS && !this.isIdle;
    // Without the failed ones nobody is left: whoever asks tries by itself.
    if (!blob.fetcher && isHeadStart && this.#first(digest, blob) !== node) return { do: 'wait' };
    if (this.#fetchesOf(node, now) >= Math.ceil(LINK_FETCHES / Math.max(1, this.#nodes.size))) return { do: 'wait' };
    blob.fetcher = { node, since: now, offset: 0, grewAt: now };
    this.#fetching.add(blob);
    return { do: 'fetch' };
  }

  /** A node has the whole blob. */
  has(node: string, digest: string, size: number, now: number): void {
    const blob = this.#blobs.get(digest) ?? this.#open(digest, size, now);
    if (this.#nodes.has(node)) blob.holders.add(node);
    if (blob.fetcher?.node !== node) return;
    this.#end(blob);
    this.#bytesFetched += blob.size;
  }

  /** A node could not fetch a blob, or not take it from the other. */
  failed(node: string, digest: string, from?: string): void {
    const blob = this.#blobs.get(digest);
    if (!blob) return;
    if (from === undefined) {
      if (blob.fetcher?.node === node) this.#end(blob);
      blob.failed.add(node);
      blob.picked = undefined;
      return;
    }
    const refused = blob.refused.get(node) ?? new Set();
    blob.refused.set(node, refused.add(from));
  }

  /** Bytes of a node's fetches so far. */
  grows(node: string, digest: string, offset: number, now: number): void {
    const fetcher = this.#blobs.get(digest)?.fetcher;
    if (fetcher?.node === node && offset > fetcher.offset) Object.assign(fetcher, { offset, grewAt: now });
  }

  #open(digest: string, size: number, now: number): Blob {
    const blob: Blob = {
      size,
      askedAt: now,
      holders: new Set(),
      refused: new Map(),
      failed: new Set(),
      fetcher: undefined,
      awaitedUntil: 0,
      picked: undefined,
    };
    this.#blobs.set(digest, blob);
    return blob;
  }

  #end(blob: Blob): void {
    blob.fetcher = undefined;
    this.#fetching.delete(blob);
  }

  /** Fetches of a node that move. Its share of the link is its own: a hostile node takes no more than that from the others. */
  #fetchesOf(node: string, now: number): number {
    return [...this.#fetching].filter((blob) => blob.fetcher?.node === node && !this.#isStill(blob, now)).length;
  }

  #first(digest: string, blob: Blob): string | undefined {
    if (blob.picked?.changes === this.#changes) return blob.picked.node;
    let first: { readonly node: string; readonly score: string } | undefined;
    for (const node of this.#nodes) {
      if (blob.failed.has(node) || this.#retired.has(node)) continue;
      const score = scoreOf(node, digest);
      if (!first || score > first.score) first = { node, score };
    }
    blob.picked = { node: first?.node, changes: this.#changes };
    return first?.node;
  }

  /** Names holders that nobody complains of first, and spreads the askers over them by one hash: one for each holder would cost minutes. */
  #best({ refused }: Blob, sources: readonly string[], asker: string): string[] {
    const start = createHash('sha256').update(asker).digest().readUInt32BE() % sources.length;
    const turned = [...sources.slice(start), ...sources.slice(0, start)];
    if (refused.size === 0) return turned.slice(0, MOST_SOURCES);
    const complaints = new Map(sources.map((node) => [node, [...refused.values()].filter((of) => of.has(node)).length]));
    return turned.toSorted((a, b) => (complaints.get(a) ?? 0) - (complaints.get(b) ?? 0)).slice(0, MOST_SOURCES);
  }

  /** A fetch without growth, or one that takes far longer than others did, whatever growth is claimed. */
  #isStill({ fetcher, size }: Blob, now: number): boolean {
    if (!fetcher) return true;
    const rate = Math.max(SLOWEST_BYTES_PER_MS, this.#bytesFetched / Math.max(1, now - this.#since));
    return now - fetcher.grewAt > STILL_MS || now - fetcher.since > LEAST_FETCH_MS + (SLOW * size) / rate;
  }
}
