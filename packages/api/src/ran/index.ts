export { BACKUP_WORK, BackupAction, BackupName, BackupState, BackupView, isFinalBackupState } from './backup.ts';
export { type CacheProof, ClusterGroupUpgrade, ClusterGroupUpgradeSpec, ClusterGroupUpgradeStatus } from './cluster-group-upgrade.ts';
export { ranCrds } from './crds.ts';
export { FleetLimits, FleetLimitsName, LimitedActivity } from './fleet-limits.ts';
export {
  HeldLayers,
  INSPECT_LABEL,
  INSPECT_NAMESPACE,
  INSPECT_WORK,
  InspectAnswer,
  LAYER_LIST_KEY,
  LayerList,
  NodeInventory,
} from './inventory.ts';
export {
  CLEANUP_FINALIZER,
  ClusterGroupUpgradeCondition,
  OVERRIDES_CONFIG_MAP,
  PIN_LIFE_MS,
  PinsName,
  POD_AUDIENCE,
  PRECACHE_WORK,
  PrecacheAction,
  PrecacheView,
  SpokeName,
} from './names.ts';
export { packStatus, unpackStatus } from './packed-status.ts';
export {
  BANDWIDTH_KEY,
  DEFAULT_NODE_RULES,
  LEAST_BANDWIDTH,
  MOST_BANDWIDTH,
  NodeRules,
  PreCachingConfig,
  PreCachingConfigSpec,
  PrecacheSpecKey,
  PrecachingSpec,
  parseBandwidth,
  precacheSpecData,
  readBandwidth,
  readNodeRules,
} from './pre-caching-config.ts';
export {
  DEFAULT_SPACE_REQUIRED,
  hasFailedPrecache,
  isFinalPrecacheState,
  MAX_FAILED_NODES,
  MAX_RISKS,
  NodesProgress,
  PinWay,
  PrecacheNodes,
  PrecacheProgress,
  PrecacheState,
  PullerExit,
  PullerPhase,
  PullerReport,
} from './precache.ts';
export {
  type ConditionReason,
  conditionMessage,
  cutAtWord,
  cutInMiddle,
  explain,
  fixOf,
  MOST_QUOTED,
  MOST_SAID,
  type Reason,
  reasons,
  summarizeTrouble,
  textInStatus,
} from './reasons.ts';
