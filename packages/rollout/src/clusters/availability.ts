import { findCondition } from '@flotilla/api';
import { CLUSTER_AVAILABLE, type ManagedCluster } from '@flotilla/api/ocm';

/** False when the spoke's agent is known to be away, or nobody knows; a cluster of which nothing is said at all counts as available. */
export const isAvailable = (cluster: ManagedCluster | undefined): boolean =>
  cluster !== undefined && (findCondition(cluster.status?.conditions, CLUSTER_AVAILABLE)?.status ?? 'True') === 'True';
