import type { KubeObject, Resource } from '@flotilla/api';
import { Namespace } from '@flotilla/api/core';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { type Client, isAlreadyExists, isNotFound } from '@flotilla/runtime';
import { AUTO_NAMESPACE } from './observe.ts';

/** Creates the upgrade, and its namespace when it is missing. False when the upgrade exists already. */
export async function createUpgrade(upgrade: KubeObject, client: Client): Promise<boolean> {
  try {
    return await createOnce(ClusterGroupUpgrade, upgrade, client);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await createOnce(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: AUTO_NAMESPACE } }, client);
    return createOnce(ClusterGroupUpgrade, upgrade, client);
  }
}

async function createOnce(kind: Resource, object: KubeObject, client: Client): Promise<boolean> {
  try {
    await client.create(kind, object);
    return true;
  } catch (error) {
    if (isAlreadyExists(error)) return false;
    throw error;
  }
}
