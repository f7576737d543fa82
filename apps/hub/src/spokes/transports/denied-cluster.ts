/** Clusters that the hub does not accept have no agent, and may have no namespace. Pure. */
import { findCondition } from '@flotilla/api';
import { HUB_ACCEPTED, type ManagedCluster } from '@flotilla/api/ocm';
import { fixOf } from '@flotilla/api/ran';
import type { Wait } from '@flotilla/rollout';

/** The wait for a cluster to be accepted; undefined for an accepted cluster or one without a decision. */
export function findDenial(cluster: ManagedCluster | undefined): Wait | undefined {
  if (cluster?.spec?.hubAcceptsClient === false)
    return {
      cause: 'cluster-denied',
      says: 'cluster denied: hubAcceptsClient is false',
      fix: `${fixOf('ClusterDenied')} (spec.hubAcceptsClient: true, or flotilla join for ${cluster.metadata.name})`,
      of: shown(cluster, 'spec.hubAcceptsClient', 'false'),
    };
  const accepted = findCondition(cluster?.status?.conditions, HUB_ACCEPTED);
  // The message of a name that the hub refuses says how to fix it.
  if (!cluster || accepted?.status !== 'False' || accepted.reason !== 'Error') return undefined;
  const of = shown(cluster, `status.conditions[${HUB_ACCEPTED}]`, 'False Error');
  return { cause: 'cluster-denied', says: `cluster denied: ${accepted.message ?? ''}`, fix: 'do as the message says', of };
}

const shown = ({ metadata }: ManagedCluster, field: string, value: string) => ({ object: `ManagedCluster ${metadata.name}`, field, value });
