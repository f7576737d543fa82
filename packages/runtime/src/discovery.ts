import { foreign } from '@flotilla/api';
import { z } from 'zod';
import type { Client } from './client.ts';
import { isNotFound } from './errors.ts';

/** A refusal of an API server; its message is the server's own, for a condition word for word. */
export class ServerRefusal extends Error {}

/** One kind a spoke serves. */
export interface ServedResource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
}

/** One try to find a kind. Without `group` any group matches, in the server's order; without `version` the preferred one. */
interface ResourceLookup {
  /** `resource` matches plural or singular without regard to case, `kind` the exact kind. */
  readonly by: 'resource' | 'kind';
  readonly name: string;
  readonly group?: string;
  readonly version?: string;
}

/** Ways to look up a spelling, in order (spec/ocm 1.9). */
interface ResourceSpelling {
  readonly lookups: readonly ResourceLookup[];
  /** After this many lookups missed, the cached discovery is dropped: the price of `{resource}.{dotted group}`. */
  readonly resetAfter: number | undefined;
  /** The error when nothing matches. */
  readonly failure: string;
}

/** Reads `resource`, `{resource}.{group}` or `{resource}.{version}.{group}`, singular, plural or kind. */
export function parseResourceSpelling(text: string): ResourceSpelling {
  const [name = '', ...rest] = text.split('.');
  const group = rest.join('.');
  const grouped = group === '' ? {} : { group };
  const versioned = rest.length >= 2 ? { version: rest[0], group: rest.slice(1).join('.') } : undefined;
  const lookups: ResourceLookup[] = [
    ...(versioned ? [{ by: 'resource' as const, name, ...versioned }] : []),
    { by: 'resource', name, ...grouped },
    ...(versioned ? [{ by: 'kind' as const, name, ...versioned }] : []),
    { by: 'kind', name, ...grouped },
  ];
  const version = group === '' ? '' : `${group}/`;
  const failure = `fail to mapping GroupKind ${group === '' ? name : `${name}.${group}`}, GroupKindVersion , resource:${text} err: no matches for kind "${name}" in version "${version}"`;
  return { lookups, resetAfter: versioned ? 1 : undefined, failure };
}

/** Whether a served kind answers a lookup; the group is compared only when the lookup names one. */
export function matchesLookup(served: ServedResource, lookup: ResourceLookup): boolean {
  if (lookup.group !== undefined && served.group !== lookup.group) return false;
  if (lookup.version !== undefined && served.version !== lookup.version) return false;
  if (lookup.by === 'kind') return served.kind === lookup.name;
  const wanted = lookup.name.toLowerCase();
  return served.plural === wanted || served.singular === wanted;
}

/** `group/version`, or the version alone for the core group. */
export const groupVersion = (group: string, version: string): string => (group === '' ? version : `${group}/${version}`);

/** The error for a kind no server knows. */
export const noMatchesForKind = (kind: string, apiVersion: string): string => `no matches for kind "${kind}" in version "${apiVersion}"`;

/** `plural.group "name"`, as API servers name an object in messages. */
export const qualifiedName = (served: ServedResource, name: string): string =>
  `${served.plural}${served.group === '' ? '' : `.${served.group}`} "${name}"`;

const ResourceList = foreign(
  z.object({
    resources: z
      .array(z.object({ name: z.string(), singularName: z.string().default(''), namespaced: z.boolean(), kind: z.string() }))
      .default([]),
  }),
);
const GroupList = foreign(
  z.object({
    groups: z
      .array(
        z.object({
          name: z.string(),
          versions: z.array(z.object({ version: z.string() })),
          preferredVersion: z.object({ version: z.string() }).optional(),
        }),
      )
      .default([]),
  }),
);

/**
 * Discovery of one API server: asked when first needed, and kept until something is not found (spec/ocm 1.9). A server that refuses is an error of
 * the caller's lookup, never "no such kind".
 */
export function createDiscovery(client: Client) {
  const lists = new Map<string, Promise<ServedResource[]>>();
  let groups: Promise<Map<string, string[]>> | undefined;

  const forget = (): void => {
    lists.clear();
    groups = undefined;
  };
  const listOf = (group: string, version: string): Promise<ServedResource[]> =>
    remembered(lists, groupVersion(group, version), () => readServedResources(client, group, version));
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
    /** Drops what is remembered: the server lacks something of it by now. */
    forget,
    findKind(apiVersion: string, kind: string) {
      const [group, version] = apiVersion.includes('/') ? apiVersion.split('/', 2) : ['', apiVersion];
      return findTwice([{ by: 'kind', name: kind, group, version }]);
    },
    findResource(spelling: string) {
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

/** The kinds of one group and version, as the server has them now; none where it does not know them. */
export async function readServedResources(client: Client, group: string, version: string): Promise<ServedResource[]> {
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
