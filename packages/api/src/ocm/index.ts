export { AppliedManifestWork, type AppliedResource } from './applied-manifest-work.ts';
export {
  AGENT_CLAIMS,
  CLAIM_VALUE_CHARS,
  ClusterClaim,
  claimedNodes,
  claimedTransports,
  claimOf,
  NODE_PULLERS,
  PULLER_ACCOUNT,
} from './cluster-claim.ts';

export { managedClusterSchema } from './crd-schemas.ts';
export { clusterSetCrds, spokeWorkCrds, transportCrds } from './crds.ts';
export { AGENT_ACCOUNT, AGENT_LEASE, CLUSTER_AVAILABLE, HUB_ACCEPTED, leaseSecondsOf, ManagedCluster } from './managed-cluster.ts';
export { ACTION_COMPLETED, ActionReason, ManagedClusterAction } from './managed-cluster-action.ts';
export { CLUSTER_SET_LABEL, ManagedClusterSet, ManagedClusterSetBinding } from './managed-cluster-set.ts';
export { ManagedClusterView, VIEW_PROCESSING, ViewReason, ViewScope } from './managed-cluster-view.ts';
export {
  FeedbackValue,
  MAX_WORK_BYTES,
  ManifestConfig,
  ManifestStatus,
  ManifestWork,
  ManifestWorkReplicaSet,
  ManifestWorkSpec,
  STATUS_FEEDBACK_SYNCED,
  UpdateStrategyType,
  WORK_APPLIED,
  WORK_AVAILABLE,
  WORK_FINALIZER,
  WorkStatusBound,
} from './manifest-work.ts';
export { PLACEMENT_SATISFIED, Placement, PlacementDecision, PlacementSpec } from './placement.ts';
export { PlacementBinding } from './placement-binding.ts';
export { Policy } from './policy.ts';
