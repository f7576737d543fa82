import { type KubeObject, type Resource, WaitingError } from '@flotilla/api';
import { ClusterRoleBinding, Lease, RoleBinding, ServiceAccount } from '@flotilla/api/core';
import { AGENT_LEASE, ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import type { Client } from '@flotilla/runtime';
import { BY_CLUSTER } from '../indexes.ts';
import { dismantleWork } from '../writes/delete-work.ts';
import { clusterAccess } from './apply.ts';
import type { RegistrationCaches } from './caches.ts';

/** Without these an agent may do nothing, though servers remember for ten seconds that its token was good. */
const RIGHTS: readonly Resource[] = [ServiceAccount, RoleBinding, ClusterRoleBinding];
/** Milliseconds until what somebody holds is looked at again. */
const HELD_RETRY_MS = 1_000;

/**
 * Takes a spoke's access away, and all that was left to do on it: whoever is let in next under that name would do it. The rights go first, so
 * that nobody writes against it; the roles go last, so that a hub that dies in between does the same again. True when something was there.
 * Throws `WaitingError` while anything of the spoke is left.
 */
export async function revokeAccess(cluster: string, client: Client, caches: RegistrationCaches): Promise<boolean> {
  const access = accessOf(cluster, caches);
  if (access.length === 0) return false;
  let found = false;
  const remove = async ({ kind, cached: { metadata } }: Access): Promise<void> => {
    const { name, namespace, uid } = metadata;
    found = (await client.delete(kind, { name, ...(namespace !== undefined && { namespace }) }, { uid })) || found;
  };
  for (const one of access) if (RIGHTS.includes(one.kind)) await remove(one);
  // Its next agent shall not be taken for alive by what the last one wrote.
  await client.delete(Lease, { namespace: cluster, name: AGENT_LEASE });
  await clearOrders(cluster, client);
  for (const one of access) if (!RIGHTS.includes(one.kind)) await remove(one);
  return found;
}

type Access = ReturnType<typeof accessOf>[number];

/** The account first. */
function accessOf(cluster: string, { access }: RegistrationCaches) {
  return clusterAccess(cluster)
    .toReversed()
    .flatMap(({ kind }) => (access.get(kind.plural)?.byIndex(BY_CLUSTER, cluster) ?? []).map((cached: KubeObject) => ({ kind, cached })));
}

/** Deletes what an agent carries out. Nobody will clean up after a work any more: its finalizers and its spec go, whoever wrote them. */
async function clearOrders(cluster: string, client: Client): Promise<void> {
  const { items: works } = await client.list(ManifestWork, { namespace: cluster });
  for (const work of works) await dismantleWork(client, work, { spec: null });
  for (const kind of [ManagedClusterAction, ManagedClusterView]) {
    const { items } = await client.list(kind, { namespace: cluster });
    for (const { metadata } of items) await client.delete(kind, { namespace: cluster, name: metadata.name }, { uid: metadata.uid });
  }
  const uids = new Set(works.map(({ metadata }) => metadata.uid));
  const { items: left } = await client.list(ManifestWork, { namespace: cluster });
  const held = left.filter(({ metadata }) => uids.has(metadata.uid)).map(({ metadata }) => metadata.name);
  if (held.length > 0)
    throw new WaitingError(
      'FLOTILLA_WORKS_HELD',
      `${held.length} ManifestWorks of ${cluster} are still there, ${held[0]} among them`,
      HELD_RETRY_MS,
    );
}
