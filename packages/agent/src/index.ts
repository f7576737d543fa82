export type { SpokeAccess, WorkAccess } from './access.ts';
export { executeAction, isSameStatus, readView, type ViewStatus } from './execution.ts';
export { withPullerAccount } from './puller-account.ts';
export {
  type ActionVerdict,
  AGENT_FIELD_MANAGER,
  AGENT_HUB_BURST,
  AGENT_HUB_QPS,
  actionDone,
  actionFailed,
  checkScope,
  createTokenBucket,
  DEFAULT_VIEW_INTERVAL_SECONDS,
  decidePoll,
  fullReplacePatch,
  type PollDecision,
  type TokenBucket,
  viewCondition,
  writeNamespace,
} from './semantics.ts';
export { FeedbackMode } from './works/feedback.ts';
export { isSameResource, watchedResources } from './works/manifests.ts';
export { DEFAULT_WORK_CADENCE, WORK_HUB_BURST, WORK_HUB_QPS, type WorkCadence, type WorkMemory } from './works/pass.ts';
export type { WorkStatus } from './works/status.ts';
export { passWork } from './works/work.ts';
