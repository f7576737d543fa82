/** Decides which update graphs of policies the hub may request. */
import { BlockList, isIP } from 'node:net';
import { FlotillaError } from '@flotilla/api';
import type { AddressGuard } from '@flotilla/http';

/** Code of a server that policies may not name. */
export const GRAPH_NOT_ALLOWED = 'FLOTILLA_UPDATE_GRAPH_NOT_ALLOWED';

/** Decides about a server before any request. */
export interface GraphAccess {
  /** An administrator named this server: it may have any address, and messages may quote it. */
  readonly isTrusted: (url: URL) => boolean;
  /** Explains why a URL, also of a redirect, must not be requested; undefined when it may. */
  readonly problem: (url: URL) => FlotillaError | undefined;
  readonly guard: AddressGuard;
}

/** Settings of the hub that decide about update graphs. */
export interface GraphAccessOptions {
  /** Hosts that policies may name, each with or without a port. Default none; with tenancy the public graph's. */
  readonly allow?: readonly string[];
  /** Graph that replaces those of policies. */
  readonly updateGraphUrl?: string | undefined;
  /** Request no other hosts. Default false. */
  readonly tenancy?: boolean;
  /** Allow loopback, as the reference does, unless there is tenancy. Default false. */
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

/** Addresses of this machine. Some IPv6 addresses carry such an IPv4 address and lead here too; a BlockList knows only the mapped ones. */
const LOOPBACK = blockList('127.0.0.0/8', '0.0.0.0/8', '::1/128', '::/128', '::7f00:0/104', '64:ff9b::7f00:0/104', '2002:7f00::/24');
/** Link-local and metadata services trust every caller who reaches them. */
const LINK = blockList(
  ...['169.254.0.0/16', 'fe80::/10', '::a9fe:0/112', '64:ff9b::a9fe:0/112', '2002:a9fe::/32'],
  ...['224.0.0.0/4', '255.255.255.255/32', 'ff00::/8'],
  // Metadata services of clouds that are not link-local.
  ...['100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32', 'fd00:ec2::254/128'],
);

/** Decides which servers may be requested: authors of policies must not reach the hub's network. */
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
