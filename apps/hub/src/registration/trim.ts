/** What a spoke wrote into its ManagedCluster before there were bounds, or past them: nothing of it may keep an administrator from denying it. */
import { type Condition, limitsOfSchema } from '@flotilla/api';
import { CLUSTER_AVAILABLE, HUB_ACCEPTED, ManagedCluster, managedClusterSchema } from '@flotilla/api/ocm';
import type { Client } from '@flotilla/runtime';
import { JOINED } from './plan.ts';

/** Half of what an agent may fill: the hub's and an administrator's writes are beside it. */
const MAX_BYTES = 131_072;
/** As much of a message as is read: one of this length may be longer in the store. */
const READ_MESSAGE = 2_048;
/** What is decided by. */
const OURS: readonly string[] = [HUB_ACCEPTED, JOINED, CLUSTER_AVAILABLE];

const findExcess = limitsOfSchema(managedClusterSchema.status);

/** What is to be taken from a cluster; undefined: nothing. Pure. */
interface Trim {
  /** Merge patch of the status. */
  readonly status?: { readonly conditions: readonly Condition[] } & Readonly<Record<string, unknown>>;
  /** Field managers are of no use to anybody here. */
  readonly managedFields?: true;
}

/**
 * What has to go from a cluster so that whatever is written next has room.
 * @param isAccepted else nothing of what its agent reported stays: the next agent of that name is another, perhaps
 */
export function planTrim({ metadata, status, hasUnread = false }: ManagedCluster, isAccepted: boolean): Trim | undefined {
  const conditions = status?.conditions ?? [];
  const others = Object.keys(status ?? {}).filter((key) => key !== 'conditions');
  const isLeft = !isAccepted && (others.length > 0 || conditions.some(({ type }) => !OURS.includes(type)));
  const isCut = hasUnread || conditions.some(({ message }) => message.length >= READ_MESSAGE);
  const isLarge = isLeft || bytesOf(status) > MAX_BYTES || findExcess(status) !== undefined;
  const managedFields = bytesOf(metadata.managedFields) > MAX_BYTES;
  if (!isCut && !isLarge) return managedFields ? { managedFields } : undefined;
  const kept = { conditions: conditions.filter(({ type }) => OURS.includes(type)) };
  return {
    status: isLarge ? { ...Object.fromEntries(others.map((key) => [key, null])), ...kept } : kept,
    ...(managedFields && { managedFields }),
  };
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value ?? null));

/**
 * Carries a trim out; returns the cluster as stored. Not under the version that was read: who writes without end must not keep it off.
 */
export async function trimCluster(client: Pick<Client, 'patch'>, cluster: ManagedCluster, trim: Trim): Promise<ManagedCluster> {
  const ref = { name: cluster.metadata.name };
  const clearFields = () => client.patch(ManagedCluster, ref, { metadata: { managedFields: [{}] } }, { type: 'merge' });
  let stored = cluster;
  const { status } = trim;
  if (status) {
    const writeStatus = () => client.patch(ManagedCluster, ref, { status }, { type: 'merge', subresource: 'status' });
    // Where the field managers fill the object, the status has no room before they are gone.
    stored = await writeStatus().catch(async () => {
      await clearFields();
      return writeStatus();
    });
  }
  return trim.managedFields ? clearFields() : stored;
}
