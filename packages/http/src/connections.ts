import { X509Certificate } from 'node:crypto';
import { lookup as resolveName } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
// biome-ignore lint/style/noRestrictedImports: these are the connections of the client
import { Agent, buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';

/** Proxies as in `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`; the URLs may contain user and password. */
export interface ProxySettings {
  /** URL of the proxy for plain HTTP. */
  http?: string | undefined;
  /** URL of the proxy for HTTPS, which is tunnelled. */
  https?: string | undefined;
  /** Names, domains (`.example.com`), addresses and networks (`10.0.0.0/8`) without a proxy, separated by commas. */
  no?: string | undefined;
}

/** Settings of connections. */
export interface ConnectionOptions {
  /** PEM of authorities trusted besides the system's. */
  readonly ca?: string | undefined;
  /** PEM of this program's own certificate and its key. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** Accept any certificate. Default false. */
  readonly insecure?: boolean;
  /** Default: no proxy. */
  readonly proxy?: ProxySettings | undefined;
  /** Time-out of TCP and TLS set-up, in milliseconds. Default 30 000. */
  readonly connectMs?: number | undefined;
  /** Time-out of a proxy's tunnel, in milliseconds. Default `connectMs`. */
  readonly tunnelMs?: number;
  /** Checks every address before and after a connection. Default: allows all. Addresses of proxies are not checked. */
  readonly guard?: AddressGuard | undefined;
}

/**
 * Explains why a server's address must not be connected; undefined when it may.
 * @param host with its port, unless it is the scheme's default
 */
export type AddressGuard = (address: string, host: string) => Error | undefined;

/** Pools of connections, direct and through proxies. */
export interface Connections extends AsyncDisposable {
  readonly dispatcherFor: (url: URL) => Dispatcher;
}

/** Opens pools; nothing connects before the first request. */
export function openConnections(settings: ConnectionOptions): Connections {
  const { ca, cert, key, insecure = false, proxy = {}, connectMs = 30_000, tunnelMs = connectMs, guard } = settings;
  const tls = {
    // Created once: parsing some hundred certificates for each connection takes longer than the connection.
    secureContext: tlsContext({ ca, cert, key }, true),
    rejectUnauthorized: !insecure,
  };
  const connect = { ...tls, timeout: connectMs };
  // HTTP/1.1 uses one connection per blob, so a broken connection costs one blob's bytes in flight and not all of them.
  const options = { allowH2: false, connect: guard ? guarded({ ...connect, allowH2: false }, guard) : connect };
  const direct = new Agent(options);
  const proxied = new EnvHttpProxyAgent({
    ...options,
    // empty, because absent ones are read from the environment
    httpProxy: proxy.http ?? '',
    httpsProxy: proxy.https ?? '',
    noProxy: proxy.no ?? '',
    connectTimeout: connectMs,
    requestTls: tls,
    proxyTls: tls,
    clientFactory: (origin, given) => new Pool(origin, { ...given, headersTimeout: tunnelMs }),
  });
  const excluded = listExcluded(proxy.no ?? '');
  return {
    dispatcherFor: (url) => (isDirect(url, proxy, excluded) ? direct : proxied),
    [Symbol.asyncDispose]: async () => void (await Promise.all([direct.destroy(), proxied.destroy()])),
  };
}

/** Connections that follow changing settings: new settings apply from the next request on, and older connections are closed. */
export class FollowingConnections implements AsyncDisposable {
  readonly #settings: () => ConnectionOptions | Promise<ConnectionOptions>;
  #open: { readonly key: string; readonly connections: Connections } | undefined;

  constructor(settings: () => ConnectionOptions | Promise<ConnectionOptions>) {
    this.#settings = settings;
  }

  /** Returns connections for the current settings. */
  async current(): Promise<Connections> {
    const settings = await this.#settings();
    const key = JSON.stringify(settings);
    if (this.#open?.key === key) return this.#open.connections;
    void this.#open?.connections[Symbol.asyncDispose]();
    const connections = openConnections(settings);
    this.#open = { key, connections };
    return connections;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open?.connections[Symbol.asyncDispose]();
    this.#open = undefined;
  }
}

/**
 * Adds direct targets of container runtimes to the names in `NO_PROXY`, which undici reads. These are this machine, the networks in `NO_PROXY`, and
 * HTTPS when only plain HTTP has a proxy.
 */
function isDirect({ protocol, hostname }: URL, { http, https }: ProxySettings, excluded: BlockList): boolean {
  if (!(protocol === 'https:' ? https : http)) return true;
  const host = hostname.replaceAll(/^\[|\]$/g, '');
  if (host === 'localhost') return true;
  const family = isIP(host);
  return family !== 0 && excluded.check(host, family === 6 ? 'ipv6' : 'ipv4');
}

function listExcluded(noProxy: string): BlockList {
  const list = new BlockList();
  list.addSubnet('127.0.0.0', 8, 'ipv4');
  list.addAddress('::1', 'ipv6');
  for (const entry of noProxy.split(/[,\s]+/)) {
    const [network = '', bits = ''] = entry.split('/');
    const family = isIP(network);
    const isNetwork = family !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32);
    if (isNetwork) list.addSubnet(network, Number(bits), family === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** Connects only to addresses that the guard allows. A name is resolved once, so the checked address is also the connected one. */
function guarded(options: buildConnector.BuildOptions, guard: AddressGuard): buildConnector.connector {
  return (target, callback) => {
    const check = (address: string) => guard(address, target.host ?? target.hostname);
    const literal = target.hostname.replaceAll(/^\[|\]$/g, '');
    // A literal address is never resolved.
    const problem = isIP(literal) === 0 ? undefined : check(literal);
    if (problem) return callback(problem, null);
    const connect = buildConnector({ ...options, lookup: guardedLookup(check) });
    connect(target, (...[error, socket]) => {
      if (error || !socket) return callback(error ?? new Error('no connection'), null);
      const connected = check(socket.remoteAddress ?? '');
      if (!connected) return callback(null, socket);
      socket.destroy();
      callback(connected, null);
    });
  };
}

const guardedLookup =
  (check: (address: string) => Error | undefined): LookupFunction =>
  (host, options, callback) =>
    resolveName(host, { ...options, all: true }, (error, addresses) => {
      const problem = error ?? addresses.map(({ address }) => check(address)).find((each) => each !== undefined);
      const first = addresses?.[0];
      if (problem || !first) callback(problem ?? new Error('no address'), '');
      else if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });

// biome-ignore lint/style/noRestrictedImports: this is the one context
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

/** Certificates of one side of a TLS connection, all PEM. */
export interface TlsMaterial {
  /** Trusted authorities; default the system's. */
  readonly ca?: string | Buffer | undefined;
  /** Own certificate and its key. */
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
}

/**
 * Makes the TLS context of every client. As in Go, each certificate of `ca` is trusted by itself: a root, an issuing authority without its root, or
 * the server's own.
 * @param system whether the system's authorities are trusted besides `ca`
 * @throws Error for an own certificate or key that cannot be used
 */
export function tlsContext({ ca, cert, key }: TlsMaterial, system = false): SecureContext {
  const own = ca ? readCertificates(ca) : undefined;
  const trusted = own && system ? [...getCACertificates('default'), ...own] : own;
  return createSecureContext({ ca: trusted, cert, key, allowPartialTrustChain: true });
}

/** Lists the certificates of a PEM file. As in Go, one that cannot be read costs itself alone. */
export function readCertificates(pem: string | Buffer): string[] {
  const blocks = pem.toString('utf8').match(/-----BEGIN CERTIFICATE-----(?:(?!-----BEGIN )[\s\S])*?-----END CERTIFICATE-----/g) ?? [];
  return blocks.filter(isReadable);
}

function isReadable(certificate: string): boolean {
  try {
    return new X509Certificate(certificate).raw.length > 0;
  } catch {
    return false;
  }
}
