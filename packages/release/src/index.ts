export type { BuildContext, Builder, Judging, ObjectVerdict } from './builders/builder.ts';
export { type ExpectedOperator, expectedOperator, judgeOperator } from './builders/cluster-operator.ts';
export { builderOf, buildObject, type Intent, intentOf } from './builders/dispatch.ts';
export { type Drift, driftOf } from './builders/drift.ts';
export { SHARED_FIELD_MANAGER } from './builders/field-owners.ts';
export { writesSharedList } from './builders/leftovers.ts';
export { podTrouble } from './builders/pod-trouble.ts';
export { STUCK_MS } from './builders/rollout.ts';
export { type TlsProfile, tlsOf } from './builders/tls.ts';
export {
  type Catalogue,
  type ChannelHead,
  type PackageChannel,
  parsePackageChannel,
  type RelatedImage,
  readCatalogue,
  unknownPackage,
} from './catalogue/catalogue.ts';
export { type Channel, type ChannelEntry, headOfChannel } from './catalogue/channel-head.ts';
export { type CatalogueFile, catalogueLimits, isCataloguePath } from './catalogue/documents.ts';
export {
  type Acceptance,
  type AcceptanceEvent,
  type AcceptanceStep,
  acceptanceSteps,
  acceptedRisksOf,
  loadedEvent,
  loadedMessage,
  type NamedRelease,
  preconditionsEvent,
  stepEvent,
  stepFailedEvent,
  stepFailedMessage,
  stepMessage,
  wrongVersionMessage,
} from './cluster-version/acceptance.ts';
export { howText } from './cluster-version/awaited.ts';
export { conditionsAfter, type Verdict } from './cluster-version/conditions.ts';
export { type RunningPayload, resolveDesiredUpdate, type WantedRelease } from './cluster-version/desired-update.ts';
export type { OperatorStarts } from './cluster-version/failure.ts';
export {
  checkPreconditions,
  type PreconditionFailure,
  type PreconditionSummary,
  summarizePreconditions,
} from './cluster-version/preconditions.ts';
export { digestOf, isSameImage } from './cluster-version/release-details.ts';
export { findUpgradeRisks, type RiskSource, type RiskSources, riskSources, type UpgradeRisk } from './cluster-version/risks.ts';
export { ACCEPT_RISKS, acceptedExposure, type FoundUpdates } from './cluster-version/risky-updates.ts';
export {
  type ClusterVersionJudgement,
  type ClusterVersionSnapshot,
  clusterVersionStatus,
  clusterVersionTrouble,
  type KnownUpdates,
  releaseNotReadStatus,
} from './cluster-version/status.ts';
export { type FieldError, validateClusterVersion, withoutInvalid } from './cluster-version/validation.ts';
export { isEdge, nextReport, type WorkReport } from './cluster-version/work-report.ts';
export { type FieldChange, fieldChanges } from './diff/field-changes.ts';
export { ReleaseError, ReleaseErrorCode, saidText } from './errors.ts';
export { compileExcludePatterns, type ExcludePatterns, excludePatternLimits } from './exclude/exclude-patterns.ts';
export { type PassError, summarizeErrors, summaryForReason } from './graph/error-summary.ts';
export { type FileGroup, fileGroupOf } from './graph/grouping.ts';
export { type ApplyPlan, type FirstWork, firstState, type PayloadState, payloadStates, planApply, type TaskBackoff } from './graph/plan.ts';
export { type RunGraphOptions, runGraph } from './graph/run-graph.ts';
export { type Task, type TaskNode, textOfTask } from './graph/task-graph.ts';
export {
  type Awaited,
  PassEndedError,
  type Refusal,
  type UpdateEffect,
  UpdateError,
  type UpdateErrorParts,
  updateErrorOf,
} from './graph/update-error.ts';
export {
  type Capabilities,
  capabilitySets,
  type EnabledCapabilities,
  enabledCapabilities,
  implicitCapabilities,
  knownCapabilities,
  type WantedCapabilities,
} from './inclusion/capabilities.ts';
export { featureSets } from './inclusion/features.ts';
export {
  type ExcludedManifest,
  type Exclusion,
  exclusionOf,
  type InclusionFilter,
  type InclusionRule,
  inclusionRules,
  type Override,
  partManifests,
} from './inclusion/inclusion.ts';
export { type FeatureAudience, releaseFeatureGates } from './inclusion/release-features.ts';
export { payloadHash } from './payload/hash.ts';
export {
  type ComponentImage,
  IMAGE_REFERENCES_PATH,
  type ImageReferences,
  imageReferencesLimits,
  isPullSpecShaped,
  parseImageReferences,
} from './payload/image-references.ts';
export { isPayloadPath, type PayloadFile, PayloadPath, payloadLimits } from './payload/layout.ts';
export { fileNameOf, type Manifest, type ManifestId, textOfId } from './payload/manifest.ts';
export { type ManifestLook, type ManifestState, stateOfManifest } from './payload/manifest-state.ts';
export { parseReleaseDetails, parseReleaseMetadata, type ReleaseDetails, type ReleaseMetadata } from './payload/metadata.ts';
export { type LoadPayloadOptions, loadPayload, type Payload } from './payload/payload.ts';
export { advancePayloadWork, type PayloadWorkEvent, type PayloadWorkState } from './payload/payload-work.ts';
export { compareVersions, isStrictVersion, parseStrictVersion, parseVersion, stepUp, type Version } from './semantic-version.ts';
export { type Alert, alertRisks, unknownAlerts } from './update-graph/alert-risks.ts';
export type { ClusterRisk } from './update-graph/cluster-risks.ts';
export { parseUpdateGraph, releaseImages, type UpdateGraph, updateGraphLimits } from './update-graph/graph.ts';
export { type NextQuestion, PromqlAnswers, promqlPace } from './update-graph/promql-answers.ts';
export {
  DEFAULT_UPDATE_SERVICE,
  refuseQuery,
  retrievalFailed,
  type UpdateQuery,
  type UpdateRefusal,
  updateHeaders,
  updateUrl,
  withoutCredentials,
} from './update-graph/query.ts';
export { type ListedUpdates, listUpdates } from './update-graph/recommendation.ts';
export { afterAttempt, type Retrieval, retrievalDueMs, retrievalKey } from './update-graph/retrieval.ts';
export { type AnswerPromql, type Exposure, evaluateRisk, type RiskVerdict } from './update-graph/risk-rules.ts';
export { findUpdates, type GraphUpdates, type RiskyUpdate, type UpdateStart } from './update-graph/updates.ts';
