import { AGENT_FIELD_MANAGER, groupVersion, type ServedResource, type SpokeAccess, SpokeRefusal, type WorkAccess } from '@flotilla/api';
import { ApiError, type Client, isConflict, isNotFound, RuntimeErrorCode } from '@flotilla/runtime';
import { z } from 'zod';
import { createDiscovery } from './discovery.ts';

const AnyObject = z.record(z.string(), z.unknown());

/** The spoke's API server, through one client. Errors carry the server's own words, which the hub's clients match on (spec/ocm 1.3). */
export function createSpokeAccess(client: Client): SpokeAccess & WorkAccess {
  const discovery = createDiscovery(client);
  const call = (method: string, path: string, options?: { body?: unknown; contentType?: string }) =>
    inServerWords(() => client.request(method, path, options));
  const manager = `fieldManager=${AGENT_FIELD_MANAGER}`;
  return {
    findKind: (apiVersion, kind) => inServerWords(() => discovery.findKind(apiVersion, kind)),
    findResource: (spelling) => inServerWords(() => discovery.findResource(spelling)),
    async get(served, namespace, name) {
      return AnyObject.parse(await call('GET', objectPath(served, namespace, name)));
    },
    async find(served, namespace, name) {
      return AnyObject.optional().parse(await orUndefined(() => call('GET', objectPath(served, namespace, name))));
    },
    async apply(served, namespace, name, object, { fieldManager, force }) {
      const query = `fieldManager=${encodeURIComponent(fieldManager)}&force=${force}`;
      await call('PATCH', `${objectPath(served, namespace, name)}?${query}`, { body: object, contentType: 'application/apply-patch+yaml' });
    },
    async deleteExactly(served, namespace, name, uid) {
      await orUndefined(() => call('DELETE', objectPath(served, namespace, name), { body: foreground({ preconditions: { uid } }) }));
    },
    async create(served, namespace, object) {
      await call('POST', `${collectionPath(served, namespace)}?${manager}`, { body: object });
    },
    async mergePatch(served, namespace, name, patch) {
      await call('PATCH', `${objectPath(served, namespace, name)}?${manager}`, {
        body: patch,
        contentType: 'application/merge-patch+json',
      });
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
    const { cause } = error instanceof SpokeRefusal ? error : {};
    if ((isNotFound(cause) && cause.reason !== '') || isConflict(cause)) return undefined;
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
    throw new SpokeRefusal(`invalid resource name ${JSON.stringify(text)}: may not be "." or ".." or contain "/"`);
  return encodeURIComponent(text);
}

/** Turns a refusal into the server's message alone. */
async function inServerWords<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // A path the server does not know answers 404 without a Status.
    const unknownPath = error.code === RuntimeErrorCode.notFound && error.reason === '';
    throw new SpokeRefusal(unknownPath ? 'the server could not find the requested resource' : error.serverMessage || error.message, {
      cause: error,
    });
  }
}
