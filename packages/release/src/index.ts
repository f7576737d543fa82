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
export { ReleaseError, ReleaseErrorCode } from './errors.ts';
export { compileExcludePatterns, type ExcludePatterns, excludePatternLimits } from './exclude/exclude-patterns.ts';
export { type PassError, summarizeErrors, summaryForReason } from './graph/error-summary.ts';
export { type FileGroup, fileGroupOf } from './graph/grouping.ts';
export { type ApplyPlan, type FirstWork, firstState, type PayloadState, payloadStates, planApply, type TaskBackoff } from './graph/plan.ts';
export { type RunGraphOptions, runGraph } from './graph/run-graph.ts';
export { type Task, type TaskNode, textOfTask } from './graph/task-graph.ts';
export { PassEndedError, type UpdateEffect, UpdateError, type UpdateErrorParts, updateErrorOf } from './graph/update-error.ts';
export {
  type ComponentImage,
  IMAGE_REFERENCES_PATH,
  type ImageReferences,
  imageReferencesLimits,
  isPullSpecShaped,
  parseImageReferences,
} from './image-references.ts';
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
export { isPayloadPath, type PayloadFile, PayloadPath, payloadLimits } from './payload/layout.ts';
export { fileNameOf, type Manifest, type ManifestId, textOfId } from './payload/manifest.ts';
export { parseReleaseDetails, type ReleaseDetails, type ReleaseMetadata } from './payload/metadata.ts';
export { type LoadPayloadOptions, loadPayload, type Payload } from './payload/payload.ts';
