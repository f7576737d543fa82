/** Clusters that the hub does not accept have no agent, and may have no namespace. Pure. */
import { findCondition } from '@flotilla/api';
import { HUB_ACCEPTED, type ManagedCluster } from '@flotilla/api/ocm';
import { explain } from '@flotilla/api/ran';

/** Explains the denial of a cluster, with the fix; undefined for an accepted cluster or one without a decision. */
export function findDenial(cluster: ManagedCluster | undefined): string | undefined {
  if (cluster?.spec?.hubAcceptsClient === false) return explain('ClusterDenied', 'cluster denied: hubAcceptsClient is false');
  const accepted = findCondition(cluster?.status?.conditions, HUB_ACCEPTED);
  // The message of a name that the hub refuses says how to fix it.
  return accepted?.status === 'False' && accepted.reason === 'Error' ? `cluster denied: ${accepted.message ?? ''}` : undefined;
}
