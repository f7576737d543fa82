import { formatImageReference, type ImageReference } from './image-reference.ts';
import type { Descriptor } from './manifest.ts';

/** Protocol of a server; `either`: TLS without verification, or plain HTTP where there is no TLS. */
export type Scheme = 'https' | 'http' | 'either';

interface MirrorLocation {
  /** `host[:port][/path]`; the name's rest after the prefix is appended. */
  location: string;
  scheme?: Scheme;
  /** References that this mirror serves; default all. */
  use?: 'all' | 'digest-only' | 'tag-only';
}

/** Access to the images below a prefix, as a `[[registry]]` of containers-registries.conf(5). */
export interface RegistryRule {
  /** `host[:port][/path]`, or `*.domain` for every host below a domain. The longest match wins. */
  prefix: string;
  /** Replacement of the prefix at the source; default: the image's own name. */
  location?: string;
  /** Default `https`. */
  scheme?: Scheme;
  /** The source is never asked, but the mirrors are. */
  blocked?: boolean;
  /** Mirrors in the order of trial, before the source. */
  mirrors: readonly MirrorLocation[];
}

/** A server and repository that may hold an image. */
export interface Endpoint {
  /** `host[:port]` of the connection. */
  host: string;
  repository: string;
  scheme: Scheme;
  /** Address of the content itself, outside of any registry: no credentials are shown there. */
  address?: URL;
}

/** Addresses of one blob that are tried. */
const MOST_ADDRESSES = 8;

/** Lists the addresses that a manifest names for a blob. Those of another protocol are left out, as runtimes do. */
export function listAddresses({ urls = [] }: Pick<Descriptor, 'urls'>): readonly Endpoint[] {
  const addresses = urls.flatMap((text): Endpoint[] => {
    const address = URL.parse(text);
    if (!address || !/^https?:$/.test(address.protocol)) return [];
    address.username = address.password = '';
    return [{ host: address.host, repository: '', scheme: address.protocol === 'https:' ? 'https' : 'http', address }];
  });
  return addresses.slice(0, MOST_ADDRESSES);
}

/** Lists an image's locations in order: mirrors of the longest matching prefix, then the source. Empty when all are blocked. */
export function listEndpoints(
  reference: ImageReference,
  rules: readonly RegistryRule[],
  plainHosts: ReadonlySet<string>,
): readonly Endpoint[] {
  const full = `${reference.host}/${reference.repository}`;
  const found = findRule(formatImageReference(reference), rules);
  const source = { location: full, scheme: found?.rule.scheme };
  if (!found) return [toEndpoint(source, plainHosts)];
  const { rule, length } = found;
  const rest = full.slice(length);
  if (rule.location) source.location = `${rule.location}${rest}`;
  const mirrors = rule.mirrors
    .filter(({ use = 'all' }) => use === 'all' || (use === 'digest-only') === (reference.digest !== undefined))
    .map((mirror) => ({ location: `${mirror.location}${rest}`, scheme: mirror.scheme }));
  const places = mirrors.filter(({ location }) => location !== source.location);
  if (!rule.blocked) places.push(source);
  return places.filter(({ location }) => !findRule(location, rules)?.rule.blocked).map((place) => toEndpoint(place, plainHosts));
}

/** Finds the rule for an image's name, and the length of the matched prefix. */
function findRule(name: string, rules: readonly RegistryRule[]): { rule: RegistryRule; length: number } | undefined {
  let best: { rule: RegistryRule; length: number } | undefined;
  for (const rule of rules) {
    const length = matchPrefix(name, rule.prefix);
    const isBetter =
      length > (best?.length ?? 0) || (length === best?.length && best.rule.prefix.startsWith('*.') && !rule.prefix.startsWith('*.'));
    if (isBetter) best = { rule, length };
  }
  return best;
}

/** Counts the name's characters that a prefix matches, up to the end of a word; 0 without a match. */
function matchPrefix(name: string, prefix: string): number {
  let end = prefix.length;
  if (prefix.startsWith('*.')) {
    const at = name.indexOf(prefix.slice(1));
    // the wildcard stands for at least one character, all within the host
    if (at < 1 || name.slice(0, at).includes('/')) return 0;
    end = at + prefix.length - 1;
  } else if (!name.startsWith(prefix)) return 0;
  return end === name.length || /[/:@]/.test(name.charAt(end)) ? end : 0;
}

function toEndpoint({ location, scheme = 'https' }: { location: string; scheme?: Scheme }, plainHosts: ReadonlySet<string>): Endpoint {
  const slash = location.indexOf('/');
  const host = slash < 0 ? location : location.slice(0, slash);
  return {
    host: host === 'docker.io' ? 'registry-1.docker.io' : host,
    repository: slash < 0 ? '' : location.slice(slash + 1),
    scheme: plainHosts.has(host) ? 'http' : scheme,
  };
}

/** True for a server that the configuration names with plain HTTP, `host[:port]`: by an option, or as the place of a rule or of its mirror. */
export function isPlainHost(host: string, rules: readonly RegistryRule[], plainHosts: ReadonlySet<string>): boolean {
  const places = rules.flatMap(({ prefix, location = prefix, scheme, mirrors }) => [{ location, scheme }, ...mirrors]);
  const named = [...plainHosts, ...places.flatMap(({ location, scheme = 'https' }) => (scheme === 'https' ? [] : [location]))];
  return named.some((location) => URL.parse(`http://${location}`)?.host === host);
}

/** Builds the URL of a path under `/v2/` of a server; `path` is already escaped. */
export function endpointUrl(host: string, scheme: 'https' | 'http', path: string): URL {
  return new URL(`${scheme}://${host}/v2/${path}`);
}
