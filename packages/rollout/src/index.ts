export { exact, forecast, judgeHub, NOTHING_OF_CLUSTERS, type Seen, statusWrittenAt, type UpgradeFacts, unknown } from './answers/facts.ts';
export { foldWaits, summarizeWaits } from './answers/fold.ts';
export { answerLimits, type LimitsFacts } from './answers/limits-answer.ts';
export { countOverdue, countStarved } from './answers/overdue.ts';
export { answerPlan, findRefusal } from './answers/plan-answer.ts';
export { type ClusterPull, estimatePull, type PullFacts } from './answers/pulls.ts';
export { answerStatus, describeWindow } from './answers/status-answer.ts';
export { answerWhy, Inquiry } from './answers/why.ts';
export { type Advance, advanceRollout } from './batches/advance.ts';
export { rolloutClusterMachine } from './batches/cluster-machine.ts';
export { pullForFallen, toldAt } from './batches/drift.ts';
export { estimateEnd, leastLeftMs } from './batches/estimate.ts';
export { describeNewcomer, takeBackImported, withImports } from './batches/imported-again.ts';
export {
  countRetries,
  findRetry,
  joinRollout,
  latePulls,
  newcomers,
  retriedPrecaches,
  retryInRollout,
  without,
} from './batches/late-clusters.ts';
export { startRollout, stateBeforeStart } from './batches/start.ts';
export { formWave, isFirstReady } from './batches/waves.ts';
export { areEditsApplied } from './clusters/cluster-edits.ts';
export { selectPresent } from './clusters/cluster-selection.ts';
export { importCounts, namedClusters, withImportsOf } from './clusters/imports.ts';
export { isAvailable, NAME_LABEL } from './clusters/managed-cluster.ts';
export {
  awaitsStatusUntil,
  isTakenOut,
  type Missing,
  RETURN_MS,
  takenUpValue,
  waitingSince,
  wasMadeAgain,
} from './clusters/returning.ts';
export { decidingLabels, judgeTenancy, notBound, type Tenancy } from './clusters/tenancy.ts';
export { eventsBetween, type ValidationFacts } from './events/events-between.ts';
export { blockingRefs, judgeBlocking } from './gates/blocking.ts';
export { findClosedHours } from './gates/cluster-hours.ts';
export { describeIgnoredEdits, effectOf } from './gates/effect.ts';
export { batchGatesOf, type GateInput, judgeBatchGates, judgeGates, type Refusal, remainingClusters, type Stall } from './gates/gates.ts';
export { findHold, findPause, type Pause, pauseWait } from './gates/pause.ts';
export { isOpenToMembers, readPins, readProofWithin, readWaves, strongerPins, type Waves } from './gates/upgrade-annotations.ts';
export { explainWindow, judgeWindow } from './gates/window.ts';
export {
  byTurn,
  clustersWithPlace,
  freesPlaces,
  isLimited,
  limitsOn,
  Occupancy,
  type PlacesToAsk,
  waitForLimits,
  waitForPlace,
} from './limits/places.ts';
export { readLimits } from './limits/read-limits.ts';
export { judgePlacements } from './placements/placement-problems.ts';
export { PLACEMENT_APP, placementNames, planPlacements, upgradeIndexOf, upgradeIndexValue } from './placements/placements.ts';
export { type ObservedUpgrade, type PlanDeps, planUpgrade, type UpgradePlan } from './plan.ts';
export { readMeant, rememberMeant } from './policies/meant.ts';
export { isEnforced, parentName } from './policies/policies.ts';
export { objectDefinitions, type PolicyStructure, readInPieces } from './policies/policy-structure.ts';
export { findAway, type PolicyWays, reachOf } from './policies/reach.ts';
export { policyMode } from './policies/standing.ts';
export { CHILD_POLICIES, placementOf, trimChild, trimPlacement } from './policies/trims.ts';
export { advanceProofs, type ClusterProof, deferClusters, isProven, isPutOff, type Proofs, proofsOf } from './proofs/proofs.ts';
export type { ReleaseLookup, ReleaseQuery } from './software/policy-software.ts';
export { isSameSoftware } from './software/same-software.ts';
export { isImageAllowed, ownWorkloadImage, PRECACHE_SPEC_VALID, repositoryOf } from './software/software-spec.ts';
export { trimRolloutView } from './spoke/answers.ts';
export { type ObservedSpoke, planSpoke } from './spoke/spoke-plan.ts';
export { desiredViewNames, policyContent } from './spoke/subscriptions.ts';
export { targetOf, targetsOf } from './spoke/targets.ts';
export {
  backupJobMachine,
  precacheJobMachine,
  REPORTS_PER_SECOND,
  type SpokeJobEffect,
  type SpokeJobEvent,
  type SpokeJobMachine,
  strictBackupJobMachine,
} from './spoke-jobs/spoke-job.ts';
export { inspectObjects, type SpokeObject } from './spoke-node/inspect-objects.ts';
export type { PullerVariables } from './spoke-node/puller-settings.ts';
export { mountOf, PULLER_SECURITY, SCC_ANNOTATION, type SpokeNode, spokeNode } from './spoke-node/spoke-node.ts';
export {
  type ActionOutcome,
  countOf,
  endedAt,
  observeOutcome,
  readViewAnswer,
  type ViewAnswer,
  type ViewTarget,
} from './transport/answers.ts';
export { type Choice, chooseTransport, Transport } from './transport/choice.ts';
export { findUnknownAnnotation, WINDOW_KEYS } from './upgrade/annotations.ts';
export { FirstSeen, type Sightings } from './upgrade/first-seen.ts';
export {
  actionIndexValue,
  identityOf,
  isAttributed,
  isOurs,
  isReferencesAction,
  ROLLOUT_WORK,
  type UpgradeIdentity,
  workLabels,
} from './upgrade/identity.ts';
export {
  type HubWrite,
  type PolicyRef,
  RecordState,
  type RolloutMode,
  type RolloutObservation,
  type RolloutProblem,
  type SpokeTarget,
} from './upgrade/model.ts';
export { desiredWorkName, resourceName, safeNameKey } from './upgrade/safe-names.ts';
export {
  begunClusters,
  isComplete,
  isEnding,
  isPrecached,
  isRunning,
  isTurningPoint,
  keepsObjects,
  lastBatch,
  rolloutMachine,
  stateOf,
  templatesOf,
  wasCleaned,
} from './upgrade/stage.ts';
export { TROUBLE_PREFIX } from './upgrade/texts.ts';
export { quote } from './values/formats.ts';
export { readWait, saidOf, type Wait, WHOLE_UPGRADE, waitBy, waitMessage, withSince } from './waits/wait.ts';
export { judgeWork, manifestWorkMode, trimWork } from './works/manifest-works.ts';
export { findOtherVersion, withTemplateVersions } from './works/template-versions.ts';
