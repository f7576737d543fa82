import { z } from 'zod';
import { Condition, KubeObject, resource } from '../kubernetes.ts';

const Schema = KubeObject.extend({
  spec: z.looseObject({ hubAcceptsClient: z.boolean().optional(), leaseDurationSeconds: z.number().optional() }).optional(),
  status: z.looseObject({ conditions: z.array(Condition).nullish() }).optional(),
});
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
