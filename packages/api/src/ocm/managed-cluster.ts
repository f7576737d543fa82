import { z } from 'zod';
import { isJsonObject } from '../json.ts';
import { KubeObject, resource } from '../kubernetes.ts';
import { readable } from '../readable.ts';
import { isBeyondReading, spokeConditions, spokeStatus } from './spoke-status.ts';

const Fields = KubeObject.extend({
  // An unreadable spec denies the cluster: no object may keep a right because its latest version is odd.
  spec: readable(z.looseObject({ hubAcceptsClient: readable(z.boolean()), leaseDurationSeconds: readable(z.number()) })),
  status: spokeStatus({ conditions: spokeConditions }),
  /** Some conditions exceed every bound and were left out, but still take room in the store. */
  hasUnread: z.boolean().optional(),
});
const Schema = z.preprocess((cluster) => {
  const status = isJsonObject(cluster) ? cluster.status : undefined;
  return isJsonObject(cluster) && isJsonObject(status) && isBeyondReading(status.conditions) ? { ...cluster, hasUnread: true } : cluster;
}, Fields);
/** A spoke on the hub (spec/ocm 2.1). Cluster-scoped; its hub namespace has the same name. */
export type ManagedCluster = z.output<typeof Schema>;
export const ManagedCluster = resource('cluster.open-cluster-management.io/v1', 'ManagedCluster', 'managedclusters', false, Schema);

const DEFAULT_LEASE_SECONDS = 60;

/** Duration of the lease of a cluster's agent, in seconds: the default where the cluster asks for none, or for no time at all (spec/ocm 2.1). */
export function leaseSecondsOf({ spec }: Pick<ManagedCluster, 'spec'>): number {
  const seconds = spec?.leaseDurationSeconds ?? 0;
  return seconds > 0 ? seconds : DEFAULT_LEASE_SECONDS;
}

/** Condition type for a living agent. */
export const CLUSTER_AVAILABLE = 'ManagedClusterConditionAvailable';
/** Condition type for an accepted agent. */
export const HUB_ACCEPTED = 'HubAcceptedManagedCluster';

/** Lease that the agent renews in the spoke's hub namespace (spec/ocm 2.1). */
export const AGENT_LEASE = 'managed-cluster-lease';
/** ServiceAccount in the spoke's hub namespace; an agent accepted by Flotilla itself holds its tokens. */
export const AGENT_ACCOUNT = 'spoke-agent';
