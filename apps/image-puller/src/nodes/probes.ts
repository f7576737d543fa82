import type { BlobIdentity } from './coordination.ts';
import type { Peer, Peers } from './peer-blobs.ts';

/** A blob that nodes are asked for. */
interface Question {
  readonly asked: Set<string>;
  /** Answers that are still to come. */
  readonly answers: Set<Promise<void>>;
  /** Changes of the nodes until all of them were asked. */
  changes: number;
}

/** Dependencies of probes. */
interface ProbesOptions {
  /** Nodes that can be asked, by their ids. */
  readonly places: ReadonlyMap<string, Peer>;
  readonly hasBlob: Peers['hasBlob'];
  /** Called at once for each node that has the blob, however many wait for its answer. */
  readonly onHas: (id: string, blob: BlobIdentity) => void;
}

/** Asks nodes once each whether they have a blob: an earlier run may have left it there. */
export class Probes {
  readonly #options: ProbesOptions;
  readonly #questions = new Map<string, Question>();
  #changes = 0;

  constructor(options: ProbesOptions) {
    this.#options = options;
  }

  /** Asks those that were not asked yet, and waits for every answer that is still to come. */
  async ask(blob: BlobIdentity): Promise<void> {
    const question: Question = this.#questions.get(blob.digest) ?? { asked: new Set(), answers: new Set(), changes: -1 };
    this.#questions.set(blob.digest, question);
    if (question.changes !== this.#changes)
      for (const peer of this.#options.places.values()) if (!question.asked.has(peer.id)) this.#ask(blob, peer, question);
    question.changes = this.#changes;
    await Promise.all(question.answers);
  }

  #ask(blob: BlobIdentity, peer: Peer, { asked, answers }: Question): void {
    const { hasBlob, onHas } = this.#options;
    asked.add(peer.id);
    const answer = hasBlob(peer, blob.digest).then((has) => {
      answers.delete(answer);
      if (has) onHas(peer.id, blob);
    });
    answers.add(answer);
  }

  /** A node that has come, or come again, may have other blobs. */
  forget(id: string): void {
    this.#changes += 1;
    for (const { asked } of this.#questions.values()) asked.delete(id);
  }
}
