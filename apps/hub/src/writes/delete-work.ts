/** Deletes ManifestWorks, even those that are too large for a deletion timestamp. */
import { ManifestWork } from '@flotilla/api/ocm';
import { type Client, isConflict, isNotFound, isTooLarge } from '@flotilla/runtime';

/** Deletes a work. A work without room for its deletion timestamp goes at once, without its agent's clean-up. */
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
 * Deletes a work without its agent's clean-up: removes all finalizers.
 * @param more further fields to clear first, in case a finalizer is set again
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
    // A server rejects every write to a status that predates its limits.
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
