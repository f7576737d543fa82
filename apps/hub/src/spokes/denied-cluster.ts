/** A cluster that the hub does not let in has no agent that would carry out anything, and no namespace to put it into. Pure. */
import { findCondition } from '@flotilla/api';
import { HUB_ACCEPTED, type ManagedCluster } from '@flotilla/api/ocm';
import { explain } from '@flotilla/api/ran';

/** Why nothing can be asked of the cluster, with the fix; undefined when it is let in, or nobody says that it is not. */
export function findDenial(cluster: ManagedCluster | undefined): string | undefined {
  if (cluster?.spec?.hubAcceptsClient === false) return explain('ClusterDenied', 'cluster denied: hubAcceptsClient is false');
  const accepted = findCondition(cluster?.status?.conditions, HUB_ACCEPTED);
  // What the hub refuses for its name says how to mend that.
  return accepted?.status === 'False' && accepted.reason === 'Error' ? `cluster denied: ${accepted.message ?? ''}` : undefined;
}
