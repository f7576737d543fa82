import type { KubeObject } from '@flotilla/api';
import { Namespace } from '@flotilla/api/core';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { type Client, createMissing, isNotFound } from '@flotilla/runtime';
import { AUTO_NAMESPACE } from './observe.ts';

/** Creates the upgrade, and its namespace when it is missing. False when the upgrade exists already. */
export async function createUpgrade(upgrade: KubeObject, client: Client): Promise<boolean> {
  try {
    return (await createMissing(client, ClusterGroupUpgrade, upgrade)) !== undefined;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await createMissing(client, Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: AUTO_NAMESPACE } });
    return (await createMissing(client, ClusterGroupUpgrade, upgrade)) !== undefined;
  }
}
