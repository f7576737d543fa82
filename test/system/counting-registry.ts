import { once } from 'node:events';
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

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
export interface CountingRegistry extends AsyncDisposable {
  readonly host: string;
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
  /** Cuts all connections. */
  cut(): void;
}

const PIECE = 16 * 1024;

/** Starts the front of a registry. */
export async function startCountingRegistry(target: string): Promise<CountingRegistry> {
  const transfers: BlobTransfer[] = [];
  const runtimeRequests: string[] = [];
  const sent: [number, number][] = [];
  const state = {
    rate: undefined as number | undefined,
    corrupt: new Set<string>(),
    freeAt: 0,
    requests: 0,
    onAsked: undefined as OnAsked | undefined,
    beforeRuntime: undefined as CountingRegistry['beforeRuntime'],
  };

  async function pass(answer: IncomingMessage, response: ServerResponse, transfer: BlobTransfer): Promise<void> {
    const closed = new AbortController();
    response.once('close', () => closed.abort());
    for await (const whole of answer as AsyncIterable<Buffer>) {
      for (let at = 0; at < whole.length && !response.destroyed; at += PIECE) {
        const piece = Buffer.from(whole.subarray(at, at + PIECE));
        if (state.corrupt.has(transfer.digest) && transfer.from + transfer.bytes === 0) piece[0] = (piece[0] ?? 0) ^ 1;
        if (state.rate !== undefined) {
          state.freeAt = Math.max(performance.now(), state.freeAt) + (piece.length * 1_000) / state.rate;
          await delay(state.freeAt - performance.now());
        }
        if (response.destroyed) return;
        sent.push([performance.now(), piece.length]);
        transfer.bytes += piece.length;
        if (!response.write(piece)) await once(response, 'drain', { signal: closed.signal });
      }
    }
    response.end();
  }

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    state.requests += 1;
    const by = /flotilla/.test(request.headers['user-agent'] ?? '') ? 'puller' : 'runtime';
    const asked = `${request.method} ${request.url}`;
    if (by === 'runtime') runtimeRequests.push(asked);
    if (by === 'runtime') await state.beforeRuntime?.(asked);
    const options = { method: request.method, headers: request.headers };
    const passed = forward(`${target}${request.url}`, options, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      const digest = /\/blobs\/(sha256:[0-9a-f]{64})(?:\?|$)/.exec(request.url ?? '')?.[1];
      if (request.method !== 'GET' || digest === undefined) return void answer.pipe(response);
      const from = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
      const transfer: BlobTransfer = { digest, by, from, asked: Number(answer.headers['content-length']), bytes: 0 };
      transfers.push(transfer);
      state.onAsked?.(digest);
      void pass(answer, response, transfer).catch(() => response.destroy());
    });
    response.on('close', () => passed.destroy());
    passed.on('error', () => response.destroy()).end();
  };
  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(state, {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    transfers,
    runtimeRequests,
    sent,
    cut: () => server.closeAllConnections(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
