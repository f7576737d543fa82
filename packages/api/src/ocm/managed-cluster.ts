import { z } from 'zod';
import { isJsonObject } from '../json.ts';
import { KubeObject, resource } from '../kubernetes.ts';
import { readable } from '../readable.ts';
import { isBeyondReading, spokeConditions, spokeStatus } from './spoke-status.ts';

const Fields = KubeObject.extend({
  // What cannot be read lets nobody in: an object must not keep a right because its latest version is odd.
  spec: readable(z.looseObject({ hubAcceptsClient: readable(z.boolean()), leaseDurationSeconds: readable(z.number()) })),
  status: spokeStatus({ conditions: spokeConditions }),
  /** Of its conditions something is left out because it is beyond every bound: it takes room in the store all the same. */
  hasUnread: z.boolean().optional(),
});
const Schema = z.preprocess((cluster) => {
  const status = isJsonObject(cluster) ? cluster.status : undefined;
  return isJsonObject(cluster) && isJsonObject(status) && isBeyondReading(status.conditions) ? { ...cluster, hasUnread: true } : cluster;
}, Fields);
/** A spoke, as the hub knows it (spec/ocm 2.1). Cluster-scoped; its hub namespace has the same name. */
export type ManagedCluster = z.output<typeof Schema>;
export const ManagedCluster = resource('cluster.open-cluster-management.io/v1', 'ManagedCluster', 'managedclusters', false, Schema);

/** Condition type that says whether the spoke's agent is alive. */
export const CLUSTER_AVAILABLE = 'ManagedClusterConditionAvailable';
/** Condition type that says whether the hub lets the spoke's agent in. */
export const HUB_ACCEPTED = 'HubAcceptedManagedCluster';

/** Lease that the agent renews in the spoke's hub namespace (spec/ocm 2.1). */
export const AGENT_LEASE = 'managed-cluster-lease';
/** ServiceAccount in the spoke's hub namespace whose tokens the agent holds where Flotilla itself lets it in. */
export const AGENT_ACCOUNT = 'spoke-agent';
