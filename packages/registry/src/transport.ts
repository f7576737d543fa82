import type { Readable } from 'node:stream';
import { getCACertificates } from 'node:tls';
import { errorMessage } from '@flotilla/api';
import { Agent, request } from 'undici';
import { abortedError, RegistryError, RegistryErrorCode } from './errors.ts';

/** Bounds of every call, milliseconds. */
export interface Timeouts {
  /** TCP and TLS set-up. Default 10 s. */
  connectMs: number;
  /** From the request to the answer's headers. Default 30 s. */
  headersMs: number;
  /** Silence inside a body. Default 30 s. */
  bodyIdleMs: number;
  /** A whole small answer: manifest, token, upload step. Default 60 s. */
  documentMs: number;
}

export const defaultTimeouts: Timeouts = { connectMs: 10_000, headersMs: 30_000, bodyIdleMs: 30_000, documentMs: 60_000 };

/** One HTTP request, before redirects. */
export interface Call {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH';
  url: URL;
  headers?: Record<string, string>;
  body?: string | Buffer | Readable;
  signal?: AbortSignal;
  /** Bound of the whole answer, body included, milliseconds; default none (blobs). */
  deadlineMs?: number;
  /** Named in errors. */
  image: string;
}

/** An answer whose body has not been read. */
export interface Answer {
  status: number;
  headers: Record<string, string | undefined>;
  /** Must be read or destroyed. */
  body: Readable;
  /** Where the answer came from, after redirects. */
  url: URL;
  /** A redirect led to another server; its refusals say nothing about our credentials. */
  redirected: boolean;
}

const MAX_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Sends single requests: connections, trust, time-outs and redirects; no retries and no credentials of its own. */
export class Transport {
  readonly #agent: Agent;
  readonly #timeouts: Timeouts;
  readonly #userAgent: string;

  constructor(options: { ca?: string; timeouts: Timeouts; userAgent: string }) {
    const ca = options.ca === undefined ? undefined : [...getCACertificates('default'), options.ca];
    this.#timeouts = options.timeouts;
    this.#userAgent = options.userAgent;
    // HTTP/1.1: one blob per connection, so a broken connection costs one blob's bytes in flight and not all of them.
    this.#agent = new Agent({ allowH2: false, connect: { ca, timeout: options.timeouts.connectMs } });
  }

  /**
   * Follows up to five redirects; `Authorization` is dropped when the host changes and TLS is never given up.
   * @throws RegistryError `FLOTILLA_REGISTRY_UNREACHABLE`, `_UNTRUSTED`, `_BAD_RESPONSE`, `_ABORTED`.
   */
  async send(call: Call): Promise<Answer> {
    let { url } = call;
    let headers: Record<string, string> = { 'user-agent': this.#userAgent, ...call.headers };
    for (let hops = 0; ; hops++) {
      const answer = await this.#once({ ...call, url, headers });
      const location = answer.headers.location;
      const followable = (call.method === 'GET' || call.method === 'HEAD') && REDIRECTS.has(answer.status) && location !== undefined;
      if (!followable) return { ...answer, url, redirected: url.host !== call.url.host };
      answer.body.destroy();
      if (hops >= MAX_REDIRECTS) throw badRedirect(call, url, `more than ${MAX_REDIRECTS} redirects`);
      const next = URL.parse(location, url.href);
      if (!next || !/^https?:$/.test(next.protocol)) throw badRedirect(call, url, 'redirect to something that is not an HTTP URL');
      if (url.protocol === 'https:' && next.protocol === 'http:') throw badRedirect(call, url, 'redirect from HTTPS to plain HTTP');
      if (next.host !== url.host) headers = Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'authorization'));
      url = next;
    }
  }

  async #once({ method, url, headers, body, signal, deadlineMs, image }: Call): Promise<Omit<Answer, 'redirected'>> {
    try {
      const response = await request(url, {
        method,
        headers,
        body,
        signal: withDeadline(signal, deadlineMs),
        dispatcher: this.#agent,
        headersTimeout: this.#timeouts.headersMs,
        bodyTimeout: this.#timeouts.bodyIdleMs,
        // Little is buffered here: what is buffered at a kill has been served and is lost.
        highWaterMark: 16 * 1024,
      });
      // An error after we stopped listening (we destroy bodies) must not end the process.
      response.body.on('error', () => {});
      return { status: response.statusCode, headers: firstValues(response.headers), body: response.body, url };
    } catch (error) {
      throw toNetworkError(error, { image, host: url.host, signal });
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

/** An exception of a request or of a body as a RegistryError; RegistryErrors pass through. */
export function toNetworkError(
  error: unknown,
  { image, host, signal }: { image: string; host: string; signal?: AbortSignal },
): RegistryError {
  if (error instanceof RegistryError) return error;
  if (signal?.aborted) return abortedError(signal, { image, host });
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS/.test(code)) {
    const fix = 'give the registry CA as PEM, or fix the certificate';
    return new RegistryError(RegistryErrorCode.untrusted, `${host}: certificate not trusted (${code}); ${fix}`, {
      image,
      host,
      cause: error,
    });
  }
  return new RegistryError(RegistryErrorCode.unreachable, `${image}: ${host}: ${errorMessage(error) || code || 'connection failed'}`, {
    image,
    host,
    cause: error,
  });
}

function withDeadline(signal: AbortSignal | undefined, deadlineMs: number | undefined): AbortSignal | undefined {
  if (deadlineMs === undefined) return signal;
  const deadline = AbortSignal.timeout(deadlineMs);
  return signal ? AbortSignal.any([signal, deadline]) : deadline;
}

function badRedirect(call: Call, url: URL, problem: string): RegistryError {
  return new RegistryError(RegistryErrorCode.badResponse, `${call.image}: ${url.host}: ${problem}`, { image: call.image, host: url.host });
}

function firstValues(headers: Record<string, string | string[] | undefined>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]));
}
