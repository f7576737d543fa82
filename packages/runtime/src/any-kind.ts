import { z } from 'zod';
import type { Client } from './client.ts';
import { createDiscovery, groupVersion, type ServedResource, ServerRefusal } from './discovery.ts';
import { ApiError, isConflict, isNotFound } from './errors.ts';

type Json = Record<string, unknown>;

/**
 * Objects of any kind on one API server. Every method throws an error whose message is the server's own, word for word: it goes into
 * conditions.
 */
export interface ObjectAccess {
  /** Finds a kind by its `apiVersion` and kind; undefined when the server does not serve it. */
  findKind(apiVersion: string, kind: string): Promise<ServedResource | undefined>;
  /** Finds a kind by any spelling of spec/ocm 1.9; undefined when nothing matches. */
  findResource(spelling: string): Promise<ServedResource | undefined>;
  get(served: ServedResource, namespace: string | undefined, name: string): Promise<Json>;
  /** Undefined when there is no such object, or no such namespace. */
  find(served: ServedResource, namespace: string | undefined, name: string): Promise<Json | undefined>;
  /** Resolves to the stored object. */
  create(served: ServedResource, namespace: string | undefined, object: Json): Promise<Json>;
  /** Resolves to the stored object. */
  mergePatch(served: ServedResource, namespace: string | undefined, name: string, patch: Json): Promise<Json>;
  /** Server-side apply; resolves to the stored object. */
  apply(served: ServedResource, namespace: string | undefined, name: string, object: Json, options: ApplyFields): Promise<Json>;
  /** Foreground. */
  delete(served: ServedResource, namespace: string | undefined, name: string): Promise<void>;
  /** Foreground, and only the object with this uid; nothing to delete is fine. */
  deleteExactly(served: ServedResource, namespace: string | undefined, name: string, uid: string): Promise<void>;
}

/** Options of an apply. */
export interface ApplyFields {
  readonly fieldManager: string;
  /** Take over fields that others own. */
  readonly force: boolean;
}

const AnyObject = z.record(z.string(), z.unknown());

/**
 * Any kind, through one client. Errors carry the server's own words, which clients match on (spec/ocm 1.3).
 * @param fieldManager of creates and merge patches
 */
export function createObjectAccess(client: Client, fieldManager: string): ObjectAccess {
  const discovery = createDiscovery(client);
  const call = (method: string, path: string, options?: { body?: unknown; contentType?: string }) =>
    inServerWords(() =>
      client.request(method, path, options).catch((error: unknown) => {
        // The kind has gone since it was looked up.
        if (isUnknownPath(error)) discovery.forget();
        throw error;
      }),
    );
  const manager = `fieldManager=${encodeURIComponent(fieldManager)}`;
  return {
    findKind: (apiVersion, kind) => inServerWords(() => discovery.findKind(apiVersion, kind)),
    findResource: (spelling) => inServerWords(() => discovery.findResource(spelling)),
    async get(served, namespace, name) {
      return AnyObject.parse(await call('GET', objectPath(served, namespace, name)));
    },
    async find(served, namespace, name) {
      return AnyObject.optional().parse(await orUndefined(() => call('GET', objectPath(served, namespace, name))));
    },
    async apply(served, namespace, name, object, options) {
      const query = `fieldManager=${encodeURIComponent(options.fieldManager)}&force=${options.force}`;
      const path = `${objectPath(served, namespace, name)}?${query}`;
      return AnyObject.parse(await call('PATCH', path, { body: object, contentType: 'application/apply-patch+yaml' }));
    },
    async deleteExactly(served, namespace, name, uid) {
      await orUndefined(() => call('DELETE', objectPath(served, namespace, name), { body: foreground({ preconditions: { uid } }) }));
    },
    async create(served, namespace, object) {
      return AnyObject.parse(await call('POST', `${collectionPath(served, namespace)}?${manager}`, { body: object }));
    },
    async mergePatch(served, namespace, name, patch) {
      const path = `${objectPath(served, namespace, name)}?${manager}`;
      return AnyObject.parse(await call('PATCH', path, { body: patch, contentType: 'application/merge-patch+json' }));
    },
    async delete(served, namespace, name) {
      await call('DELETE', objectPath(served, namespace, name), { body: foreground({}) });
    },
  };
}

const foreground = (options: Record<string, unknown>) => ({
  kind: 'DeleteOptions',
  apiVersion: 'v1',
  propagationPolicy: 'Foreground',
  ...options,
});

/** There is no such object, or the one of that name has another uid. A path the server does not know is an error all the same. */
async function orUndefined<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    const { cause } = error instanceof ServerRefusal ? error : {};
    if ((isNotFound(cause) && !isUnknownPath(cause)) || isConflict(cause)) return undefined;
    throw error;
  }
}

function collectionPath(served: ServedResource, namespace: string | undefined): string {
  const root = served.group === '' ? '/api' : '/apis';
  const scope = namespace === undefined ? '' : `/namespaces/${segment(namespace)}`;
  return `${root}/${groupVersion(served.group, served.version)}${scope}/${segment(served.plural)}`;
}

const objectPath = (served: ServedResource, namespace: string | undefined, name: string): string =>
  `${collectionPath(served, namespace)}/${segment(name)}`;

/** One path segment. Names come from hub objects: none may reach another path. */
function segment(text: string): string {
  if (text === '.' || text === '..' || text.includes('/'))
    throw new ServerRefusal(`invalid resource name ${JSON.stringify(text)}: may not be "." or ".." or contain "/"`);
  return encodeURIComponent(text);
}

/** Turns a refusal into the server's message alone. */
async function inServerWords<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const message = isUnknownPath(error) ? 'the server could not find the requested resource' : error.serverMessage || error.message;
    throw new ServerRefusal(message, { cause: error });
  }
}

/** A path that the server does not know answers 404 without a Status. */
const isUnknownPath = (error: unknown): boolean => isNotFound(error) && error.reason === '';
