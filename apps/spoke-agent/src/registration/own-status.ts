import { ManagedCluster } from '@flotilla/api/ocm';
import { type Client, isConflict, patchStatus } from '@flotilla/runtime';

const WRITE_TRIES = 5;

/** Result of a write; `absent`: the hub has no such object. */
type Written = 'written' | 'unchanged' | 'absent';

type ClusterStatus = NonNullable<ManagedCluster['status']>;
/** Makes the next status from the one that is stored. */
export type StatusChange = (status: Partial<ClusterStatus>) => Partial<ClusterStatus>;

/**
 * Changes the status of the agent's own ManagedCluster. The version guards lists, which are written whole, against other writers. A conflict is
 * retried, five tries in all; then the server's error is thrown.
 */
export async function updateClusterStatus(
  { hub, clusterName: name }: { readonly hub: Pick<Client, 'get' | 'patch'>; readonly clusterName: string },
  change: StatusChange,
  signal: AbortSignal,
): Promise<Written> {
  for (let left = WRITE_TRIES; ; left -= 1) {
    const cluster = await hub.get(ManagedCluster, { name }, { signal });
    if (!cluster) return 'absent';
    try {
      return (await patchStatus(hub, ManagedCluster, cluster, change(cluster.status ?? {}), { signal })) ? 'written' : 'unchanged';
    } catch (error) {
      if (!isConflict(error) || left <= 1) throw error;
    }
  }
}
