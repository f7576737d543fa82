export { Figure } from './figure.ts';
export { FoldedFailure, HubSign, SpokeProgress, StatusAnswer, UpgradeStage } from './status.ts';
export { FoldedWait, Release, WaitCause, WhyAllAnswer, WhyAnswer, WhyLink } from './why.ts';
