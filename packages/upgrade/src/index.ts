export { cacheObstacle } from './cache.ts';
export { channelChange, channelKept, channelReturn } from './channel.ts';
export {
  askedInstead,
  commencement,
  completedVersions,
  currentVersion,
  hasCompleted,
  isCommenced,
  isUnderChange,
  precedingVersion,
  startedAt,
  targetOf,
  type UpgradeTarget,
} from './cluster-version.ts';
export { cordonOf, isBeingConfigured, isControlPlaneNode } from './drain/cordon.ts';
export { type DrainSettings, type DrainStep, drainMoments, isDrainDue, planDrain } from './drain/drain.ts';
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
export type { ObservedCluster } from './observed-cluster.ts';
export { poolConfigurations, workerMinutes, workerPools } from './pools.ts';
export { readingOf } from './reading.ts';
export { reportUpgrade, type UpgradeReport } from './report.ts';
export { isEarly, scheduleOf } from './schedule.ts';
export { type StepName, stepConditions, stepNames, type Upgrader, upgraders } from './steps.ts';
export { hasWorkerSet, type ObservedMachines, planSurge, surgeRemains } from './surge.ts';
export { upgradeObstacle } from './upgradeable.ts';
export { validate } from './validation.ts';
export { streamOf } from './versions.ts';
export { describeHolders, describePaused, describeWorkers, stuckNodes, type WorkerFacts } from './worker-report.ts';
