export { BackupAction, BackupName, BackupState, BackupView, isFinalBackupState } from './backup.ts';
export {
  ClusterRole,
  ClusterRoleBinding,
  ConfigMap,
  CustomResourceDefinition,
  Deployment,
  Event,
  Job,
  JobStatus,
  Lease,
  Namespace,
  Node,
  Pod,
  Role,
  RoleBinding,
  Secret,
  ServiceAccount,
} from './core-kinds.ts';
export { type CrdManifest, clusterSetCrds, policyCrds, transportCrds, upgradeCrds } from './crds.ts';
export { errorMessage, FlotillaError, TerminalError, WaitingError } from './errors.ts';
export {
  Condition,
  findCondition,
  KubeObject,
  LabelSelector,
  ObjectMeta,
  type Ref,
  type Resource,
  refKey,
  resource,
  untyped,
} from './kubernetes.ts';
export { type Excess, limitsOf } from './limits.ts';
export {
  Annotation,
  CLEANUP_FINALIZER,
  FIELD_MANAGER,
  Label,
  OVERRIDES_CONFIG_MAP,
  PrecacheAction,
  PrecacheView,
  SccRole,
  SpokeName,
  UpgradeCondition,
} from './names.ts';
export {
  DEFAULT_SPACE_REQUIRED,
  isFinalPrecacheState,
  PrecacheProgress,
  PrecacheSpecKey,
  PrecacheState,
  PullerExit,
  PullerPhase,
  PullerReport,
} from './precache.ts';
export { ClusterGroupUpgrade, ClusterGroupUpgradeSpec, ClusterGroupUpgradeStatus, PrecachingSpec } from './ran/cluster-group-upgrade.ts';
export { packStatus, unpackStatus } from './ran/packed-status.ts';
export { PreCachingConfig, PreCachingConfigSpec } from './ran/pre-caching-config.ts';
export { lintStructural, type StructuralSchema, toStructural } from './structural.ts';
export { executeAction, isSameStatus, readView, type SpokeAccess, type ViewStatus } from './transport/agent-execution.ts';
export {
  type ActionVerdict,
  AGENT_FIELD_MANAGER,
  AGENT_HUB_BURST,
  AGENT_HUB_QPS,
  actionDone,
  actionFailed,
  checkScope,
  conditionTime,
  createTokenBucket,
  DEFAULT_VIEW_INTERVAL_SECONDS,
  decidePoll,
  fullReplacePatch,
  groupVersion,
  isJsonObject,
  isSameJson,
  matchesLookup,
  mergePatched,
  noMatchesForKind,
  type PollDecision,
  parseResourceSpelling,
  qualifiedName,
  type ResourceLookup,
  type ResourceSpelling,
  type ServedResource,
  SpokeRefusal,
  type TokenBucket,
  viewCondition,
  withCondition,
  writeNamespace,
} from './transport/agent-semantics.ts';
export { passWork } from './transport/agent-work.ts';
export type { ApplyFields, WorkAccess } from './transport/agent-work-access.ts';
export { FeedbackMode, STATUS_FEEDBACK_SYNCED } from './transport/agent-work-feedback.ts';
export { MAX_WORK_BYTES } from './transport/agent-work-manifests.ts';
export {
  DEFAULT_WORK_CADENCE,
  WORK_FINALIZER,
  WORK_HUB_BURST,
  WORK_HUB_QPS,
  type WorkCadence,
  type WorkMemory,
} from './transport/agent-work-pass.ts';
export type { WorkStatus } from './transport/agent-work-status.ts';
export { AGENT_ACCOUNT, AGENT_LEASE, CLUSTER_AVAILABLE, HUB_ACCEPTED, ManagedCluster } from './transport/managed-cluster.ts';
export { ACTION_COMPLETED, ActionReason, ManagedClusterAction, ManagedClusterActionSpec } from './transport/managed-cluster-action.ts';
export { CLUSTER_SET_LABEL, ManagedClusterSet, ManagedClusterSetBinding } from './transport/managed-cluster-set.ts';
export { ManagedClusterView, VIEW_PROCESSING, ViewReason, ViewScope } from './transport/managed-cluster-view.ts';
export {
  FeedbackValue,
  ManifestConfig,
  ManifestStatus,
  ManifestWork,
  ManifestWorkReplicaSet,
  ManifestWorkSpec,
  WORK_APPLIED,
  WORK_AVAILABLE,
} from './transport/manifest-work.ts';
export { PLACEMENT_SATISFIED, Placement, PlacementDecision, PlacementSpec } from './transport/placement.ts';
export { PlacementBinding } from './transport/placement-binding.ts';
export { CompliancePerCluster, Policy } from './transport/policy.ts';
