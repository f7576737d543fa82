/** Decides which node fetches a blob over the spoke's link, and from whom the others take it. Pure but for its memory. */
import { createHash } from 'node:crypto';

/** Order about a blob: fetch it from the registry, take it from one of these nodes, or ask again. */
type BlobOrder = { readonly do: 'fetch' } | { readonly do: 'copy'; readonly from: readonly string[] } | { readonly do: 'wait' };

/** Milliseconds for which the node that the hash picks may come first, while something else is on the link. */
const HEAD_START_MS = 1_500;
/** Milliseconds for which a fetch may stand still, while others move, before another node takes it over: longer than most outages of one node. */
const STILL_MS = 150_000;
/** Milliseconds without growth anywhere after which nothing moves: an outage of the link counts for no fetch. */
const MOVING_MS = 5_000;
/** Milliseconds for which a node with more of a blob than others comes first. */
const LONGEST_FIRST_MS = 30_000;
/** Times longer than blobs have taken so far that a fetch may take, whatever its node says of it. */
const SLOW = 8;
/** Least time for a fetch, and its rate before any blob is finished. */
const LEAST_FETCH_MS = 180_000;
const SLOWEST_BYTES_PER_MS = 32;
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
  /** Times are those of the link that moves. */
  fetcher: { readonly node: string; readonly since: number; offset: number; grewAt: number } | undefined;
  /** Since then nobody fetches it. */
  freeSince: number;
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
  /** Bytes that nodes have of blobs, by digest and node: whoever has most goes on. */
  readonly #partials = new Map<string, Map<string, number>>();
  /** Last growth of any fetch, and the milliseconds in which the link has moved so far. */
  #movedAt: number;
  #movingMs = 0;
  #bytesFetched = 0;
  /** Changes of the nodes that fetch. */
  #changes = 0;

  /** @param now milliseconds since the epoch */
  constructor(now: number) {
    this.#movedAt = now;
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

  /** Lets a node fetch and serve. @param partials bytes that it has of blobs; undefined: what is known of it stays */
  join(node: string, partials?: Readonly<Record<string, number>>): void {
    this.#nodes.add(node);
    this.#retired.delete(node);
    this.#changes += 1;
    if (!partials) return;
    this.#forgetPartials(node);
    for (const [digest, bytes] of Object.entries(partials)) this.#hasPart(node, digest, bytes);
  }

  /** Sends nobody to a node that is silent or whose place is not known, until it joins again or leaves: its fetches and its blobs stay its own. */
  away(node: string): void {
    this.#nodes.delete(node);
    this.#changes += 1;
  }

  /** Takes a node out that is gone: its fetches go to others, and nobody is sent to it. */
  leave(node: string, now: number): void {
    this.#nodes.delete(node);
    this.#changes += 1;
    this.#forgetPartials(node);
    for (const blob of this.#blobs.values()) {
      blob.holders.delete(node);
      if (blob.fetcher?.node === node) this.#end(blob, now);
    }
  }

  /** Gives a node nothing more to fetch, while the others take from it what it has. */
  retire(node: string, now: number): void {
    this.#retired.add(node);
    this.#changes += 1;
    for (const blob of this.#fetching) if (blob.fetcher?.node === node) this.#end(blob, now);
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
    if (blob.fetcher && !this.#isStill(blob)) return { do: 'wait' };
    const longest = this.#longest(digest, blob);
    const isLongestFirst = longest !== undefined && (!this.#nodes.has(longest) || now - blob.freeSince < LONGEST_FIRST_MS);
    if (isLongestFirst && longest !== node) return { do: 'wait' };
    const isHeadStart = now - blob.askedAt < HEAD_START_MS && !this.isIdle;
    // Without the failed ones nobody is left: whoever asks tries by itself.
    if (!blob.fetcher && !isLongestFirst && isHeadStart && this.#first(digest, blob) !== node) return { do: 'wait' };
    // A node goes on with the parts that it has beside its share: another would begin at byte 0 meanwhile.
    const share = longest === node ? LINK_FETCHES : Math.ceil(LINK_FETCHES / Math.max(1, this.#nodes.size));
    if (this.#fetchesOf(node) >= share) return { do: 'wait' };
    blob.fetcher = { node, since: this.#movingMs, offset: 0, grewAt: this.#movingMs };
    this.#fetching.add(blob);
    return { do: 'fetch' };
  }

  /** A node has the whole blob. */
  has(node: string, digest: string, size: number, now: number): void {
    const blob = this.#blobs.get(digest) ?? this.#open(digest, size, now);
    if (this.#nodes.has(node)) blob.holders.add(node);
    this.#partials.get(digest)?.delete(node);
    if (blob.fetcher?.node !== node) return;
    this.#moves(now);
    this.#end(blob, now);
    this.#bytesFetched += blob.size;
  }

  /** A node cannot fetch a blob, or not take it from the other. A failure that passes is none: the node goes on. */
  failed(node: string, digest: string, now: number, from?: string): void {
    const blob = this.#blobs.get(digest);
    if (!blob) return;
    if (from === undefined) {
      if (blob.fetcher?.node === node) this.#end(blob, now);
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
    if (fetcher?.node !== node || offset <= fetcher.offset) return;
    this.#moves(now);
    Object.assign(fetcher, { offset, grewAt: this.#movingMs });
    this.#hasPart(node, digest, offset);
  }

  #moves(now: number): void {
    this.#movingMs += Math.min(Math.max(0, now - this.#movedAt), MOVING_MS);
    this.#movedAt = now;
  }

  #hasPart(node: string, digest: string, bytes: number): void {
    if (bytes === 0) return;
    const partials = this.#partials.get(digest) ?? new Map<string, number>();
    this.#partials.set(digest, partials.set(node, bytes));
  }

  #forgetPartials(node: string): void {
    for (const partials of this.#partials.values()) partials.delete(node);
  }

  /** Node with the most bytes of a blob among those that may fetch it, be they away for now. */
  #longest(digest: string, { failed, fetcher }: Blob): string | undefined {
    let longest: readonly [node: string | undefined, bytes: number] = [undefined, 0];
    for (const [node, bytes] of this.#partials.get(digest) ?? [])
      if (bytes > longest[1] && !failed.has(node) && !this.#retired.has(node) && node !== fetcher?.node) longest = [node, bytes];
    return longest[0];
  }

  #open(digest: string, size: number, now: number): Blob {
    const blob: Blob = {
      size,
      askedAt: now,
      holders: new Set(),
      refused: new Map(),
      failed: new Set(),
      fetcher: undefined,
      freeSince: now,
      picked: undefined,
    };
    this.#blobs.set(digest, blob);
    return blob;
  }

  #end(blob: Blob, now: number): void {
    blob.fetcher = undefined;
    blob.freeSince = now;
    this.#fetching.delete(blob);
  }

  /** Fetches of a node that move. Its share of the link is its own: a hostile node takes no more than that from the others. */
  #fetchesOf(node: string): number {
    return [...this.#fetching].filter((blob) => blob.fetcher?.node === node && !this.#isStill(blob)).length;
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
  #isStill({ fetcher, size }: Blob): boolean {
    if (!fetcher) return true;
    const rate = Math.max(SLOWEST_BYTES_PER_MS, this.#bytesFetched / Math.max(1, this.#movingMs));
    return this.#movingMs - fetcher.grewAt > STILL_MS || this.#movingMs - fetcher.since > LEAST_FETCH_MS + (SLOW * size) / rate;
  }
}
