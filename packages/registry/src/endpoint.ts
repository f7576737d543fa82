import type { ImageReference } from './image-reference.ts';

/** Images under `source` (`host[/path]`) are looked for under each mirror first, in order, then at the source. */
export interface Mirror {
  source: string;
  /** `host[/path]` each; the rest of the repository path is appended. */
  mirrors: readonly string[];
  /** Speak plain HTTP to these mirrors. */
  insecure?: boolean;
}

/** One server and repository that may hold an image. */
export interface Endpoint {
  /** `host[:port]` to connect to. */
  host: string;
  repository: string;
  /** Plain HTTP. */
  insecure: boolean;
}

/** Where to look for an image, in order: mirrors of the longest matching source, then the source itself. */
export function listEndpoints(reference: ImageReference, mirrors: readonly Mirror[], insecureHosts: ReadonlySet<string>): Endpoint[] {
  const { host, repository } = reference;
  const full = `${host}/${repository}`;
  const source: Endpoint = { host: host === 'docker.io' ? 'registry-1.docker.io' : host, repository, insecure: insecureHosts.has(host) };
  let best: Mirror | undefined;
  for (const mirror of mirrors) {
    const matches = full === mirror.source || full.startsWith(`${mirror.source}/`);
    if (matches && mirror.source.length > (best?.source.length ?? -1)) best = mirror;
  }
  if (!best) return [source];
  const { source: prefix, insecure = false } = best;
  const found = best.mirrors.map((base) => toEndpoint(`${base}${full.slice(prefix.length)}`, insecure, insecureHosts));
  return [...found.filter((e) => e.host !== source.host || e.repository !== source.repository), source];
}

function toEndpoint(path: string, insecure: boolean, insecureHosts: ReadonlySet<string>): Endpoint {
  const slash = path.indexOf('/');
  const host = slash < 0 ? path : path.slice(0, slash);
  return { host, repository: slash < 0 ? '' : path.slice(slash + 1), insecure: insecure || insecureHosts.has(host) };
}

/** URL of a path under `/v2/` of the endpoint; `path` is already escaped. */
export function endpointUrl({ host, insecure }: Endpoint, path: string): URL {
  return new URL(`${insecure ? 'http' : 'https'}://${host}/v2/${path}`);
}
