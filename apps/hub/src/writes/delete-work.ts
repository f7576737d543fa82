/** How a ManifestWork is deleted, also one that the server has no room to delete. */
import { ManifestWork } from '@flotilla/api/ocm';
import { type Client, isConflict, isNotFound, isTooLarge } from '@flotilla/runtime';

/** Deletes a work. One that leaves no room for the time of its deletion goes at once, with what its agent would have cleaned up. */
export async function deleteWork(client: Client, work: Pick<ManifestWork, 'metadata'>): Promise<void> {
  const { uid } = work.metadata;
  try {
    await client.delete(ManifestWork, work.metadata, { uid });
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    await dismantleWork(client, work);
  }
}

/**
 * Deletes a work that no agent is to clean up after any more: without finalizers, whoever's they are.
 * @param more what else is taken from it first, should somebody hold it all the same
 */
export async function dismantleWork(
  client: Client,
  { metadata: { namespace, name, uid } }: Pick<ManifestWork, 'metadata'>,
  more: { readonly spec?: null } = {},
): Promise<void> {
  const ref = { namespace, name };
  const strip = () =>
    client.patch(ManifestWork, ref, { metadata: { uid, finalizers: null, managedFields: [{}] }, ...more }, { type: 'merge' });
  const stripAll = async (refusal: unknown) => {
    if (isNotFound(refusal) || isConflict(refusal)) throw refusal;
    // A server holds a status from before there were limits against every write.
    const empty = { metadata: { uid }, status: null };
    await client.patch(ManifestWork, ref, empty, { type: 'merge', subresource: 'status' }).catch(() => Promise.reject(refusal));
    return strip();
  };
  try {
    await strip().catch(stripAll);
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
  await client.delete(ManifestWork, ref, { uid });
}
