import type { Client } from '@flotilla/runtime';

/** Requests the API server counted, by verb, resource and subresource (its own `apiserver_request_total`). */
export type RequestCounts = ReadonlyMap<string, number>;

const LINE = /^apiserver_request_total\{([^}]*)\}\s+([\d.e+]+)/;

/** Reads the server's counters; watches and probes are left out. */
export async function readRequestCounts(client: Client): Promise<RequestCounts> {
  const counts = new Map<string, number>();
  for (const line of (await client.getText('/metrics', { maxBytes: 64 * 1024 * 1024 })).split('\n')) {
    const match = LINE.exec(line);
    if (!match) continue;
    const labels = Object.fromEntries([...(match[1] ?? '').matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]));
    if (labels.verb === 'WATCH' || !labels.resource) continue;
    const key = `${labels.verb} ${labels.resource}${labels.subresource ? `/${labels.subresource}` : ''}`;
    counts.set(key, (counts.get(key) ?? 0) + Number(match[2]));
  }
  return counts;
}

/** What was counted between two readings, without what is zero. */
export function difference(before: RequestCounts, after: RequestCounts): Map<string, number> {
  return new Map([...after].map(([key, n]): [string, number] => [key, n - (before.get(key) ?? 0)]).filter(([, n]) => n > 0));
}

const WRITES = new Set(['POST', 'PUT', 'PATCH', 'APPLY', 'DELETE', 'DELETECOLLECTION']);
const CHANGES = new Set(['PUT', 'PATCH', 'APPLY']);
const TRANSPORT = /^(managedclusteractions|managedclusterviews|manifestworks)$/;
const HUBS_OWN = /^(clustergroupupgrades|managedclusters|policies|precachingconfigs)$/;

/** Requests by who makes them. */
export interface SplitRequests {
  readonly hubWrites: number;
  readonly hubReads: number;
  readonly agentWrites: number;
  readonly detail: Record<string, number>;
}

/**
 * Splits requests by who makes them: the agents write the status subresource of actions, views and works, and the finalizers of works; of
 * the rest, what concerns these, upgrades and clusters is the hub's. Leases and the bench's own requests are left out.
 */
export function splitRequests(counts: ReadonlyMap<string, number>): SplitRequests {
  let [hubWrites, hubReads, agentWrites] = [0, 0, 0];
  for (const [key, n] of counts) {
    const [verb = '', target = ''] = key.split(' ');
    const [resource = '', subresource] = target.split('/');
    const isFinalizer = resource === 'manifestworks' && CHANGES.has(verb);
    if (TRANSPORT.test(resource) && WRITES.has(verb) && (subresource === 'status' || isFinalizer)) agentWrites += n;
    else if (!TRANSPORT.test(resource) && !HUBS_OWN.test(resource)) continue;
    else if (WRITES.has(verb)) hubWrites += n;
    else hubReads += n;
  }
  return { hubWrites, hubReads, agentWrites, detail: Object.fromEntries([...counts].sort(([, a], [, b]) => b - a).slice(0, 30)) };
}
