export { type BuildContext, type Builder, type ObjectVerdict, ready, waiting } from './builders/builder.ts';
export { buildContextOf, listedGates } from './builders/cluster-context.ts';
export { type ExpectedOperator, expectedOperator, judgeOperator } from './builders/cluster-operator.ts';
export { keepScale } from './builders/contracts.ts';
export { builderOf, buildObject, type Intent, intentOf } from './builders/dispatch.ts';
export { type Drift, deviationOf, driftOf, isSameContent } from './builders/drift.ts';
export { SHARED_FIELD_MANAGER } from './builders/field-owners.ts';
export { writesSharedList } from './builders/leftovers.ts';
export { podTrouble } from './builders/pod-trouble.ts';
export { STUCK_MS } from './builders/rollout.ts';
export {
  type Catalogue,
  type ChannelHead,
  type PackageChannel,
  parsePackageChannel,
  readCatalogue,
  unknownPackage,
} from './catalogue/catalogue.ts';
export { type CatalogueFile, isCataloguePath } from './catalogue/documents.ts';
export {
  type Acceptance,
  type AcceptanceEvent,
  type AcceptanceStep,
  acceptedRisksOf,
  loadedEvent,
  loadedMessage,
  type NamedRelease,
  preconditionsEvent,
  stepEvent,
  stepFailedEvent,
  stepFailedMessage,
  stepMessage,
  unfoundUpdate,
  wrongVersionMessage,
} from './cluster-version/acceptance.ts';
export { howText } from './cluster-version/failure.ts';
export { checkPreconditions, summarizePreconditions } from './cluster-version/preconditions.ts';
export { storedDeletions } from './cluster-version/risks.ts';
export { ACCEPT_RISKS, acceptedExposure } from './cluster-version/risky-updates.ts';
export {
  type ClusterVersionJudgement,
  clusterVersionStatus,
  clusterVersionTrouble,
  type KnownUpdates,
  releaseNotReadStatus,
} from './cluster-version/status.ts';
export {
  type FieldError,
  resolveDesiredUpdate,
  validateClusterVersion,
  type WantedRelease,
  withoutInvalid,
} from './cluster-version/validation.ts';
export { isEdge, nextReport, type WorkReport } from './cluster-version/work-report.ts';
export { type FieldChange, fieldChanges } from './diff/field-changes.ts';
export { ReleaseError, ReleaseErrorCode } from './errors.ts';
export { compileExcludePatterns, type ExcludePatterns } from './exclude/exclude-patterns.ts';
export { type PassError, summarizeErrors } from './graph/error-summary.ts';
export { type ApplyPlan, firstState, type PayloadState, planApply } from './graph/plan.ts';
export { runGraph } from './graph/run-graph.ts';
export { type TaskNode, textOfObject, textOfTask } from './graph/task-graph.ts';
export { type Awaited, PassEndedError, type UpdateEffect, UpdateError, updateErrorOf } from './graph/update-error.ts';
export {
  capabilitySets,
  type EnabledCapabilities,
  enabledCapabilities,
  implicitCapabilities,
  releaseCapabilities,
  type WantedCapabilities,
} from './inclusion/capabilities.ts';
export {
  type ExcludedManifest,
  exclusionOf,
  featureSets,
  type InclusionFilter,
  partManifests,
  releaseFeatureGates,
} from './inclusion/inclusion.ts';
export type { Json } from './json-values.ts';
export {
  type ComponentImage,
  IMAGE_REFERENCES_PATH,
  imageReferencesLimits,
  isPullSpecShaped,
  parseImageReferences,
} from './payload/image-references.ts';
export { isPayloadPath, type PayloadFile, PayloadPath, payloadLimits } from './payload/layout.ts';
export { fileNameOf, type Manifest, textOfId } from './payload/manifest.ts';
export {
  advancePayloadWork,
  type ManifestLook,
  type ManifestState,
  type PayloadWorkEvent,
  type PayloadWorkState,
  stateOfManifest,
} from './payload/manifest-state.ts';
export { parseReleaseMetadata } from './payload/metadata.ts';
export { loadPayload, type Payload, payloadHash } from './payload/payload.ts';
export { alertRisks, unknownAlerts } from './update-graph/alert-risks.ts';
export type { ClusterRisk } from './update-graph/cluster-risks.ts';
export { parseUpdateGraph, releaseImages, updateGraphLimits } from './update-graph/graph.ts';
export { type AnswerPromql, type Exposure, evaluateRisk, PromqlAnswers, promqlPace } from './update-graph/promql-answers.ts';
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
export { listUpdates } from './update-graph/recommendation.ts';
export { afterAttempt, type Retrieval, retrievalDueMs, retrievalKey, storedRetrieval } from './update-graph/retrieval.ts';
export { findUpdates, type GraphUpdates } from './update-graph/updates.ts';
