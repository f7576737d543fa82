export { CACHED_RELEASES, CachedRelease, MOST_CACHED_NODES, MOST_CACHED_RELEASES, readCachedReleases } from './cached-release.ts';
export { managedCrds } from './crds.ts';
export {
  CHANNEL_ANNOTATION,
  EndReason,
  FeatureGateName,
  NotificationState,
  OPERATOR_CONFIG_MAP,
  OPERATOR_LEASE,
  OPERATOR_NAME,
  OPERATOR_NAMESPACE,
  UPGRADE_CONFIG_NAME,
  UpgradeCondition,
  UpgradeConfigCondition,
  VERSION_ANNOTATION,
} from './names.ts';
export {
  StepCondition,
  UpgradeConfig,
  UpgradeConfigSpec,
  UpgradeConfigStatus,
  UpgradeHistory,
  UpgradePhase,
  UpgradeType,
} from './upgrade-config.ts';
