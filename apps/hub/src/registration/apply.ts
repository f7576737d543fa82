import { FIELD_MANAGER, type KubeObject, type Resource, WaitingError } from '@flotilla/api';
import { ClusterRoleBinding, Lease, RoleBinding, ServiceAccount } from '@flotilla/api/core';
import { AGENT_LEASE, ManagedCluster, ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import { type Client, isConflict, patchStatus } from '@flotilla/runtime';
import { BY_CLUSTER, type RegistrationCaches } from '../caches.ts';
import { dismantleWork } from '../writes/apply.ts';
import { type AccessObject, clusterAccess } from './access.ts';
import type { RegistrationVerdict } from './plan.ts';

/** Applies missing or changed access objects by server-side apply. True when there were any. */
export async function applyAccess(client: Client, missing: readonly AccessObject[]): Promise<boolean> {
  for (const { kind, object } of missing) await client.apply(kind, object, { fieldManager: FIELD_MANAGER, force: true });
  return missing.length > 0;
}

/** Conflicts after which the hub writes without a version: a spoke that writes its status all the time must not block the hub. */
const MAX_CONFLICTS = 3;

/** Dependencies of `applyVerdict`. */
interface VerdictDeps {
  readonly client: Client;
  /** Consecutive conflicts by cluster. */
  readonly contended: Map<string, number>;
}

/** Writes labels, taints and conditions. Each is written whole, so the version guards it against other writers. */
export async function applyVerdict(
  cluster: ManagedCluster,
  { edits, conditions }: Pick<RegistrationVerdict, 'edits' | 'conditions'>,
  { client, contended }: VerdictDeps,
): Promise<void> {
  const { name } = cluster.metadata;
  const conflicts = contended.get(name) ?? 0;
  const isGuarded = conflicts < MAX_CONFLICTS;
  const resourceVersion = isGuarded ? cluster.metadata.resourceVersion : undefined;
  try {
    const patch = edits && { ...edits, metadata: { ...edits.metadata, resourceVersion } };
    const edited = patch ? await client.patch(ManagedCluster, { name }, patch, { type: 'merge' }) : cluster;
    const { uid } = edited.metadata;
    const current = isGuarded ? edited : { ...edited, metadata: { name, uid } };
    if (conditions) await patchStatus(client, ManagedCluster, current, { ...edited.status, conditions });
    contended.delete(name);
  } catch (error) {
    if (isConflict(error)) contended.set(name, conflicts + 1);
    throw error;
  }
}

/** Objects whose deletion ends an agent's rights; servers still accept its token for ten seconds. */
const RIGHTS: readonly Resource[] = [ServiceAccount, RoleBinding, ClusterRoleBinding];
/** Milliseconds until held objects are checked again. */
const HELD_RETRY_MS = 1_000;

/**
 * Revokes a spoke's access and deletes its pending orders, which the next agent of that name would execute. Rights go first, so that the agent writes
 * nothing more. Roles go last, so that a restarted hub repeats the rest. True when there was anything. Throws `WaitingError` while any object of the
 * spoke is left.
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
  // The last agent's lease must not make the next agent look alive.
  await client.delete(Lease, { namespace: cluster, name: AGENT_LEASE });
  await clearOrders(cluster, client);
  for (const one of access) if (!RIGHTS.includes(one.kind)) await remove(one);
  return found;
}

type Access = ReturnType<typeof accessOf>[number];

/** Lists access objects, the account first. */
function accessOf(cluster: string, { access }: RegistrationCaches) {
  return clusterAccess(cluster)
    .toReversed()
    .flatMap(({ kind }) => (access.get(kind.plural)?.byIndex(BY_CLUSTER, cluster) ?? []).map((cached: KubeObject) => ({ kind, cached })));
}

/** Deletes the orders of an agent. No agent will clean up after a work any more, so its finalizers and spec go, even foreign ones. */
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
