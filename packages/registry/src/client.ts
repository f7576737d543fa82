import { createHash, type Hash } from 'node:crypto';
import { readBounded } from '@flotilla/http';
import { type Clock, pause, systemClock } from '@flotilla/pace';
import { drainBody, type StallLimits } from './body.ts';
import type { Bandwidth, BlobRanges, RegistryClientOptions } from './client-options.ts';
import { digestOf } from './digest-folder.ts';
import { listAddresses } from './endpoint.ts';
import { mismatchError, RegistryError, RegistryErrorCode, tooLargeError } from './errors.ts';
import { formatImageReference, type ImageReference, isDigest } from './image-reference.ts';
import { type Descriptor, MANIFEST_ACCEPT, MAX_MANIFEST_BYTES, manifestTypeOf } from './manifest.ts';
import { Mirrors, type ReadAnswer, type RepositoryCall } from './mirrors.ts';
import { answererOf, decodedBody, RANGE_REFUSED, requireLength, requireNoPage } from './response.ts';
import { toNetworkError } from './transport.ts';

interface FetchedManifest {
  digest: string;
  mediaType: string;
  bytes: Buffer;
}

/** Bytes of progress that reset the count of failures inside one blob. */
const PROGRESS_BYTES = 64 * 1024;

/** An OCI distribution client: credentials, mirrors, retries, verification. Close it when done. */
export class RegistryClient {
  readonly #mirrors: Mirrors;
  readonly #stall: StallLimits;
  readonly #bandwidth: Bandwidth | undefined;
  readonly #clock: Clock;
  #bytesRead = 0;

  constructor(options: RegistryClientOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#bandwidth = options.bandwidth;
    this.#mirrors = new Mirrors(options, this.#clock);
    this.#stall = options.stall ?? { windowMs: 60_000, minBytes: 16 * 1024 };
  }

  /**
   * Fetches the reference's document, at most 4 MiB, verified against the reference's digest or the server's header.
   * @throws RegistryError any code; `image` and `host` name the place.
   */
  async fetchManifest(reference: ImageReference, options: { signal?: AbortSignal } = {}): Promise<FetchedManifest> {
    const image = formatImageReference(reference);
    return this.#mirrors.call(reference, this.#manifestCall('GET', reference, options.signal), async (answer, endpoint) => {
      const details = { image, host: endpoint.host };
      const bytes = await readBounded(decodedBody(answer), MAX_MANIFEST_BYTES, {
        tooLarge: () => tooLargeError(`manifest of ${image}`, MAX_MANIFEST_BYTES, details),
      });
      // Nobody knows the size before; what follows waits for it.
      await this.#spend(bytes.length, options.signal);
      requireNoPage(answer, { what: `manifest of ${image}`, host: endpoint.host, first: bytes });
      const digest = digestOf(bytes);
      const header = answer.headers['docker-content-digest'] ?? '';
      const expected = reference.digest ?? (isDigest(header) ? header : digest);
      if (digest !== expected) throw mismatchError(`manifest of ${image}`, { expected, found: digest, ...details });
      return { digest, mediaType: manifestTypeOf(bytes, answer.headers['content-type'], details), bytes };
    });
  }

  /** Lists every location of an image as `host/repository`: its own name and the mirrors of the rules. */
  placesOf(reference: ImageReference): ReadonlySet<string> {
    return this.#mirrors.placesOf(reference);
  }

  /** Returns the reference's current digest without its content; undefined when the registry lacks it. */
  async headManifest(reference: ImageReference, options: { signal?: AbortSignal } = {}): Promise<string | undefined> {
    const call = this.#manifestCall('HEAD', reference, options.signal);
    try {
      return await this.#mirrors.call(reference, call, async (answer) => answer.headers['docker-content-digest']);
    } catch (error) {
      if (error instanceof RegistryError && error.code === RegistryErrorCode.notFound) return undefined;
      throw error;
    }
  }

  async readBlob(reference: ImageReference, descriptor: Descriptor, options: { maxBytes: number; signal?: AbortSignal }): Promise<Buffer> {
    if (descriptor.size > options.maxBytes) {
      const image = formatImageReference(reference);
      const message = `blob ${descriptor.digest} of ${image} has ${descriptor.size} bytes; at most ${options.maxBytes} are read`;
      throw new RegistryError(RegistryErrorCode.tooLarge, message, { image, host: reference.host });
    }
    return readBounded(this.streamBlob(reference, descriptor, { signal: options.signal }), options.maxBytes);
  }

  /**
   * Streams a blob from `offset`, resumes with `Range` after broken connections, and verifies size and digest at the end. The last bytes are valid
   * only when the generator returns. `hash` includes the bytes before `offset` already.
   */
  async *streamBlob(
    reference: ImageReference,
    descriptor: Descriptor,
    { offset = 0, hash = createHash('sha256'), signal }: { offset?: number; hash?: Hash; signal?: AbortSignal } = {},
  ): AsyncGenerator<Buffer> {
    const state = { position: offset, host: reference.host };
    for await (const chunk of this.#stream(reference, descriptor, { state, signal })) {
      hash.update(chunk);
      yield chunk;
    }
    const found = `sha256:${hash.digest('hex')}`;
    if (found === descriptor.digest) return;
    const image = formatImageReference(reference);
    // The next try asks elsewhere first.
    this.#mirrors.penalize(state.host);
    throw mismatchError(`blob of ${image}`, { image, host: state.host, expected: descriptor.digest, found });
  }

  /** Streams a blob from `offset` by ranges and resumes as `streamBlob` does, for a store that compares the digest itself. */
  streamRanges(
    reference: ImageReference,
    descriptor: Descriptor,
    { offset, ranges, signal }: { offset: number; ranges: BlobRanges; signal?: AbortSignal },
  ): AsyncGenerator<Buffer> {
    return this.#stream(reference, descriptor, { state: { position: offset, host: reference.host }, ranges, signal });
  }

  async *#stream(reference: ImageReference, descriptor: Descriptor, { state, ranges, signal }: StreamOptions): AsyncGenerator<Buffer> {
    const tries = { mark: state.position, failures: 0 };
    while (state.position < descriptor.size) {
      await ranges?.before();
      try {
        const wanted = Math.min(descriptor.size - state.position, ranges?.bytes ?? descriptor.size);
        const end = state.position + ((await this.#bandwidth?.take(wanted, signal)) ?? wanted);
        yield* this.#readOnce(reference, descriptor, { state, end, signal });
      } catch (error) {
        const failure = toNetworkError(error, { image: formatImageReference(reference), host: state.answerer ?? state.host, signal });
        const moved = state.position - tries.mark >= PROGRESS_BYTES;
        tries.failures = moved ? 1 : tries.failures + 1;
        if (moved) tries.mark = state.position;
        const waitMs = this.#mirrors.delayMs(failure, tries.failures);
        if (waitMs === undefined) throw failure;
        this.#mirrors.penalize(state.host);
        await pause(this.#clock, waitMs, signal);
      }
    }
  }

  /** Pays for bytes that have come already. */
  async #spend(bytes: number, signal: AbortSignal | undefined): Promise<void> {
    for (let left = bytes; this.#bandwidth && left > 0; ) left -= await this.#bandwidth.take(left, signal);
  }

  /** Reads a blob over one connection, from `state.position` to `end`, or to its own end where the server knows no ranges. */
  async *#readOnce(reference: ImageReference, descriptor: Descriptor, { state, end, signal }: StreamOptions & { end: number }) {
    const opened = await this.#openBlob(reference, descriptor, { offset: state.position, end, signal });
    state.host = opened.host;
    const answerer = answererOf(opened.answer, opened.host);
    state.answerer = answerer;
    let skip = opened.skip;
    for await (const whole of drainBody(opened.body, this.#stall)) {
      if (state.position === 0) requireNoPage(opened.answer, { what: `blob ${descriptor.digest}`, host: state.host, first: whole });
      const chunk = skip > 0 ? whole.subarray(skip) : whole;
      skip -= whole.length - chunk.length;
      // Bytes that are there already cross the link once more.
      if (chunk.length < whole.length) await this.#spend(whole.length - chunk.length, signal);
      if (chunk.length === 0) continue;
      if (state.position + chunk.length > descriptor.size) throw tooLong(descriptor, reference, answerer);
      if (state.position >= end) await this.#spend(chunk.length, signal);
      state.position += chunk.length;
      this.#bytesRead += chunk.length;
      yield chunk;
    }
    if (state.position < end) throw new Error(`blob ${descriptor.digest} ended at byte ${state.position} of ${descriptor.size}`);
  }

  /** Asks for a closed range, which more registries know than an open one, and for the whole blob where the range is refused. */
  async #openBlob(reference: ImageReference, descriptor: Descriptor, { offset, end, signal }: BlobRange) {
    const addresses = listAddresses(descriptor);
    const open = (headers: { range: string } | undefined) => {
      const call = { method: 'GET', path: `blobs/${descriptor.digest}`, headers, signal, isProven: true, addresses } as const;
      return this.#mirrors.call(reference, call, async (answer, { host }) => {
        requireNoPage(answer, { what: `blob ${descriptor.digest}`, host });
        requireLength(answer, descriptor, host);
        const start = answer.status === 206 ? /^bytes (\d+)-/.exec(answer.headers['content-range'] ?? '')?.[1] : '0';
        // A server without ranges sends all bytes again (200), so known ones are skipped.
        if (start === undefined || Number(start) > offset) {
          answer.body.destroy();
          const message = `${host} answered another range than bytes ${offset}-${end - 1}`;
          throw new RegistryError(RegistryErrorCode.badResponse, message, { host, status: RANGE_REFUSED });
        }
        return { answer, body: answer.status === 206 ? answer.body : decodedBody(answer), skip: offset - Number(start), host };
      });
    };
    if (offset === 0 && end === descriptor.size) return open(undefined);
    try {
      return await open({ range: `bytes=${offset}-${end - 1}` });
    } catch (error) {
      if (!(error instanceof RegistryError) || !refusesRanges(error)) throw error;
      return open(undefined);
    }
  }

  /** Calls the reference's own registry, never a mirror, with retries. For pushes. */
  callSource<T>(reference: ImageReference, call: RepositoryCall, read: ReadAnswer<T>): Promise<T> {
    return this.#mirrors.callSource(reference, call, read);
  }

  get bytesRead(): number {
    return this.#bytesRead;
  }

  #manifestCall(method: 'GET' | 'HEAD', { digest, tag = 'latest' }: ImageReference, signal: AbortSignal | undefined): RepositoryCall {
    const headers = { accept: MANIFEST_ACCEPT };
    const deadlineMs = this.#mirrors.documentMs;
    return { method, path: `manifests/${digest ?? tag}`, headers, deadlineMs, signal, isProven: digest !== undefined };
  }

  async close(): Promise<void> {
    await this.#mirrors.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

interface StreamOptions {
  /** Place in the blob; of the last connection the server that was asked, and the one that answered, which may be its storage. */
  state: { position: number; host: string; answerer?: string };
  ranges?: BlobRanges | undefined;
  signal?: AbortSignal | undefined;
}

interface BlobRange {
  offset: number;
  end: number;
  signal?: AbortSignal | undefined;
}

/** Also a mirror's refusal counts: the source after it may be one that nobody reaches. */
const refusesRanges = (error: RegistryError): boolean => [error, ...error.earlier].some(({ status }) => status === RANGE_REFUSED);

function tooLong({ digest, size }: Descriptor, reference: ImageReference, host: string): RegistryError {
  const image = formatImageReference(reference);
  const message = `blob ${digest} of ${image} from ${host} is longer than its ${size} bytes`;
  return new RegistryError(RegistryErrorCode.tooLarge, message, { image, host });
}
