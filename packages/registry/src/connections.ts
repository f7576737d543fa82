import { BlockList, isIP } from 'node:net';
import type { SecureContext } from 'node:tls';
import { Agent, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';

/** Proxies as `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` have them; user and password may stand in the URLs. */
export interface ProxySettings {
  /** URL of the proxy for plain HTTP. */
  http?: string | undefined;
  /** URL of the proxy for HTTPS, which is tunnelled. */
  https?: string | undefined;
  /** Names, domains (`.example.com`), addresses and networks (`10.0.0.0/8`) that are reached directly, separated by commas. */
  no?: string | undefined;
}

/** How the servers of one trust are connected to. */
export interface ConnectionOptions {
  tls: { secureContext: SecureContext; rejectUnauthorized: boolean };
  proxy: ProxySettings;
  /** TCP and TLS set-up, milliseconds. */
  connectMs: number;
  /** What a proxy may take to open a tunnel, milliseconds. */
  tunnelMs: number;
}

/** Pools of connections, direct and through proxies. */
export interface Connections {
  readonly dispatcherFor: (url: URL) => Dispatcher;
  destroy(): Promise<void>;
}

/** Opens pools; nothing is connected before the first request. */
export function openConnections({ tls, proxy, connectMs, tunnelMs }: ConnectionOptions): Connections {
  // HTTP/1.1: one blob per connection, so a broken connection costs one blob's bytes in flight and not all of them.
  const options = { allowH2: false, connect: { ...tls, timeout: connectMs } };
  const direct = new Agent(options);
  const proxied = new EnvHttpProxyAgent({
    ...options,
    // empty, not absent: absent ones are read from the environment
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
    destroy: async () => void (await Promise.all([direct.destroy(), proxied.destroy()])),
  };
}

/**
 * What container runtimes reach directly beyond the names in `NO_PROXY`, which undici reads: this machine, the networks in it, and
 * HTTPS where only a proxy for plain HTTP is set.
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
