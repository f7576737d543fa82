import { formatImageReference, type ImageReference } from './image-reference.ts';

/** How a server is spoken to; `either`: TLS whose certificate is not verified, or plain HTTP where no TLS is. */
export type Scheme = 'https' | 'http' | 'either';

/** Where else the images below a prefix are. */
interface MirrorLocation {
  /** `host[:port][/path]`; what follows the prefix is appended. */
  location: string;
  scheme?: Scheme;
  /** Which references are looked for here; default all. */
  use?: 'all' | 'digest-only' | 'tag-only';
}

/** How the images below a prefix are reached, as a `[[registry]]` of containers-registries.conf(5) says it. */
export interface RegistryRule {
  /** `host[:port][/path]`, or `*.domain` for every host below a domain. The longest one that matches counts. */
  prefix: string;
  /** What stands in place of the prefix at the source; default: the source is where the image's name says. */
  location?: string;
  /** Default `https`. */
  scheme?: Scheme;
  /** The source is never asked; the mirrors are. */
  blocked?: boolean;
  /** Asked in this order, before the source. */
  mirrors: readonly MirrorLocation[];
}

/** One server and repository that may hold an image. */
export interface Endpoint {
  /** `host[:port]` to connect to. */
  host: string;
  repository: string;
  scheme: Scheme;
}

/** Where to look for an image, in order: mirrors of the longest matching prefix, then the source. Nowhere when all is blocked. */
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

/** The rule for an image's name, and how much of the name its prefix matches. */
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

/** Characters of the name that a prefix matches, up to the end of a word; 0 when it does not. */
function matchPrefix(name: string, prefix: string): number {
  let end = prefix.length;
  if (prefix.startsWith('*.')) {
    const at = name.indexOf(prefix.slice(1));
    // at least one character stands for the wildcard, and all of them are the host's
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

/** URL of a path under `/v2/` of a server; `path` is already escaped. */
export function endpointUrl(host: string, scheme: 'https' | 'http', path: string): URL {
  return new URL(`${scheme}://${host}/v2/${path}`);
}
