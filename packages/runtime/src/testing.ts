export { eventually, ManualClock, SkippingClock } from '@flotilla/pace/testing';
