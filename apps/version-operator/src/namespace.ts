import { KubeObject } from '@flotilla/api';
import { Namespace } from '@flotilla/api/core';
import { type Client, isAlreadyExists } from '@flotilla/runtime';

/** Creates a namespace that is not there; the lease lies in it before any release brings it. */
export async function ensureNamespace(client: Client, name: string): Promise<void> {
  if (await client.get(Namespace, { name })) return;
  try {
    await client.create(Namespace, KubeObject.parse({ metadata: { name } }));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
