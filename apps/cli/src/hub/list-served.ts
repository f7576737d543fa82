import type { KubeObject, Resource } from '@flotilla/api';
import { type Client, isNotFound } from '@flotilla/runtime';

type Listing<T extends KubeObject> = Parameters<Client['list']>[1] & { readonly transform?: (object: T) => T };

/** Lists the objects of a kind; undefined where the server does not serve it. */
export async function listServed<T extends KubeObject>(
  client: Client,
  kind: Resource<T>,
  options: Listing<T> = {},
): Promise<T[] | undefined> {
  try {
    return (await client.list(kind, options)).items;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
