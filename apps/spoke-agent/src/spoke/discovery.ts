import { groupVersion, matchesLookup, parseResourceSpelling, type ResourceLookup, type ServedResource } from '@flotilla/api';
import { type Client, isNotFound } from '@flotilla/runtime';
import { z } from 'zod';

const ResourceList = z.object({
  resources: z
    .array(z.object({ name: z.string(), singularName: z.string().default(''), namespaced: z.boolean(), kind: z.string() }))
    .default([]),
});
const GroupList = z.object({
  groups: z
    .array(
      z.object({
        name: z.string(),
        versions: z.array(z.object({ version: z.string() })),
        preferredVersion: z.object({ version: z.string() }).optional(),
      }),
    )
    .default([]),
});

/** Which kinds the spoke serves; asked when first needed and kept until something is not found (spec/ocm 1.9). */
export interface Discovery {
  findKind(apiVersion: string, kind: string): Promise<ServedResource | undefined>;
  findResource(spelling: string): Promise<ServedResource | undefined>;
}

/** Discovery of one API server. A server that refuses is an error of the caller's lookup, never "no such kind". */
export function createDiscovery(client: Client): Discovery {
  const lists = new Map<string, Promise<ServedResource[]>>();
  let groups: Promise<Map<string, string[]>> | undefined;

  const forget = (): void => {
    lists.clear();
    groups = undefined;
  };
  const listOf = (group: string, version: string): Promise<ServedResource[]> =>
    remembered(lists, groupVersion(group, version), () => readResources(client, group, version));
  const allGroups = (): Promise<Map<string, string[]>> => {
    groups ??= readGroups(client).catch((error: unknown) => {
      groups = undefined;
      throw error;
    });
    return groups;
  };
  const find = async (lookup: ResourceLookup): Promise<ServedResource | undefined> => {
    for await (const [group, versions] of candidates(lookup, allGroups)) {
      for (const version of versions) {
        const hit = (await listOf(group, version)).find((served) => matchesLookup(served, lookup));
        if (hit) return hit;
      }
    }
    return undefined;
  };
  const findFirst = async (lookups: readonly ResourceLookup[], resetAfter?: number): Promise<ServedResource | undefined> => {
    for (const [index, lookup] of lookups.entries()) {
      if (index === resetAfter) forget();
      const hit = await find(lookup);
      if (hit) return hit;
    }
    return undefined;
  };
  /** A miss may be a CRD that is newer than what is remembered: forget and look once more. */
  const findTwice = async (lookups: readonly ResourceLookup[], resetAfter?: number): Promise<ServedResource | undefined> => {
    const hit = await findFirst(lookups, resetAfter);
    if (hit) return hit;
    forget();
    return findFirst(lookups);
  };

  return {
    findKind(apiVersion, kind) {
      const [group, version] = apiVersion.includes('/') ? apiVersion.split('/', 2) : ['', apiVersion];
      return findTwice([{ by: 'kind', name: kind, group, version }]);
    },
    findResource(spelling) {
      const { lookups, resetAfter } = parseResourceSpelling(spelling);
      return findTwice(lookups, resetAfter);
    },
  };
}

/** Groups and versions a lookup may match, in the server's order. A full name costs one request, a bare one starts at the core group. */
async function* candidates(lookup: ResourceLookup, allGroups: () => Promise<Map<string, string[]>>): AsyncGenerator<[string, string[]]> {
  if (lookup.group !== undefined && lookup.version !== undefined) {
    yield [lookup.group, [lookup.version]];
    return;
  }
  if (!lookup.group) yield ['', ['v1']];
  for (const entry of await allGroups()) if (!lookup.group || entry[0] === lookup.group) yield entry;
}

async function readGroups(client: Client): Promise<Map<string, string[]>> {
  const { groups } = GroupList.parse(await client.request('GET', '/apis'));
  return new Map(groups.map((group) => [group.name, preferredFirst(group.versions, group.preferredVersion?.version)]));
}

const preferredFirst = (versions: readonly { version: string }[], preferred: string | undefined): string[] => [
  ...versions.filter(({ version }) => version === preferred).map(({ version }) => version),
  ...versions.filter(({ version }) => version !== preferred).map(({ version }) => version),
];

async function readResources(client: Client, group: string, version: string): Promise<ServedResource[]> {
  const path = group === '' ? `/api/${encodeURIComponent(version)}` : `/apis/${encodeURIComponent(group)}/${encodeURIComponent(version)}`;
  const answer = await client.request('GET', path).catch((error: unknown) => {
    if (isNotFound(error)) return { resources: [] };
    throw error;
  });
  return ResourceList.parse(answer)
    .resources.filter(({ name }) => !name.includes('/'))
    .map(({ name, singularName, namespaced, kind }) => ({
      group,
      version,
      kind,
      plural: name,
      singular: singularName || kind.toLowerCase(),
      namespaced,
    }));
}

/** Keeps what was read; what failed is read again next time. */
function remembered<T>(cache: Map<string, Promise<T>>, key: string, read: () => Promise<T>): Promise<T> {
  const kept = cache.get(key);
  if (kept) return kept;
  const fresh = read();
  cache.set(key, fresh);
  fresh.catch(() => cache.delete(key));
  return fresh;
}
