export { channelChange, channelKept, channelReturn } from './channel.ts';
export {
  commencement,
  completedVersions,
  currentVersion,
  hasCompleted,
  isCommenced,
  isUnderChange,
  type OfferedUpdate,
  precedingVersion,
  startedAt,
  targetOf,
  type UpgradeTarget,
} from './cluster-version.ts';
export { type Cordon, cordonOf, isBeingConfigured, isControlPlaneNode } from './drain/cordon.ts';
export {
  type DrainAction,
  type DrainPlan,
  type DrainSettings,
  type DrainStep,
  drainMoments,
  isDrainDue,
  planDrain,
} from './drain/drain.ts';
export {
  conditionOf,
  historyOf,
  isTrue,
  type StepEnd,
  withResolvedVersion,
  withStepCondition,
  withStepEnd,
} from './history.ts';
export {
  askedMessage,
  beginningOf,
  heldMessage,
  isSameBeginning,
  isUnderWay,
  isWithdrawn,
  type UpgradeBeginning,
  type UpgradeInForce,
  upgradeInForce,
} from './in-force.ts';
export { advanceUpgrade, type ManagedUpgradeLook, managedUpgradeMachine } from './managed-upgrade.ts';
export type { ObservedCluster } from './observed-cluster.ts';
export { poolConfigurations, type WorkerPools, workerMinutes, workerPools } from './pools.ts';
export { type ReportedStep, reportUpgrade, type UpgradeReport } from './report.ts';
export { isEarly, type Schedule, scheduleOf } from './schedule.ts';
export { type StepName, stepConditions, type Upgrader, upgraders } from './steps.ts';
export {
  hasWorkerSet,
  type ObservedMachines,
  planSurge,
  type Surge,
  type SurgeRemains,
  surgeRemains,
} from './surge.ts';
export { upgradeObstacle } from './upgradeable.ts';
export { type Validation, type ValidationInput, validate } from './validation.ts';
export { streamOf, type Version } from './versions.ts';
export { describeHolders, describePaused, describeWorkers, stuckNodes, type WorkerFacts } from './worker-report.ts';
