export { ClusterOperator, ClusterOperatorStatus, OperandVersion, RelatedObject } from './cluster-operator.ts';
export {
  ClusterVersion,
  ClusterVersionSpec,
  ClusterVersionStatus,
  ComponentOverride,
  ConditionalUpdate,
  ConditionalUpdateRisk,
  Release,
  UpdateHistory,
} from './cluster-version.ts';
export { ConfigCondition } from './conditions.ts';
export { configCrds } from './crds.ts';
export {
  CLUSTER_VERSION_NAME,
  CONFIG_NAME,
  ManifestAnnotation,
  REFERENCE_OPERATOR,
  VERSION_FIELD_MANAGER,
  VERSION_NAMESPACE,
} from './names.ts';
export { APIServer, ClusterProxy, FeatureGate, Infrastructure } from './settings.ts';
