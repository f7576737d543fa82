import type { BlobIdentity } from './coordination.ts';
import type { Peer, Peers } from './peer-blobs.ts';

/** A blob that nodes are asked for. */
interface Question {
  readonly asked: Set<string>;
  /** Answers that are still to come. */
  readonly answers: Set<Promise<void>>;
}

/** Asks nodes once each whether they have a blob: an earlier run may have left it there. */
export class Probes {
  readonly #peers: Pick<Peers, 'hasBlob'>;
  readonly #onHas: (id: string, blob: BlobIdentity) => void;
  readonly #questions = new Map<string, Question>();

  /** @param onHas called at once for each node that has the blob, however many wait for its answer */
  constructor(peers: Pick<Peers, 'hasBlob'>, onHas: (id: string, blob: BlobIdentity) => void) {
    this.#peers = peers;
    this.#onHas = onHas;
  }

  /** Asks those that were not asked yet, and waits for every answer that is still to come. */
  async ask(blob: BlobIdentity, peers: readonly Peer[]): Promise<void> {
    const question: Question = this.#questions.get(blob.digest) ?? { asked: new Set(), answers: new Set() };
    this.#questions.set(blob.digest, question);
    for (const peer of peers) if (!question.asked.has(peer.id)) this.#ask(blob, peer, question);
    await Promise.all(question.answers);
  }

  #ask(blob: BlobIdentity, peer: Peer, { asked, answers }: Question): void {
    asked.add(peer.id);
    const answer = this.#peers.hasBlob(peer, blob.digest).then((has) => {
      answers.delete(answer);
      if (has) this.#onHas(peer.id, blob);
    });
    answers.add(answer);
  }

  /** A node that has come again may have other blobs. */
  forget(id: string): void {
    for (const { asked } of this.#questions.values()) asked.delete(id);
  }
}
