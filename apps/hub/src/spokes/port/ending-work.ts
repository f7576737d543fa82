/** How a ManifestWork of a job ends: by its agent, which cleans the spoke first, or by the hub where no agent ever said anything of it. */
import { findCondition } from '@flotilla/api';
import { ManifestWork, WORK_APPLIED, WORK_FINALIZER } from '@flotilla/api/ocm';
import { type Client, isConflict, isNotFound, isTooLarge } from '@flotilla/runtime';
import type { HubWriter } from './hub-writer.ts';

/** A work of which no agent has said anything for this long is not answered, while its cluster is available. Agents take a second (spec/ocm 4.3). */
export const UNANSWERED_MS = 60_000;

/** Whether anybody is there to answer. */
export interface AnsweringCluster {
  readonly available: boolean;
  /** It is no cluster of this hub any more. */
  readonly isDetached: boolean;
}

/** True for a work that is on its way out. */
export const isLeaving = (work: ManifestWork | undefined): boolean => work?.metadata.deletionTimestamp !== undefined;

/** When the hub's server took a work, milliseconds since the epoch. */
export const createdAt = ({ metadata }: ManifestWork): number => Date.parse(metadata.creationTimestamp ?? '') || 0;

/** True once an agent has said anything about a work. */
export const isAnswered = ({ status }: ManifestWork): boolean => findCondition(status?.conditions, WORK_APPLIED) !== undefined;

/** Deletes a work, and takes away the finalizer that it was made with where nobody else will. */
export async function endWork(writer: HubWriter, work: ManifestWork, cluster: AnsweringCluster): Promise<void> {
  const lateAt = createdAt(work) + UNANSWERED_MS;
  const isHeld = !isAnswered(work) && work.metadata.finalizers?.includes(WORK_FINALIZER) === true;
  if (isHeld && (cluster.isDetached || (cluster.available && writer.now() >= lateAt))) await releaseWork(writer.client, work);
  else if (isHeld && cluster.available) writer.wake(lateAt);
  if (!isLeaving(work)) await deleteWork(writer.client, work);
}

/** Takes away the finalizer that a work was made with. Where an agent says something at the same moment, the work is its own again. */
export async function releaseWork(client: Pick<Client, 'patch'>, { metadata }: ManifestWork): Promise<void> {
  const finalizers = metadata.finalizers?.filter((finalizer) => finalizer !== WORK_FINALIZER) ?? [];
  if (finalizers.length === (metadata.finalizers?.length ?? 0)) return;
  const { uid, resourceVersion } = metadata;
  await client
    .patch(ManifestWork, metadata, { metadata: { uid, resourceVersion, finalizers } }, { type: 'merge' })
    .catch((error: unknown) => {
      if (!isConflict(error) && !isNotFound(error)) throw error;
    });
}

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
