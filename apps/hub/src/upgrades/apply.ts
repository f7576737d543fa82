import { mergePatch } from '@flotilla/api';
import { CLEANUP_FINALIZER, ClusterGroupUpgrade, type ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { type Client, isNotFound, patchStatus } from '@flotilla/runtime';
import { withWholeStatus } from '../stored-upgrade.ts';
import { type DroppedFields, findDropped, isAllDropped } from './dropped-fields.ts';
import { fitStatus } from './status-budget.ts';

/**
 * Patches what changed in the status, or nothing; fields that the server is known to drop are no change. Refused with a conflict when
 * the name belongs to another object by now, or when the object has changed since: a cache that is behind our own last write must not
 * have it undone.
 * @param kept is told what the server drops; writes that are under way beside one another teach the same one
 * @returns the upgrade as stored, with its status in full; undefined when there was nothing to write
 */
export async function writeStatus(
  upgrade: ClusterGroupUpgrade,
  desired: ClusterGroupUpgradeStatus,
  { client, kept }: { readonly client: Client; readonly kept: { dropped: DroppedFields } },
): Promise<ClusterGroupUpgrade | undefined> {
  const canPack = kept.dropped.packed !== true;
  const fitted = fitStatus(desired, { canPack });
  const before = upgrade.status && fitStatus(upgrade.status, { canPack });
  if (isAllDropped(mergePatch(before ?? {}, fitted) ?? {}, kept.dropped)) return undefined;
  const answer = await patchStatus(client, ClusterGroupUpgrade, { ...upgrade, status: before }, fitted);
  if (!answer) return undefined;
  kept.dropped = findDropped(fitted, answer.status, kept.dropped);
  const stored = withWholeStatus(answer);
  // A CRD that does not know how a status is packed has lost what was: all of it again, in full.
  return canPack && kept.dropped.packed === true ? ((await writeStatus(stored, desired, { client, kept })) ?? stored) : stored;
}

/**
 * Adds or removes our finalizer; the resourceVersion guards against losing somebody else's. An upgrade that is gone, which the cache has not
 * seen yet, needs neither.
 */
export async function writeFinalizer(upgrade: ClusterGroupUpgrade, wanted: boolean, client: Client): Promise<void> {
  const { uid, resourceVersion, finalizers = [] } = upgrade.metadata;
  const others = finalizers.filter((finalizer) => finalizer !== CLEANUP_FINALIZER);
  const patch = { metadata: { uid, resourceVersion, finalizers: wanted ? [...others, CLEANUP_FINALIZER] : others } };
  try {
    await client.patch(ClusterGroupUpgrade, upgrade.metadata, patch, { type: 'merge' });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
