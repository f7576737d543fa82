/** Trims a spoke's reports in its ManagedCluster beyond their bounds: no report may keep an administrator from denying the spoke. */
import { type Condition, limitsOfSchema } from '@flotilla/api';
import { ManagedCluster, managedClusterSchema } from '@flotilla/api/ocm';
import type { Client } from '@flotilla/runtime';
import { isDecisive } from './status.ts';

/** Half of an agent's bound: the hub and administrators need the rest. */
const MAX_BYTES = 131_072;
/** Characters of a message that are read; a message of this length may be longer in the store. */
const READ_MESSAGE = 2_048;

const findExcess = limitsOfSchema(managedClusterSchema.status);

/** Parts of a cluster to remove. */
interface Trim {
  /** Merge patch of the status. */
  readonly status?: { readonly conditions: readonly Condition[] } & Readonly<Record<string, unknown>>;
  /** Clear the field managers, which nobody uses here. */
  readonly managedFields?: true;
}

/**
 * Plans the trim that makes room for the next write. Pure.
 * @param isAccepted false: nothing of the agent's reports stays, because the next agent of that name may be another
 */
export function planTrim({ metadata, status, hasUnread = false }: ManagedCluster, isAccepted: boolean): Trim | undefined {
  const conditions = status?.conditions ?? [];
  const others = Object.keys(status ?? {}).filter((key) => key !== 'conditions');
  const isLeft = !isAccepted && (others.length > 0 || !conditions.every(isDecisive));
  const isCut = hasUnread || conditions.some(({ message }) => message.length >= READ_MESSAGE);
  const isLarge = isLeft || bytesOf(status) > MAX_BYTES || findExcess(status) !== undefined;
  const managedFields = bytesOf(metadata.managedFields) > MAX_BYTES;
  if (!isCut && !isLarge) return managedFields ? { managedFields } : undefined;
  const kept = { conditions: conditions.filter(isDecisive) };
  return {
    status: isLarge ? { ...Object.fromEntries(others.map((key) => [key, null])), ...kept } : kept,
    ...(managedFields && { managedFields }),
  };
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value ?? null));

/** Applies a trim; returns the cluster as stored. It patches without a version, so that an agent's endless writes cannot block it. */
export async function trimCluster(client: Pick<Client, 'patch'>, cluster: ManagedCluster, trim: Trim): Promise<ManagedCluster> {
  const ref = { name: cluster.metadata.name };
  const clearFields = () => client.patch(ManagedCluster, ref, { metadata: { managedFields: [{}] } }, { type: 'merge' });
  let stored = cluster;
  const { status } = trim;
  if (status) {
    const writeStatus = () => client.patch(ManagedCluster, ref, { status }, { type: 'merge', subresource: 'status' });
    // Large field managers leave no room for the status until they are cleared.
    stored = await writeStatus().catch(async () => {
      await clearFields();
      return writeStatus();
    });
  }
  return trim.managedFields ? clearFields() : stored;
}
