import { isJsonObject, type KubeObject, mergePatch, type Resource } from '@flotilla/api';
import type { Client } from './client.ts';
import { isNotFound } from './errors.ts';

/**
 * Patches what differs between the object's status and this one, and nothing when that is nothing. Refused with a conflict when the
 * object has changed since it was read, or its name belongs to another by now.
 * @returns the object as stored; undefined when there was nothing to write, or nobody to tell: it is gone
 */
export async function patchStatus<T extends KubeObject>(
  client: Pick<Client, 'patch'>,
  kind: Resource<T>,
  object: KubeObject & { readonly status?: unknown },
  status: unknown,
  options: { readonly signal?: AbortSignal /** The kind's CRD has it; default true. */; readonly subresource?: boolean } = {},
): Promise<T | undefined> {
  const changes = mergePatch(isJsonObject(object.status) ? object.status : {}, status);
  if (changes === undefined) return undefined;
  const { namespace, name, uid, resourceVersion } = object.metadata;
  const { signal, subresource = true } = options;
  const patch = { metadata: { uid, resourceVersion }, status: changes };
  return unlessGone(
    client.patch(kind, { namespace, name }, patch, { type: 'merge', signal, ...(subresource && { subresource: 'status' }) }),
  );
}

/** PUTs the status of an object under the version it was read in, for who may do no more; undefined when it is gone. */
export const replaceStatus = <T extends KubeObject>(
  client: Pick<Client, 'replace'>,
  kind: Resource<T>,
  object: T,
): Promise<T | undefined> => unlessGone(client.replace(kind, object, { subresource: 'status' }));

async function unlessGone<T>(write: Promise<T>): Promise<T | undefined> {
  try {
    return await write;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
