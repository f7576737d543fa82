import type { Readable } from 'node:stream';
import { createSecureContext, getCACertificates } from 'node:tls';
import { errorMessage, redirectOf } from '@flotilla/api';
import { request } from 'undici';
import { type Connections, openConnections, type ProxySettings } from './connections.ts';
import { endpointUrl } from './endpoint.ts';
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

/** For a registry over a slow link. */
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
  /** The server's certificate is not verified, nor those of servers it leads to. */
  unverified?: boolean;
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

/** TLS of one server: authorities trusted besides the others, and what it wants of us. All PEM. */
export interface HostTls {
  ca?: string;
  cert?: string;
  key?: string;
}

/** How servers are reached and trusted. */
export interface TransportOptions {
  /** PEM certificates trusted besides the system's. */
  ca?: string | undefined;
  /** By `host[:port]`. */
  hostTls?: ReadonlyMap<string, HostTls> | undefined;
  proxy?: ProxySettings | undefined;
  timeouts: Timeouts;
  userAgent: string;
}

/** Sends single requests: connections, proxies, trust, time-outs and redirects; no retries and no credentials of its own. */
export class Transport {
  readonly #options: TransportOptions;
  /** By whose certificates are trusted. */
  readonly #connections = new Map<string, Connections>();
  /** What servers that may speak either were found to speak. */
  readonly #schemes = new Map<string, 'https' | 'http'>();

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  /**
   * Whether a server that may speak either speaks TLS.
   * @throws RegistryError when neither comes about
   */
  async detectScheme(host: string, { image, signal }: Pick<Call, 'image' | 'signal'>): Promise<'https' | 'http'> {
    const known = this.#schemes.get(host);
    if (known) return known;
    for (const scheme of ['https', 'http'] as const) {
      const url = endpointUrl(host, scheme, '');
      try {
        const { body } = await this.#once({
          method: 'GET',
          url,
          image,
          signal,
          deadlineMs: this.#options.timeouts.documentMs,
          unverified: true,
        });
        body.destroy();
        this.#schemes.set(host, scheme);
        return scheme;
      } catch (error) {
        if (scheme === 'http' || signal?.aborted) throw error;
      }
    }
    throw new RegistryError(RegistryErrorCode.unreachable, `${image}: ${host} does not answer`, { image, host });
  }

  /**
   * Follows redirects as `redirectOf` allows.
   * @throws RegistryError `FLOTILLA_REGISTRY_UNREACHABLE`, `_UNTRUSTED`, `_BAD_RESPONSE`, `_ABORTED`.
   */
  async send(call: Call): Promise<Answer> {
    let { url } = call;
    let headers: Record<string, string> = { 'user-agent': this.#options.userAgent, ...call.headers };
    for (let followed = 0; ; followed++) {
      const answer = await this.#once({ ...call, url, headers });
      const { status, headers: answered } = answer;
      const redirect = redirectOf({ method: call.method, url, status, location: answered.location, followed });
      if (redirect.kind === 'answer') return { ...answer, url, redirected: url.origin !== call.url.origin };
      answer.body.destroy();
      if (redirect.kind === 'refused') throw badRedirect(call, url, redirect.why);
      if (redirect.dropsCredentials) headers = Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'authorization'));
      url = redirect.url;
    }
  }

  async #once({ method, url, headers, body, signal, deadlineMs, unverified, image }: Call): Promise<Omit<Answer, 'redirected'>> {
    const { headersMs, bodyIdleMs } = this.#options.timeouts;
    try {
      const response = await request(url, {
        method,
        headers,
        body,
        signal: withDeadline(signal, deadlineMs),
        dispatcher: this.#connectionsTo(url.host, unverified === true).dispatcherFor(url),
        headersTimeout: headersMs,
        bodyTimeout: bodyIdleMs,
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

  #connectionsTo(host: string, unverified: boolean): Connections {
    const { ca, hostTls, proxy = {}, timeouts } = this.#options;
    const own = hostTls?.get(host);
    const trust = `${unverified} ${own ? host : ''}`;
    const known = this.#connections.get(trust);
    if (known) return known;
    const added = [ca, own?.ca].filter((pem) => pem !== undefined);
    const opened = openConnections({
      tls: {
        // made once: reading some hundred certificates anew for each connection takes longer than the connection
        secureContext: createSecureContext({
          ...(added.length > 0 && { ca: [...getCACertificates('default'), ...added] }),
          ...(own?.cert && own.key && { cert: own.cert, key: own.key }),
        }),
        rejectUnauthorized: !unverified,
      },
      proxy,
      connectMs: timeouts.connectMs,
      tunnelMs: timeouts.headersMs,
    });
    this.#connections.set(trust, opened);
    return opened;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connections.values()].map((connections) => connections.destroy()));
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
  const refusal = proxyRefusal(error);
  if (refusal) return new RegistryError(RegistryErrorCode.unauthorized, `${image}: ${host}: ${refusal}`, { image, host, cause: error });
  return new RegistryError(RegistryErrorCode.unreachable, `${image}: ${host}: ${errorMessage(error) || code || 'connection failed'}`, {
    image,
    host,
    cause: error,
  });
}

/** Why a proxy does not let a request pass; undefined when it is not the proxy, or only has a problem. */
function proxyRefusal(error: unknown): string | undefined {
  const text = error instanceof Error ? error.message : '';
  const status = /^Proxy response \((\d{3})\)|^Proxy Authentication Required \((\d{3})\)/.exec(text);
  const code = status?.[1] ?? status?.[2];
  if (code === '407') return "the proxy answered 407; give user and password in the proxy's URL";
  return code === '403' ? 'the proxy answered 403; let it pass requests to this host, or name the host in NO_PROXY' : undefined;
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
