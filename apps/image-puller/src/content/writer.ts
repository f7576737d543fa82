import type { Clock } from '@flotilla/pace';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { z } from 'zod';
import { PullerErrorCode, StoreError } from '../errors.ts';
import type { CriConnection } from '../socket/connection.ts';
import { Containerd, containerdMetadata, WriteAction } from '../socket/containerd-protocol.ts';

const WriteAnswer = z.object({ offset: z.number() });

/** Unanswered messages: they hide the way to containerd and back, and bound the memory. */
const WINDOW = 2;
/** Time for an answer: opening a long ingest reads it, and a commit waits for the disk. */
const ANSWER_MS = 120_000;
/** Time for the end of a stream, after which its ref is free. */
const CLOSE_MS = 5_000;

interface Waiting {
  readonly resolve: (offset: number) => void;
  readonly reject: (error: unknown) => void;
}

/** Part of a blob's descriptor that containerd checks. */
export interface ExpectedBlob {
  readonly digest: string;
  readonly size: number;
}

/** One write of a blob into containerd's content store. What was answered stays in the ingest, whatever ends the write. */
export class ContentWriter implements AsyncDisposable {
  readonly #connection: CriConnection;
  readonly #stream: ClientDuplexStream<object, object>;
  readonly #signal: AbortSignal;
  readonly #clock: Clock;
  readonly #waiting: Waiting[] = [];
  readonly #pending: Promise<number>[] = [];
  readonly #closed: Promise<void>;
  readonly #cancel = (): void => this.#stream.cancel();
  #failure: { readonly error: unknown } | undefined;

  /** Opens the stream; the lease holds what is written. Without one nothing is to stay. */
  constructor(connection: CriConnection, { lease, signal, clock }: { lease?: string; signal: AbortSignal; clock: Clock }) {
    this.#connection = connection;
    this.#signal = signal;
    this.#clock = clock;
    this.#stream = connection.openDuplex(Containerd.contentWrite, { metadata: containerdMetadata(lease) });
    this.#stream.on('data', (answer) => this.#answered(answer));
    this.#stream.on('error', (error) => this.#fail(connection.translate(error)));
    this.#stream.on('end', () => this.#fail(this.#broken('ended')));
    this.#closed = new Promise((resolve) => this.#stream.once('status', () => resolve()));
    signal.addEventListener('abort', this.#cancel, { once: true });
    if (signal.aborted) this.#cancel();
  }

  /**
   * Opens the ingest of a blob and returns its length so far.
   * @throws StoreError, ALREADY_EXISTS for a stored blob and UNAVAILABLE for an ingest that another writer has
   */
  open(ref: string, { digest, size }: ExpectedBlob): Promise<number> {
    return this.#send({ action: WriteAction.stat, ref, total: size, expected: digest });
  }

  /** Sends bytes, and waits while too many messages are unanswered. */
  async write(offset: number, data: Buffer): Promise<void> {
    this.#pending.push(this.#send({ action: WriteAction.write, offset, data }));
    while (this.#pending.length >= WINDOW) await this.#pending.shift();
  }

  /** Waits until all bytes are in the ingest. */
  async settle(): Promise<void> {
    while (this.#pending.length > 0) await this.#pending.shift();
  }

  /** Ends the ingest: containerd compares size and digest, and stores the blob. */
  async commit({ digest, size }: ExpectedBlob): Promise<void> {
    await this.settle();
    await this.#send({ action: WriteAction.commit, offset: size, total: size, expected: digest });
  }

  /** Ends the stream and waits until the ref is free. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#signal.removeEventListener('abort', this.#cancel);
    this.#stream.end();
    using _late = this.#clock.setTimer(CLOSE_MS, this.#cancel);
    await this.#closed;
  }

  #send(message: object): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    if (this.#failure) {
      promise.catch(() => undefined);
      reject(this.#failure.error);
      return promise;
    }
    const timer = this.#clock.setTimer(ANSWER_MS, () => this.#fail(this.#broken(`gave no answer in ${ANSWER_MS / 1_000} s`)));
    this.#waiting.push({ resolve, reject });
    this.#stream.write(message);
    const answered = promise.finally(() => timer[Symbol.dispose]());
    // A failure is thrown by the next wait; until then nobody waits, and the process would end.
    answered.catch(() => undefined);
    return answered;
  }

  #answered(answer: object): void {
    const parsed = WriteAnswer.safeParse(answer);
    if (parsed.success) this.#waiting.shift()?.resolve(parsed.data.offset);
    else this.#fail(this.#broken('answered in an unknown way'));
  }

  #fail(error: unknown): void {
    this.#failure ??= { error: this.#signal.aborted ? this.#signal.reason : error };
    for (const { reject } of this.#waiting.splice(0)) reject(this.#failure.error);
    this.#stream.cancel();
  }

  #broken(what: string): StoreError {
    const message = `the content store of the runtime at ${this.#connection.socket} ${what}`;
    return new StoreError(PullerErrorCode.storeUnreachable, message, { transient: true });
  }
}
