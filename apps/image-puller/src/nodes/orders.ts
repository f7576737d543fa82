import type { Clock } from '@flotilla/pace';
import { BlobExchange } from './blob-exchange.ts';
import type { Order, Tell } from './messages.ts';
import { News } from './news.ts';
import type { BlobIdentity, Peer, Peers } from './peer-blobs.ts';
import { Probes } from './probes.ts';

/** Milliseconds for which the first fetch waits for the other nodes: one of them may have the blob. */
const GATHER_MS = 10_000;
/** The same after another lead: its nodes notice within seconds, and have parts of blobs. */
const GATHER_AGAIN_MS = 30_000;
/** Milliseconds for which a question is held back for an order. */
const HOLD_MS = 5_000;

/** Answers nodes that need blobs: with an order as soon as there is one. */
export class Orders {
  readonly #clock: Clock;
  /** Since when nodes may come. */
  #openedAt: number;
  readonly #exchange: BlobExchange;
  readonly #places = new Map<string, Peer>();
  readonly #probes: Probes;
  /** News of blobs by their digests, and of nodes whose share of the link may be free, by their ids. */
  readonly #news: News;
  /** Nodes that are waited for without a place. */
  readonly #away = new Set<string>();
  #isGathered = false;
  #gatherMs = GATHER_MS;

  constructor({ clock, peers }: { readonly clock: Clock; readonly peers: Pick<Peers, 'hasBlob'> }) {
    this.#clock = clock;
    this.#openedAt = clock.now();
    this.#exchange = new BlobExchange(this.#openedAt);
    this.#news = new News(clock);
    this.#probes = new Probes({
      clock,
      places: this.#places,
      hasBlob: (peer, digest) => peers.hasBlob(peer, digest),
      onHas: (id, { digest, size }) => this.#exchange.has(id, digest, size, clock.now()),
    });
  }

  /** Waits longer for the nodes: they have had another lead, and say what they have of its blobs. */
  succeed(): void {
    this.#gatherMs = GATHER_AGAIN_MS;
  }

  /** Gives the nodes their time from now on: before, none could know of this lead. */
  published(): void {
    this.#openedAt = this.#clock.now();
  }

  /** Lets a node take part from here on; it may have blobs from before, and parts of some. */
  enter(peer: Peer, partials?: Readonly<Record<string, number>>): void {
    this.#places.set(peer.id, peer);
    this.#away.delete(peer.id);
    this.#exchange.join(peer.id, partials);
    this.#probes.forget(peer.id);
  }

  /** Waits for a node that is silent, or is back and has no place yet. */
  away(id: string): void {
    this.#places.delete(id);
    this.#exchange.away(id);
    this.#away.add(id);
  }

  /** Takes a node out: its fetches go to others. */
  leave(id: string): void {
    if (!this.#places.has(id) && !this.#away.has(id)) return;
    this.#places.delete(id);
    this.#exchange.leave(id, this.#clock.now());
    this.#away.delete(id);
    this.#news.tell();
  }

  /** Gives a node nothing more to fetch, and what it fetches to others. */
  retire(id: string): void {
    this.#exchange.retire(id, this.#clock.now());
    this.#news.tell();
  }

  /** True for a node with a blob that no other has. */
  isAlone(id: string): boolean {
    return this.#exchange.isAlone(id);
  }

  /** Begins to give orders before the time for that is over: the nodes are there. */
  begin(): void {
    this.#isGathered = true;
    this.#news.tell();
  }

  grows(id: string, digest: string, offset: number): void {
    this.#exchange.grows(id, digest, offset, this.#clock.now());
  }

  tell(id: string, { digest, size, outcome, from }: Tell): void {
    const wasIdle = this.#exchange.isIdle;
    if (outcome === 'has') this.#exchange.has(id, digest, size, this.#clock.now());
    else this.#exchange.failed(id, digest, this.#clock.now(), from);
    // An idle link is for whoever asks.
    this.#news.tell(this.#exchange.isIdle && !wasIdle ? undefined : [digest, id]);
  }

  /** Holds a question back until there is an order other than to wait, or too long. */
  async order(id: string, blob: BlobIdentity, signal: AbortSignal): Promise<Order> {
    const until = this.#clock.now() + HOLD_MS;
    for (;;) {
      const order = await this.#orderNow(id, blob);
      if (order.do !== 'wait' || this.#clock.now() >= until) return order;
      await this.#news.next({ about: [blob.digest, id], signal });
      signal.throwIfAborted();
    }
  }

  async #orderNow(id: string, blob: BlobIdentity): Promise<Order> {
    if (!this.#isGathered && this.#clock.now() - this.#openedAt < this.#gatherMs) return { do: 'wait' };
    const isKnown = this.#exchange.isFound(blob.digest) || (await this.#probes.ask(blob)) || this.#exchange.isFound(blob.digest);
    if (!isKnown) return { do: 'wait' };
    const order = this.#exchange.ask(id, blob, this.#clock.now());
    if (order.do !== 'copy') return order;
    return { do: 'copy', from: order.from.flatMap((holder) => this.#places.get(holder) ?? []) };
  }
}
