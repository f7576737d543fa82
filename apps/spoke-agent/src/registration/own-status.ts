import { ManagedCluster } from '@flotilla/api/ocm';
import { type Client, isConflict, patchStatus } from '@flotilla/runtime';

const WRITE_TRIES = 5;

/** Result of a write; `absent`: the hub has no such object. */
type Written = 'written' | 'unchanged' | 'absent';

type ClusterStatus = NonNullable<ManagedCluster['status']>;

/**
 * Changes the status of the agent's own ManagedCluster. The version guards lists, which are written whole, against other writers. A conflict is
 * retried, five tries in all; then the server's error is thrown.
 */
export async function updateClusterStatus(
  { hub, clusterName: name }: { readonly hub: Pick<Client, 'get' | 'patch'>; readonly clusterName: string },
  change: (status: Partial<ClusterStatus>) => Partial<ClusterStatus>,
): Promise<Written> {
  for (let left = WRITE_TRIES; ; left -= 1) {
    const cluster = await hub.get(ManagedCluster, { name });
    if (!cluster) return 'absent';
    try {
      return (await patchStatus(hub, ManagedCluster, cluster, change(cluster.status ?? {}))) ? 'written' : 'unchanged';
    } catch (error) {
      if (!isConflict(error) || left <= 1) throw error;
    }
  }
}
