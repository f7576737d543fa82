import type { Peer, Peers } from './peer-blobs.ts';

/** Whether nodes have a blob; a promise while one is asked. */
type Answers = Map<string, boolean | Promise<void>>;

/** Asks nodes once each whether they have a blob: an earlier run may have left it there. */
export class Probes {
  readonly #peers: Pick<Peers, 'hasBlob'>;
  /** Answers by digest, and there by node. */
  readonly #answers = new Map<string, Answers>();

  constructor(peers: Pick<Peers, 'hasBlob'>) {
    this.#peers = peers;
  }

  /**
   * Asks those that were not asked yet; all callers wait for the same questions.
   * @returns ids of those that have the blob by an answer of now: one that was told before may have been found broken since
   */
  async ask(digest: string, peers: readonly Peer[]): Promise<string[]> {
    const answers: Answers = this.#answers.get(digest) ?? new Map();
    this.#answers.set(digest, answers);
    for (const peer of peers) if (!answers.has(peer.id)) this.#ask(digest, peer, answers);
    const asked = peers.map(({ id }) => ({ id, answer: answers.get(id) })).filter(({ answer }) => answer instanceof Promise);
    await Promise.all(asked.map(async ({ answer }) => await answer));
    return asked.map(({ id }) => id).filter((id) => answers.get(id) === true);
  }

  #ask(digest: string, peer: Peer, answers: Answers): void {
    const answer: Promise<void> = this.#peers.hasBlob(peer, digest).then((has) => {
      // A node that was forgotten meanwhile is asked anew.
      if (answers.get(peer.id) === answer) answers.set(peer.id, has);
    });
    answers.set(peer.id, answer);
  }

  /** A node that has come again may have other blobs. */
  forget(id: string): void {
    for (const answers of this.#answers.values()) answers.delete(id);
  }
}
