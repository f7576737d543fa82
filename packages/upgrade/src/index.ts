export {
  commencement,
  completedVersions,
  currentVersion,
  hasCompleted,
  isCommenced,
  type OfferedUpdate,
  offeredUpdate,
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
export { protects } from './drain/selector.ts';
export { compileGlob } from './glob.ts';
export {
  conditionOf,
  findEntry,
  historyOf,
  isTrue,
  type StepEnd,
  withEntry,
  withResolvedVersion,
  withStepCondition,
  withStepEnd,
} from './history.ts';
export type { ObservedCluster } from './observed-cluster.ts';
export { isWorkerPool, poolConfigurations, type WorkerPools, workerMinutes, workerPools } from './pools.ts';
export { type ReportedStep, reportUpgrade, type UpgradeReport } from './report.ts';
export { isEarly, parseTime, type Schedule, scheduleOf } from './schedule.ts';
export { type StepName, stepConditions, type Upgrader, upgraders } from './steps.ts';
export {
  hasWorkerSet,
  isSurge,
  type ObservedMachines,
  originalsOf,
  planSurge,
  type Surge,
  type SurgeRemains,
  surgeRemains,
  surgeSetOf,
} from './surge.ts';
export { upgradeObstacle } from './upgradeable.ts';
export { type Validation, type ValidationInput, validate } from './validation.ts';
export { compareVersions, parseVersion, streamOf, type Version } from './versions.ts';
