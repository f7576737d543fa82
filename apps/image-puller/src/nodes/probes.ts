import type { Peer, Peers } from './peer-blobs.ts';

/** Asks nodes once each whether they have a blob: an earlier run may have left it there. */
export class Probes {
  readonly #peers: Pick<Peers, 'hasBlob'>;
  /** Nodes that were asked, by digest. */
  readonly #asked = new Map<string, Set<string>>();

  constructor(peers: Pick<Peers, 'hasBlob'>) {
    this.#peers = peers;
  }

  /** Asks those that were not asked yet. @returns ids of those that have the blob */
  async ask(digest: string, peers: readonly Peer[]): Promise<string[]> {
    const asked = this.#asked.get(digest) ?? new Set<string>();
    this.#asked.set(digest, asked);
    const ask = async (peer: Peer): Promise<string[]> => {
      const has = await this.#peers.hasBlob(peer, digest);
      asked.add(peer.id);
      return has ? [peer.id] : [];
    };
    return (await Promise.all(peers.filter(({ id }) => !asked.has(id)).map(ask))).flat();
  }

  /** A node that has come again may have other blobs. */
  forget(id: string): void {
    for (const asked of this.#asked.values()) asked.delete(id);
  }
}
