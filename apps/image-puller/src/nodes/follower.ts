import { errorMessage } from '@flotilla/api';
import type { PullerReport } from '@flotilla/api/ran';
import { BandwidthLimit, type Clock, pause } from '@flotilla/pace';
import type { Logger } from '@flotilla/runtime';
import type { z } from 'zod';
import type { LinkCap } from '../link-cap.ts';
import { ChannelClient, ChannelError, createChannelKey, serveChannel } from './channel.ts';
import { Beaten, Bytes, HandedOver, Joined, type LeadPlace, Nothing, Order } from './messages.ts';
import { type BlobSharing, createBlobServer, Peers, readPartials, type SharedBlobs } from './peer-blobs.ts';

/** Name of this side of the blobs' channel. */
const NODE = 'node';
const BEAT_MS = 1_000;
const CALL_MS = 15_000;
/** Milliseconds without an answer after which the lead is lost. */
const LOST_MS = 60_000;
/** Milliseconds without an answer after which another lead is looked for. */
const REPLACED_AFTER_MS = 5_000;
const RETRY_MS = 1_000;
/** A turn of the cap may be long in coming. */
const BYTES_MS = 300_000;
const UNKNOWN = 401;
/** Questions at once; a blob whose question waits for its turn is not copied yet. */
const ASKS = 24;

/** Dependencies of a run that follows a lead. */
interface FollowerOptions {
  readonly nodeName: string;
  readonly lead: LeadPlace;
  readonly address: string;
  readonly blobPort: number;
  /** Reads the token that shows who this pod is. */
  readonly readToken: () => Promise<string>;
  readonly report: () => PullerReport;
  /** True once another lead has taken the place of this one. */
  readonly isReplaced: () => Promise<boolean>;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Follows the lead of the spoke for one run: asks it for every blob and every byte of the link, and reports to it. */
export class Follower implements LinkCap, AsyncDisposable {
  readonly #options: FollowerOptions;
  readonly #stack = new AsyncDisposableStack();
  readonly #client: ChannelClient;
  /** Questions about blobs are held back until there is an answer, so they have connections of their own. */
  readonly #asks: ChannelClient;
  /** Turns of the cap are long in coming, and hold up no report. */
  readonly #turns: ChannelClient;
  readonly #lost = new AbortController();
  readonly #fetching = new Map<string, number>();
  readonly #uncapped: BandwidthLimit;
  #bytesPerSecond: number | undefined;
  #peers: Peers | undefined;
  #runKey = Buffer.alloc(0);
  #blobs: SharedBlobs | undefined;
  #blobPort: number | undefined;
  #isOpen = false;
  /** True once the lead has been told of `isOpen`, and with it of the port. */
  #isKnownOpen = false;
  #answeredAt: number;
  #exitCode: number | undefined;
  #isOver = false;

  /** @throws ChannelError for a lead whose key is no key */
  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#answeredAt = options.clock.now();
    this.#uncapped = new BandwidthLimit(undefined, options.clock);
    const key = createChannelKey();
    const psk = key.secretWith(options.lead.key);
    if (!psk) throw new ChannelError('the key of the lead cannot be used');
    const credential = { identity: key.publicKey, psk, from: options.address };
    this.#client = this.#stack.use(new ChannelClient(options.lead, credential));
    this.#asks = this.#stack.use(new ChannelClient(options.lead, credential, ASKS));
    this.#turns = this.#stack.use(new ChannelClient(options.lead, credential));
  }

  /** Aborts when the lead is lost; what is pulled stays. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Joins the run; true when the lead fills this node itself. */
  async join(): Promise<boolean> {
    const { nodeName, readToken } = this.#options;
    const place = this.#blobPort === undefined ? {} : { port: this.#blobPort };
    const isOpen = this.#isOpen;
    const partials = await readPartials(this.#blobs);
    const join = { token: (await readToken()).trim(), node: nodeName, isOpen, partials, ...place };
    const { key, isBeside, bytesPerSecond } = await this.#client.post('/join', join, Joined, {
      timeoutMs: CALL_MS,
      signal: this.#options.signal,
    });
    const runKey = Buffer.from(key, 'base64url');
    if (!runKey.equals(this.#runKey)) {
      this.#peers?.[Symbol.dispose]();
      this.#runKey = runKey;
      this.#peers = new Peers({ identity: NODE, psk: runKey });
    }
    this.#answeredAt = this.#options.clock.now();
    this.#bytesPerSecond = bytesPerSecond;
    this.#isKnownOpen = isOpen;
    return isBeside;
  }

  /** Reports until the follower ends. */
  start(): void {
    const ended = new AbortController();
    this.#stack.defer(() => ended.abort());
    const report = async (): Promise<void> => {
      while (!ended.signal.aborted) {
        await this.#beat();
        await pause(this.#options.clock, BEAT_MS, ended.signal);
      }
    };
    void report();
  }

  async #beat(): Promise<void> {
    const { report, signal, clock, logger } = this.#options;
    const exitCode = this.#exitCode;
    const beat = { report: report(), fetching: Object.fromEntries(this.#fetching), ...(exitCode !== undefined && { exitCode }) };
    try {
      const { isOver, bytesPerSecond } = await this.#client.post('/beat', beat, Beaten, { timeoutMs: CALL_MS, signal });
      this.#answeredAt = clock.now();
      this.#isOver ||= isOver;
      this.#bytesPerSecond = bytesPerSecond;
      if (this.#isKnownOpen !== this.#isOpen) await this.join();
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ChannelError && error.status === UNKNOWN) await this.join().catch(() => undefined);
      if (this.#lost.signal.aborted || !(await this.#isLost())) return;
      logger.warn({ err: errorMessage(error) }, 'The lead is lost');
      this.#lost.abort(new ChannelError('the puller that leads this spoke does not answer any more'));
    }
  }

  /** A lead that answers no more is waited for, unless another has come: its node may have been rebooted. */
  async #isLost(): Promise<boolean> {
    const { clock, isReplaced } = this.#options;
    const silentMs = clock.now() - this.#answeredAt;
    if (silentMs > LOST_MS) return true;
    return silentMs > REPLACED_AFTER_MS && (await isReplaced().catch(() => false));
  }

  /** Reports the verdict, and serves blobs until nobody takes any or the lead is lost. */
  async serveUntilOver(exitCode: number): Promise<void> {
    const { clock, signal } = this.#options;
    this.#exitCode = exitCode;
    void this.#beat();
    while (!this.#isOver && !this.#lost.signal.aborted && !signal.aborted) await pause(clock, BEAT_MS / 2, signal);
  }

  /** The cap of the link, which the lead spends: under one no byte crosses without it. */
  get bytesPerSecond(): number | undefined {
    return this.#bytesPerSecond;
  }

  async take(bytes: number, signal?: AbortSignal): Promise<number> {
    if (this.#bytesPerSecond === undefined) return this.#uncapped.take(bytes, signal);
    return (await this.#call('/bytes', { bytes }, Bytes, { timeoutMs: BYTES_MS, signal })).bytes;
  }

  sharing(): BlobSharing {
    return {
      open: (blobs) => this.#open(blobs),
      source: async (blob, signal) => {
        for (;;) {
          const order = await this.#call('/ask', { digest: blob.digest, size: blob.size }, Order, { timeoutMs: CALL_MS, signal });
          if (order.do === 'fetch') this.#fetching.set(blob.digest, 0);
          if (order.do !== 'wait') return order.do === 'fetch' ? 'registry' : order.from;
        }
      },
      stream: (peer, blob, options) => {
        if (!this.#peers) throw new ChannelError('no lead has named other nodes');
        return this.#peers.stream(peer, blob, options);
      },
      grew: (digest, offset) => void this.#fetching.set(digest, offset),
      has: ({ digest, size }) => this.#tell({ digest, size, outcome: 'has' }),
      failed: ({ digest, size }, from) => this.#tell({ digest, size, outcome: 'failed', ...(from !== undefined && { from }) }),
      handOver: async (signal) => {
        while ((await this.#call('/hand-over', {}, HandedOver, { timeoutMs: CALL_MS, signal })).isNeeded);
      },
    };
  }

  async #open(blobs: SharedBlobs | undefined): Promise<void> {
    const { address, blobPort } = this.#options;
    if (blobs && this.#blobPort === undefined) {
      const handle = createBlobServer(blobs);
      const server = this.#stack.use(await serveChannel({ address, port: blobPort, keyOf: () => this.#runKey, handle }));
      this.#blobPort = server.port;
    }
    this.#blobs = blobs;
    this.#isOpen = true;
    await this.join().catch(() => undefined);
  }

  async #tell(told: { digest: string; size: number; outcome: 'has' | 'failed'; from?: string }): Promise<void> {
    this.#fetching.delete(told.digest);
    await this.#call('/tell', told, Nothing, { timeoutMs: CALL_MS });
  }

  /** Calls the lead, and again while it does not answer: without it nothing crosses the link. */
  async #call<T>(
    path: string,
    body: unknown,
    schema: z.ZodType<T>,
    { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal | undefined },
  ): Promise<T> {
    const { clock } = this.#options;
    const signals = [this.#options.signal, this.#lost.signal, ...(signal ? [signal] : [])];
    const stop = AbortSignal.any(signals);
    for (;;) {
      try {
        return await this.#clientFor(path).post(path, body, schema, { timeoutMs, signal: stop });
      } catch (error) {
        stop.throwIfAborted();
        if (error instanceof ChannelError && error.status === UNKNOWN) await this.join().catch(() => undefined);
        await pause(clock, RETRY_MS, stop);
        stop.throwIfAborted();
      }
    }
  }

  #clientFor(path: string): ChannelClient {
    if (path === '/ask') return this.#asks;
    return path === '/bytes' ? this.#turns : this.#client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
    this.#peers?.[Symbol.dispose]();
  }
}
