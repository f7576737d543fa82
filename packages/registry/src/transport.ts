import { errorMessage } from '@flotilla/api';
import {
  type Connections,
  HttpError,
  HttpErrorCode,
  type HttpRequest,
  type OpenAnswer,
  openAnswer,
  openConnections,
  type ProxySettings,
} from '@flotilla/http';
import { endpointUrl } from './endpoint.ts';
import { abortedError, isNeverReached, RegistryError, RegistryErrorCode } from './errors.ts';

/** Time-outs of every call, in milliseconds. */
export interface Timeouts {
  /** TCP and TLS set-up. Default 10 s. */
  connectMs: number;
  /** From the request to the answer's headers. Default 30 s. */
  headersMs: number;
  /** Pause inside a body. Default 30 s. */
  bodyIdleMs: number;
  /** A whole small answer: manifest, token, upload step. Default 60 s. */
  documentMs: number;
}

/** Defaults for a registry over a slow link. */
export const defaultTimeouts: Timeouts = { connectMs: 10_000, headersMs: 30_000, bodyIdleMs: 30_000, documentMs: 60_000 };

/** One HTTP request, before redirects. */
export interface Call extends Omit<HttpRequest, 'dispatcherFor'> {
  /** Time-out of the whole answer with its body, in milliseconds; default none (blobs). */
  deadlineMs?: number;
  /** Skip the verification of certificates, also after redirects. */
  unverified?: boolean;
  /** Registry of the call, as nodes name it: what is trusted for it is trusted for its token server and its storage too, as in Go. */
  registry?: string;
  image: string;
}

/** An answer with an unread body. */
export interface Answer extends OpenAnswer {
  /** A redirect led to another server, whose refusals do not concern our credentials. */
  redirected: boolean;
}

/** TLS of one server: additional authorities, and our client certificate. All PEM. */
export interface HostTls {
  ca?: string;
  cert?: string;
  key?: string;
  /** Files that could not be used, each with the reason: the error of this server names them. */
  problems?: readonly string[];
}

interface TransportOptions {
  /** PEM certificates trusted besides the system's. */
  ca?: string | undefined;
  /** TLS by `host[:port]`. */
  hostTls?: ReadonlyMap<string, HostTls> | undefined;
  proxy?: ProxySettings | undefined;
  timeouts: Timeouts;
  userAgent: string;
}

/** Sends single requests with connections, proxies, trust, time-outs and redirects, but without retries or credentials of its own. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #connections = new Map<string, Connections>();
  /** Detected schemes of servers that may use either. */
  readonly #schemes = new Map<string, 'https' | 'http'>();

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  /**
   * Detects whether a server that may use either scheme uses TLS.
   * @throws RegistryError when neither connects
   */
  async detectScheme(host: string, { image, signal }: Pick<Call, 'image' | 'signal'>): Promise<'https' | 'http'> {
    const known = this.#schemes.get(host);
    if (known) return known;
    let failure: unknown;
    for (const scheme of ['https', 'http'] as const) {
      const url = endpointUrl(host, scheme, '');
      try {
        const deadlineMs = this.#options.timeouts.documentMs;
        const { status, body } = await this.send({ url, image, signal, deadlineMs, unverified: true, redirects: 0 });
        body.destroy();
        // A server that speaks TLS answers plain HTTP so.
        if (scheme === 'http' && status === 400) throw failure;
        this.#schemes.set(host, scheme);
        return scheme;
      } catch (error) {
        if (scheme === 'http' || signal?.aborted) throw error;
        failure = error;
      }
    }
    throw new RegistryError(RegistryErrorCode.unreachable, `${image}: ${host} does not answer`, { image, host });
  }

  /**
   * Sends a call and follows redirects as `redirectOf` allows.
   * @throws RegistryError `FLOTILLA_REGISTRY_UNREACHABLE`, `_UNTRUSTED`, `_BAD_RESPONSE`, `_ABORTED`.
   */
  async send(call: Call): Promise<Answer> {
    const { image, signal, deadlineMs } = call;
    const { headersMs, bodyIdleMs } = this.#options.timeouts;
    // Last asked server, which redirects may change, and one that was not asked over plain HTTP.
    let { host } = call.url;
    let plain: string | undefined;
    try {
      const answer = await openAnswer({
        ...call,
        headers: { 'user-agent': this.#options.userAgent, ...call.headers },
        signal: withDeadline(signal, deadlineMs),
        dispatcherFor: (url) => {
          host = url.host;
          return this.#connectionsTo(host, call).dispatcherFor(url);
        },
        allowsPlain: (next) => {
          plain = call.allowsPlain && next;
          return call.allowsPlain?.(next) === true;
        },
        headersTimeout: headersMs,
        bodyTimeout: bodyIdleMs,
        // A small buffer: buffered bytes were served, and are lost at a kill.
        highWaterMark: 16 * 1024,
      });
      return { ...answer, redirected: answer.url.origin !== call.url.origin };
    } catch (error) {
      if (plain === undefined || !isRedirected(error)) throw toNetworkError(error, { image, host, signal });
      throw toNetworkError(new HttpError(error.code, `${error.message}; ${adviceOnPlain(plain)}`), { image, host, signal });
    }
  }

  #connectionsTo(host: string, { unverified = false, registry = host }: Pick<Call, 'unverified' | 'registry'>): Connections {
    const { ca, hostTls, proxy, timeouts } = this.#options;
    const ofRegistry = hostTls?.get(registry);
    // Our certificate is for the registry alone, whatever it redirects to.
    const own = hostTls?.get(host) ?? (isAt(registry, host) ? ofRegistry : undefined);
    const trust = `${unverified} ${own ? host : ''} ${ofRegistry ? registry : ''}`;
    const known = this.#connections.get(trust);
    if (known) return known;
    const opened = openConnections({
      ca: [ca, ofRegistry?.ca, own?.ca].filter((pem) => pem !== undefined).join('\n'),
      ...(own?.cert && own.key && { cert: own.cert, key: own.key }),
      insecure: unverified,
      proxy,
      connectMs: timeouts.connectMs,
      tunnelMs: timeouts.headersMs,
    });
    this.#connections.set(trust, opened);
    return opened;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connections.values()].map((connections) => connections[Symbol.asyncDispose]()));
  }
}

const DOCKER = { name: 'docker.io', host: 'registry-1.docker.io' };

/** Name by which nodes know the registry at a host. */
export const registryNameOf = (host: string): string => (host === DOCKER.host ? DOCKER.name : host);

/** True for the host of a registry's own addresses. */
const isAt = (registry: string, host: string): boolean => registry.replace(/:443$/, '') === registryNameOf(host);

const isRedirected = (error: unknown): error is HttpError => error instanceof HttpError && error.code === HttpErrorCode.redirected;

const adviceOnPlain = (host: string): string =>
  `or name ${host} as insecure (registries.conf, REGISTRY_CONFIG, --insecure-registry): its blobs are then read over plain HTTP, where anybody on the way sees them`;

/** Containerd may pull from a mirror of a host that the puller does not reach. */
const ADVICE_ON_UNREACHED = 'name a mirror (REGISTRY_CONFIG, --registries-conf) or set HTTPS_PROXY: hosts.toml is not read';

/** Converts an exception of a request or body to a RegistryError; RegistryErrors pass through. */
export function toNetworkError(
  error: unknown,
  { image, host, signal }: { image: string; host: string; signal?: AbortSignal },
): RegistryError {
  if (error instanceof RegistryError) return error;
  if (signal?.aborted) return abortedError(signal, { image, host });
  if (isRedirected(error)) return new RegistryError(RegistryErrorCode.badResponse, `${image}: ${host}: ${error.message}`, { image, host });
  const details = { image, host, cause: error };
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS/.test(code)) {
    const fix = 'give the registry CA as PEM, or fix the certificate';
    return new RegistryError(RegistryErrorCode.untrusted, `${host}: certificate not trusted (${code}); ${fix}`, details);
  }
  if (code === 'Z_DATA_ERROR' || code === 'Z_BUF_ERROR') {
    const problem = `${host} answered with a compression that is broken, and that nobody asked for`;
    return new RegistryError(RegistryErrorCode.badResponse, `${image}: ${problem}`, details);
  }
  const refusal = proxyRefusal(error);
  if (refusal) return new RegistryError(RegistryErrorCode.unauthorized, `${image}: ${host}: ${refusal}`, details);
  const problem = errorMessage(error) || code || 'connection failed';
  const fix = isNeverReached(details) ? `; ${ADVICE_ON_UNREACHED}` : '';
  return new RegistryError(RegistryErrorCode.unreachable, `${image}: ${host}: ${problem}${fix}`, details);
}

/** Explains a proxy's refusal; undefined for other failures and passing problems of the proxy. */
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
