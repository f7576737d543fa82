export { type AgentEvent, type AgentHub, createHubLimiter, type SpokeAccess, type WorkAccess } from './access.ts';
export { withPullerAccount } from './puller-account.ts';
export { reconcileAction } from './reconcilers/action.ts';
export { reconcileWork } from './reconcilers/manifest-work.ts';
export { reconcileView } from './reconcilers/view.ts';
export { AGENT_FIELD_MANAGER, checkScope, createTokenBucket, type TokenBucket } from './semantics.ts';
export { FeedbackMode } from './works/feedback.ts';
export type { WorkSpoke } from './works/holdings.ts';
export { matchesResource } from './works/manifest-config.ts';
export { watchedResources } from './works/manifests.ts';
export {
  DEFAULT_WORK_CADENCE,
  FIRST_REPORT_MS,
  WORK_HUB_BURST,
  WORK_HUB_QPS,
  type WorkCadence,
  type WorkMemory,
  type WorkPass,
} from './works/pass.ts';
export { createMemoryRecords, createWorkRecords, type WorkRecords } from './works/records.ts';
export { passWork } from './works/work.ts';
