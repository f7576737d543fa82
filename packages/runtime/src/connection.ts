import { isDeepStrictEqual } from 'node:util';
import { FlotillaError } from '@flotilla/api';
import { readCertificates, tlsContext } from '@flotilla/http';
// biome-ignore lint/style/noRestrictedImports: calls of the API server share a session, and each watch has a connection; deadlines, bodies and retries are those of packages/http
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import { type Credentials, forgetProvided, type Headers, readCredentials } from './credentials.ts';
import { RuntimeErrorCode } from './errors.ts';
import type { ClusterAccess } from './kubeconfig-file.ts';

/** `calls` share one HTTP/2 session; each of `watches` has a connection of its own, so that a flood on one stalls nothing else. */
export interface Dispatchers {
  readonly calls: Dispatcher;
  readonly watches: Dispatcher;
}

/** Certificates and token files are read again this often, as client-go does; a 401 reads them at once. */
const CREDENTIALS_MS = 30_000;
const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelay: 30_000 };

/** The connections to one server, made anew when the certificates rotate or the old ones turn out dead. */
export class Connection {
  #access: ClusterAccess;
  readonly #reload: (() => ClusterAccess | undefined) | undefined;
  readonly #proxy: string | undefined;
  #credentials: Promise<Credentials> | undefined;
  #readAt = 0;
  #fingerprint = '';
  #dispatchers: Dispatchers | undefined;
  /** Replaced, with requests or watches still under way. */
  readonly #retired = new Set<Dispatcher>();
  #closed = false;

  /** `reload` reads the file again that `access` is from: whoever rotates a token there need not restart anything. */
  constructor(access: ClusterAccess, proxy?: string, reload?: () => ClusterAccess | undefined) {
    this.#access = access;
    this.#reload = reload;
    this.#proxy = proxy;
  }

  /** Headers and dispatchers for a request that starts now. */
  async current(): Promise<{ headers: Headers; dispatchers: Dispatchers }> {
    if (this.#closed) throw new FlotillaError(RuntimeErrorCode.stopped, 'the client is closed');
    const credentials = await this.#read();
    const dispatchers = (this.#fingerprint === credentials.fingerprint && this.#dispatchers) || this.#renew(credentials);
    return { headers: credentials.headers, dispatchers };
  }

  /** Connections by new credentials. Files that are just being written, as a certificate whose key is not there yet, leave the last ones. */
  #renew({ tls, fingerprint }: Credentials): Dispatchers {
    try {
      const next = makeDispatchers(tls, this.#access.proxyUrl ?? this.#proxy);
      this.#retire(this.#dispatchers);
      this.#fingerprint = fingerprint;
      this.#dispatchers = next;
      return next;
    } catch (error) {
      this.#credentials = undefined;
      if (!this.#dispatchers) throw error;
      return this.#dispatchers;
    }
  }

  /** The server did not accept the credentials: read them again before the next request. */
  forgetCredentials(): void {
    this.#credentials = undefined;
    forgetProvided(this.#access);
  }

  /**
   * These connections do not answer any more: the next request opens new ones, and watches on the old ones, which would be blind without
   * a word, end. Calls under way have time-outs of their own.
   */
  abandon(dispatchers: Dispatchers): void {
    if (this.#dispatchers !== dispatchers) return;
    this.#dispatchers = undefined;
    // Before it is closed: a closed one has forgotten its connections.
    dispatchers.watches.destroy(new Error('a call was not answered, the connection is given up')).catch(() => undefined);
    this.#retire(dispatchers);
  }

  /** Ends every connection at once, calls and watches included: after a wait for calls, streams of aborted ones raise errors that nobody handles. */
  async close(): Promise<void> {
    this.#closed = true;
    const current = Object.values<Dispatcher>({ ...this.#dispatchers });
    this.#dispatchers = undefined;
    await Promise.all([...current, ...this.#retired].map((dispatcher) => dispatcher.destroy()));
  }

  #read(): Promise<Credentials> {
    const now = performance.now();
    if (this.#credentials === undefined || now - this.#readAt > CREDENTIALS_MS) {
      this.#readAt = now;
      this.#access = this.#reloaded();
      const reading = readCredentials(this.#access);
      this.#credentials = reading;
      reading.catch(() => {
        if (this.#credentials === reading) this.#credentials = undefined;
      });
    }
    return this.#credentials;
  }

  /** Equal content stays the same object, and keeps the credential that a plug-in gave. A file that is just being written leaves the last one. */
  #reloaded(): ClusterAccess {
    try {
      const next = this.#reload?.();
      return next && !isDeepStrictEqual(next, this.#access) ? next : this.#access;
    } catch {
      return this.#access;
    }
  }

  /** Requests under way may finish; each has a time-out, and watches end by themselves. */
  #retire(dispatchers: Dispatchers | undefined): void {
    if (!dispatchers) return;
    for (const dispatcher of [dispatchers.calls, dispatchers.watches]) {
      this.#retired.add(dispatcher);
      const forget = (): void => void this.#retired.delete(dispatcher);
      dispatcher.close().then(forget, forget);
    }
  }
}

function makeDispatchers({ ca, cert, key, ...verification }: Credentials['tls'], proxy: string | undefined): Dispatchers {
  if (proxy?.startsWith('socks'))
    throw new FlotillaError(
      RuntimeErrorCode.kubeconfig,
      'proxy-url of the cluster is a socks proxy, which is not supported: name an http proxy',
    );
  if (ca !== undefined && readCertificates(ca).length === 0)
    throw new FlotillaError(
      RuntimeErrorCode.kubeconfig,
      'certificate-authority of the cluster has no readable certificate; give it as PEM',
    );
  const tls = { secureContext: tlsContext({ ca, cert, key }), ...verification };
  const make = (allowH2: boolean): Dispatcher => {
    const common = { allowH2, bodyTimeout: 0, headersTimeout: 0, keepAliveTimeout: 30_000 };
    if (proxy) return new ProxyAgent({ ...common, uri: proxy, requestTls: tls });
    return new Agent({ ...common, connect: { ...KEEP_ALIVE, ...tls, timeout: 10_000 } });
  };
  return { calls: make(true), watches: make(false) };
}
