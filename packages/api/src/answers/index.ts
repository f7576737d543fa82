export { ChangeAnswer, outcomeWords, windowFields } from './change.ts';
export {
  ActionRequest,
  EventsAnswer,
  LoginAnswer,
  LoginRequest,
  LoginWay,
  MemberRow,
  ObjectReport,
  Refusal,
  type ReportedStep,
  Rights,
  SpokeAnswer,
  SpokeRow,
  SpokeState,
  StreamMessage,
  TokenAnswer,
  UpgradeRow,
  ViewerAnswer,
  WindowParts,
} from './console.ts';
export { Figure } from './figure.ts';
export { type LimitRow, LimitsAnswer, LimitsLane, LimitUse, RateUse } from './limits.ts';
export { PayloadStatusAnswer, type PayloadWait } from './payload.ts';
export { PlanAnswer, PlannedPull } from './plan.ts';
export {
  endedWithoutEdits,
  FoldedFailure,
  HubSign,
  hasEnded,
  SpokeProgress,
  StatusAnswer,
  UpgradeStage,
  WindowAnswer,
  WindowState,
} from './status.ts';
export { FoldedWait, Release, WaitCause, WhyAllAnswer, WhyAnswer, WhyLink } from './why.ts';
