export { cacheObstacle } from './cache.ts';
export {
  askedInstead,
  channelChange,
  channelKept,
  channelReturn,
  commencement,
  completedVersions,
  currentVersion,
  hasCompleted,
  isCommenced,
  isUnderChange,
  type ObservedCluster,
  precedingVersion,
  startedAt,
  targetOf,
  type UpgradeTarget,
  upgradeObstacle,
} from './cluster-version.ts';
export {
  cordonOf,
  type DrainSettings,
  type DrainStep,
  drainMoments,
  isBeingConfigured,
  isControlPlaneNode,
  isDrainDue,
  planDrain,
} from './drain.ts';
export {
  conditionOf,
  historyOf,
  isTrue,
  type StepEnd,
  skippedWhy,
  withResolvedVersion,
  withStepCondition,
  withStepEnd,
} from './history.ts';
export {
  askedMessage,
  beginningOf,
  heldMessage,
  isSameBeginning,
  isSent,
  isUnderWay,
  isWithdrawn,
  type UpgradeBeginning,
  upgradeInForce,
} from './in-force.ts';
export { advanceUpgrade, type ManagedUpgradeLook, managedUpgradeMachine } from './managed-upgrade.ts';
export { poolConfigurations, workerMinutes, workerPools } from './pools.ts';
export { readingOf } from './reading.ts';
export { reportUpgrade, type UpgradeReport } from './report.ts';
export { isEarly, scheduleOf } from './schedule.ts';
export { type StepName, stepConditions, stepNames, type Upgrader, upgraders } from './steps.ts';
export { hasWorkerSet, type ObservedMachines, planSurge, surgeRemains } from './surge.ts';
export { validate } from './validation.ts';
export { streamOf } from './versions.ts';
export { describeHolders, describePaused, describeWorkers, stuckNodes, type WorkerFacts } from './worker-report.ts';
