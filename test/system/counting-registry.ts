import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type HttpFront, LINK_SLICE, LinkPace, startHttpFront } from '@flotilla/control-plane/simulators';

/** One answer with bytes of a blob. */
export interface BlobTransfer {
  readonly digest: string;
  /** Program that asked, by its user agent. */
  readonly by: 'puller' | 'runtime';
  /** First byte asked for. */
  readonly from: number;
  /** Bytes that were asked for. */
  readonly asked: number;
  /** Bytes that were sent so far. */
  bytes: number;
}

type OnAsked = (digest: string) => void;

/** A registry's front that counts every byte of blobs, by who asked and when. */
export interface CountingRegistry extends HttpFront {
  readonly transfers: readonly BlobTransfer[];
  /** Requests of everybody. */
  readonly requests: number;
  /** Requests by the runtime, as `METHOD path`. */
  readonly runtimeRequests: readonly string[];
  /** Milliseconds and bytes of everything sent for blobs. */
  readonly sent: readonly (readonly [at: number, bytes: number])[];
  /** Bytes a second over all blobs; undefined for no bound. */
  rate: number | undefined;
  /** Blobs that get another first byte. */
  readonly corrupt: Set<string>;
  /** Called when a blob is asked for. */
  onAsked: OnAsked | undefined;
  /** Called before a request of the runtime, as `METHOD path`, goes on to the registry. */
  beforeRuntime: ((request: string) => Promise<void>) | undefined;
}

/** Starts the front of a registry. */
export async function startCountingRegistry(target: string): Promise<CountingRegistry> {
  const transfers: BlobTransfer[] = [];
  const runtimeRequests: string[] = [];
  const sent: [number, number][] = [];
  const pace = new LinkPace();
  const state = {
    rate: undefined as number | undefined,
    corrupt: new Set<string>(),
    requests: 0,
    onAsked: undefined as OnAsked | undefined,
    beforeRuntime: undefined as CountingRegistry['beforeRuntime'],
  };

  async function pass(answer: IncomingMessage, response: ServerResponse, transfer: BlobTransfer): Promise<void> {
    const closed = new AbortController();
    response.once('close', () => closed.abort());
    for await (const whole of answer as AsyncIterable<Buffer>) {
      for (let at = 0; at < whole.length && !response.destroyed; at += LINK_SLICE) {
        const piece = Buffer.from(whole.subarray(at, at + LINK_SLICE));
        if (state.corrupt.has(transfer.digest) && transfer.from + transfer.bytes === 0) piece[0] = (piece[0] ?? 0) ^ 1;
        if (state.rate !== undefined) await pace.pass(piece.length, state.rate);
        if (response.destroyed) return;
        sent.push([performance.now(), piece.length]);
        transfer.bytes += piece.length;
        if (!response.write(piece)) await once(response, 'drain', { signal: closed.signal });
      }
    }
    response.end();
  }

  const byOf = ({ headers }: IncomingMessage) => (/flotilla/.test(headers['user-agent'] ?? '') ? 'puller' : 'runtime');
  const front = await startHttpFront(target, {
    async answers(request) {
      state.requests += 1;
      if (byOf(request) === 'puller') return false;
      const asked = `${request.method} ${request.url}`;
      runtimeRequests.push(asked);
      await state.beforeRuntime?.(asked);
      return false;
    },
    passes(request, answer, response) {
      const digest = /\/blobs\/(sha256:[0-9a-f]{64})(?:\?|$)/.exec(request.url ?? '')?.[1];
      if (request.method !== 'GET' || digest === undefined) return void answer.pipe(response);
      const from = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
      const asked = Number(answer.headers['content-length']);
      const transfer: BlobTransfer = { digest, by: byOf(request), from, asked, bytes: 0 };
      transfers.push(transfer);
      state.onAsked?.(digest);
      void pass(answer, response, transfer).catch(() => response.destroy());
    },
  });
  return Object.assign(state, front, { transfers, runtimeRequests, sent });
}
