import type { Clock } from '@flotilla/pace';
import type { BlobIdentity, Peer, Peers } from './peer-blobs.ts';

/** Milliseconds for which a node may give no answer: its silence is no word about what it has. */
const PATIENCE_MS = 15_000;

/** A blob that nodes are asked for. */
interface Question {
  readonly asked: Set<string>;
  /** Answers that are still to come. */
  readonly answers: Set<Promise<void>>;
  /** Since when nodes that were asked give no answer, by their ids. One that joins again and again gains no time. */
  readonly silentSince: Map<string, number>;
  /** One of them is to be asked again. */
  isOpen: boolean;
  /** Changes of the nodes until all of them were asked. */
  changes: number;
}

/** Dependencies of probes. */
interface ProbesOptions {
  readonly clock: Clock;
  /** Nodes that can be asked, by their ids. */
  readonly places: ReadonlyMap<string, Peer>;
  readonly hasBlob: Peers['hasBlob'];
  /** Called at once for each node that has the blob, however many wait for its answer. */
  readonly onHas: (id: string, blob: BlobIdentity) => void;
}

/** Asks nodes whether they have a blob, until each has answered once: an earlier run may have left it there. */
export class Probes {
  readonly #options: ProbesOptions;
  readonly #questions = new Map<string, Question>();
  /** Since when nodes give no answer about any blob, by their ids. */
  readonly #silentSince = new Map<string, number>();
  #changes = 0;

  constructor(options: ProbesOptions) {
    this.#options = options;
  }

  /**
   * Asks those that have not answered yet, and waits for every answer that is still to come.
   * @returns false while a node that gave no answer may have the blob
   */
  async ask(blob: BlobIdentity): Promise<boolean> {
    const question: Question = this.#questions.get(blob.digest) ?? openQuestion();
    this.#questions.set(blob.digest, question);
    if (question.changes !== this.#changes || question.isOpen) {
      question.isOpen = false;
      for (const peer of this.#options.places.values()) if (!question.asked.has(peer.id)) this.#ask(blob, peer, question);
    }
    question.changes = this.#changes;
    await Promise.all(question.answers);
    return !question.isOpen;
  }

  #ask(blob: BlobIdentity, peer: Peer, question: Question): void {
    const { hasBlob, onHas } = this.#options;
    question.asked.add(peer.id);
    const answer = hasBlob(peer, blob.digest).then((has) => {
      question.answers.delete(answer);
      if (has === undefined) return this.#noteSilence(peer.id, question);
      this.#silentSince.delete(peer.id);
      if (has) onHas(peer.id, blob);
    });
    question.answers.add(answer);
  }

  /** A node that is busy is asked again; one that does not answer for long holds up nobody. */
  #noteSilence(id: string, question: Question): void {
    const now = this.#options.clock.now();
    const silences = [this.#silentSince, question.silentSince];
    for (const since of silences) since.set(id, since.get(id) ?? now);
    if (silences.some((since) => now - (since.get(id) ?? now) >= PATIENCE_MS)) return;
    question.asked.delete(id);
    question.isOpen = true;
  }

  /** A node that has come, or come again, may have other blobs. */
  forget(id: string): void {
    this.#changes += 1;
    this.#silentSince.delete(id);
    for (const { asked } of this.#questions.values()) asked.delete(id);
  }
}

const openQuestion = (): Question => ({ asked: new Set(), answers: new Set(), silentSince: new Map(), isOpen: false, changes: -1 });
