export {
  ClusterRole,
  ClusterRoleBinding,
  ConfigMap,
  CustomResourceDefinition,
  Deployment,
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
export { type CrdManifest, transportCrds, upgradeCrds } from './crds.ts';
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
export {
  Annotation,
  CLEANUP_FINALIZER,
  FIELD_MANAGER,
  Label,
  OVERRIDES_CONFIG_MAP,
  PrecacheAction,
  PrecacheView,
  SpokeName,
  UpgradeCondition,
} from './names.ts';
export {
  isFinalPrecacheState,
  PrecacheProgress,
  PrecacheSpecKey,
  PrecacheState,
  PullerExit,
  PullerPhase,
  PullerReport,
} from './precache.ts';
export { ClusterGroupUpgrade, ClusterGroupUpgradeSpec, ClusterGroupUpgradeStatus, PrecachingSpec } from './ran/cluster-group-upgrade.ts';
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
export { CLUSTER_AVAILABLE, ManagedCluster } from './transport/managed-cluster.ts';
export { ACTION_COMPLETED, ActionReason, ManagedClusterAction, ManagedClusterActionSpec } from './transport/managed-cluster-action.ts';
export { ManagedClusterView, VIEW_PROCESSING, ViewReason, ViewScope } from './transport/managed-cluster-view.ts';
export { CompliancePerCluster, Policy } from './transport/policy.ts';
