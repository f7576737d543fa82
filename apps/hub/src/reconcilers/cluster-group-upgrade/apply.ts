import { CLEANUP_FINALIZER, ClusterGroupUpgrade, type ClusterGroupUpgradeStatus, type Ref } from '@flotilla/api';
import { type Client, isNotFound } from '@flotilla/runtime';
import { mergePatch } from '../../merge-patch.ts';
import { type DroppedFields, isAllDropped } from './dropped-fields.ts';

/**
 * Patches what changed in the status, or nothing; fields that the server is known to drop are no change. Refused with a conflict when
 * the name belongs to another object by now, or when the object has changed since: a cache that is behind our own last write must not
 * have it undone.
 */
export async function writeStatus(
  upgrade: ClusterGroupUpgrade,
  desired: ClusterGroupUpgradeStatus,
  { client, dropped }: { readonly client: Client; readonly dropped: DroppedFields },
): Promise<ClusterGroupUpgrade | undefined> {
  const status = mergePatch(upgrade.status ?? {}, desired);
  if (status === undefined || isAllDropped(status, dropped)) return undefined;
  const { uid, resourceVersion } = upgrade.metadata;
  const patch = { metadata: { uid, resourceVersion }, status };
  return client.patch(ClusterGroupUpgrade, refOf(upgrade), patch, { type: 'merge', subresource: 'status' });
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
    await client.patch(ClusterGroupUpgrade, refOf(upgrade), patch, { type: 'merge' });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

const refOf = ({ metadata }: ClusterGroupUpgrade): Ref => ({ namespace: metadata.namespace ?? '', name: metadata.name });
