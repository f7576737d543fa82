/** Which update graphs the hub asks because a policy names them. */
import { BlockList, isIP } from 'node:net';
import { FlotillaError } from '@flotilla/api';
import type { AddressGuard } from '@flotilla/http';

/** Code of a server that policies may not name. */
export const GRAPH_NOT_ALLOWED = 'FLOTILLA_UPDATE_GRAPH_NOT_ALLOWED';

/** Judges servers before they are asked. */
export interface GraphAccess {
  /** An administrator of the hub names this server: it may have any address, and its words may be repeated. */
  readonly isTrusted: (url: URL) => boolean;
  /** Why a URL must not be asked; undefined: it may. To be asked of redirects too. */
  readonly problem: (url: URL) => FlotillaError | undefined;
  readonly guard: AddressGuard;
}

/** Settings of the hub that decide about update graphs. */
export interface GraphAccessOptions {
  /** Hosts that policies may name, each with or without a port. Default none; with tenancy the public graph's. */
  readonly allow?: readonly string[];
  /** Asked instead of what policies name. */
  readonly updateGraphUrl?: string | undefined;
  /** No other host than those is asked. Default false. */
  readonly tenancy?: boolean;
  /** Loopback may be asked, as by the reference, unless there is tenancy. Default false. */
  readonly talmStrict?: boolean;
}

const PUBLIC_GRAPH = 'api.openshift.com';

const blockList = (...networks: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
};

/** This machine. IPv6 addresses that carry such an IPv4 address lead there too; a BlockList knows the mapped ones by itself. */
const LOOPBACK = blockList('127.0.0.0/8', '0.0.0.0/8', '::1/128', '::/128', '::7f00:0/104', '64:ff9b::7f00:0/104', '2002:7f00::/24');
/** Services on a link, and metadata services of clouds, trust whoever can reach them. */
const LINK = blockList(
  ...['169.254.0.0/16', 'fe80::/10', '::a9fe:0/112', '64:ff9b::a9fe:0/112', '2002:a9fe::/32'],
  ...['224.0.0.0/4', '255.255.255.255/32', 'ff00::/8'],
  // Metadata services of clouds that are not link-local.
  ...['100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32', 'fd00:ec2::254/128'],
);

/** Decides which servers are asked: policies may be written by people who must not reach what the hub reaches. */
export function graphAccess({ allow = [], updateGraphUrl, tenancy = false, talmStrict = false }: GraphAccessOptions = {}): GraphAccess {
  const own = updateGraphUrl === undefined ? [] : [new URL(updateGraphUrl).host];
  const allowed = new Set([...allow, ...own].map((host) => host.toLowerCase()));
  if (tenancy && allowed.size === 0) allowed.add(PUBLIC_GRAPH);
  const lists = talmStrict && !tenancy ? [LINK] : [LOOPBACK, LINK];
  const isAllowed = (host: string) => allowed.has(host) || allowed.has(host.replace(/:\d+$/, ''));
  const guard = (address: string, host: string) => (isAllowed(host) || !isListed(address, lists) ? undefined : notReachable(host));
  return {
    isTrusted: ({ host }) => isAllowed(host),
    problem({ host, hostname }) {
      if (tenancy && !isAllowed(host))
        return refused(`policies may name ${[...allowed].slice(0, 5).join(', ')}, not ${host}; --update-graph-allow of the hub says which`);
      return guard(hostname.replaceAll(/^\[|\]$/g, ''), host);
    },
    guard,
  };
}

function isListed(address: string, lists: readonly BlockList[]): boolean {
  const family = isIP(address);
  return family !== 0 && lists.some((list) => list.check(address, family === 6 ? 'ipv6' : 'ipv4'));
}

const refused = (why: string) => new FlotillaError(GRAPH_NOT_ALLOWED, why);
const notReachable = (host: string) =>
  refused(
    `${host} has an address of the hub's own machine or link, which policies may not name; --update-graph-allow ${host} of the hub allows it`,
  );
