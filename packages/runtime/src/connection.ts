import { FlotillaError } from '@flotilla/api';
import type { DispatcherOptions, KubeConfig } from '@kubernetes/client-node';
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import { RuntimeErrorCode } from './errors.ts';
import { type Credentials, readCredentials } from './kubeconfig.ts';

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
  #config: KubeConfig;
  readonly #reload: (() => KubeConfig | undefined) | undefined;
  readonly #proxy: string | undefined;
  #credentials: Promise<Credentials> | undefined;
  #readAt = 0;
  #fingerprint = '';
  #dispatchers: Dispatchers | undefined;
  /** Replaced, with requests or watches still under way. */
  readonly #retired = new Set<Dispatcher>();
  #closed = false;

  /** `reload` reads the file again that `config` is from: whoever rotates a token there need not restart anything. */
  constructor(config: KubeConfig, proxy?: string, reload?: () => KubeConfig | undefined) {
    this.#config = config;
    this.#reload = reload;
    this.#proxy = proxy;
  }

  /** Headers and dispatchers for a request that starts now. */
  async current(): Promise<{ headers: Readonly<Record<string, string>>; dispatchers: Dispatchers }> {
    if (this.#closed) throw new FlotillaError(RuntimeErrorCode.stopped, 'the client is closed');
    const credentials = await this.#read();
    if (this.#dispatchers === undefined || this.#fingerprint !== credentials.fingerprint) {
      this.#retire(this.#dispatchers);
      this.#dispatchers = makeDispatchers(credentials.options, this.#proxy);
      this.#fingerprint = credentials.fingerprint;
    }
    return { headers: credentials.headers, dispatchers: this.#dispatchers };
  }

  /** The server did not accept the credentials: read them again before the next request. */
  forgetCredentials(): void {
    this.#credentials = undefined;
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

  /** Ends every connection, open watches included. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#retire(this.#dispatchers);
    this.#dispatchers = undefined;
    await Promise.all([...this.#retired].map((dispatcher) => dispatcher.destroy()));
  }

  #read(): Promise<Credentials> {
    const now = performance.now();
    if (this.#credentials === undefined || now - this.#readAt > CREDENTIALS_MS) {
      this.#readAt = now;
      this.#config = this.#reloaded();
      const reading = readCredentials(this.#config);
      this.#credentials = reading;
      reading.catch(() => {
        if (this.#credentials === reading) this.#credentials = undefined;
      });
    }
    return this.#credentials;
  }

  /** A file that cannot be read right now, because it is being written, leaves the last one in force. */
  #reloaded(): KubeConfig {
    try {
      return this.#reload?.() ?? this.#config;
    } catch {
      return this.#config;
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

function makeDispatchers(options: DispatcherOptions, proxy: string | undefined): Dispatchers {
  const make = (allowH2: boolean): Dispatcher => {
    const common = { allowH2, bodyTimeout: 0, headersTimeout: 0, keepAliveTimeout: 30_000 };
    switch (options.type) {
      case 'proxy':
        return new ProxyAgent({ ...common, uri: options.uri, requestTls: options.requestTls });
      case 'socks':
        throw new FlotillaError(
          RuntimeErrorCode.kubeconfig,
          'proxy-url of the cluster is a socks proxy, which is not supported: name an http proxy',
        );
      case 'agent':
        if (proxy) return new ProxyAgent({ ...common, uri: proxy, requestTls: options.connect });
        return new Agent({ ...common, connect: { ...options.connect, timeout: 10_000 } });
      case 'none':
        if (proxy) return new ProxyAgent({ ...common, uri: proxy });
        return new Agent({ ...common, connect: { ...KEEP_ALIVE, timeout: 10_000 } });
    }
  };
  return { calls: make(true), watches: make(false) };
}
