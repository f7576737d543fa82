export {
  ACTION_COMPLETED,
  ActionReason,
  ManagedClusterAction,
  ManagedClusterView,
  VIEW_PROCESSING,
  ViewReason,
  ViewScope,
} from './actions-and-views.ts';
export { managedClusterSchema } from './crd-schemas.ts';
export { clusterSetCrds, spokeWorkCrds, transportCrds } from './crds.ts';
export {
  AGENT_ACCOUNT,
  AGENT_CLAIMS,
  AGENT_LEASE,
  CLAIM_VALUE_CHARS,
  CLUSTER_AVAILABLE,
  CLUSTER_SET_LABEL,
  ClusterClaim,
  claimedNodes,
  claimedTransports,
  claimOf,
  HUB_ACCEPTED,
  leaseSecondsOf,
  ManagedCluster,
  ManagedClusterSet,
  ManagedClusterSetBinding,
  NODE_PULLERS,
  PULLER_ACCOUNT,
} from './managed-cluster.ts';
export {
  AppliedManifestWork,
  type AppliedResource,
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
export { PlacementBinding, Policy } from './policy.ts';
