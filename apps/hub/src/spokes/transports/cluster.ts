/** ManagedCluster of a spoke: its denial, without which there is an agent and a namespace, and its changes that count. Pure. */
import { findCondition } from '@flotilla/api';
import { CLUSTER_AVAILABLE, HUB_ACCEPTED, type ManagedCluster } from '@flotilla/api/ocm';
import { fixOf } from '@flotilla/api/ran';
import type { Wait } from '@flotilla/rollout';
import { whenChanged } from '@flotilla/runtime';

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

/** Ignores heartbeats: they change neither the selection of clusters nor the observation of one. */
export const hasClusterChanged = whenChanged(({ metadata, spec, status }: ManagedCluster) => [
  metadata.labels,
  metadata.annotations,
  metadata.deletionTimestamp,
  findCondition(status?.conditions, CLUSTER_AVAILABLE)?.status,
  findDenial({ metadata, spec, status }),
]);
