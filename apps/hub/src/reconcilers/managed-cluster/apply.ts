import { ClusterGroupUpgrade, type KubeObject, Namespace } from '@flotilla/api';
import { type Client, isAlreadyExists, isNotFound } from '@flotilla/runtime';
import { AUTO_NAMESPACE } from './observe.ts';

/** Creates the upgrade, and its namespace when that is what is missing. False when the upgrade was there already. */
export async function createUpgrade(upgrade: KubeObject, client: Client): Promise<boolean> {
  try {
    return await created(upgrade, client);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await ensureNamespace(client);
    return created(upgrade, client);
  }
}

async function created(upgrade: KubeObject, client: Client): Promise<boolean> {
  try {
    await client.create(ClusterGroupUpgrade, upgrade);
    return true;
  } catch (error) {
    if (isAlreadyExists(error)) return false;
    throw error;
  }
}

async function ensureNamespace(client: Client): Promise<void> {
  try {
    await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: AUTO_NAMESPACE } });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
