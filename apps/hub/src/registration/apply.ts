import { FIELD_MANAGER } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { type Client, isConflict, patchStatus } from '@flotilla/runtime';
import type { AccessObject } from './access.ts';
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
